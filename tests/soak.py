"""Tries all properties with new random numbers, round after round, until one fails.

`python -m tests.soak --minutes 60 --seed 7`; `make soak` does it from a seed of its own. Each round
has the next seed. The status is 1 if a property failed; its seed is told.
"""

import argparse
import os
import subprocess
import sys
from itertools import count
from secrets import randbelow
from time import monotonic

WHERE = ("tests", "tests/whole/test_schemathesis.py")


def main() -> int:
    """Play rounds until the time is over; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, help="of the first round; default: a new one")
    options = parser.parse_args()
    first = randbelow(10**9) if options.seed is None else options.seed
    end_s = monotonic() + options.minutes * 60
    for seed in count(first):
        if seed > first and monotonic() >= end_s:
            print(f"seeds {first} to {seed - 1}: nothing found", flush=True)
            return 0
        print(f"seed {seed}", flush=True)
        if _fails(seed):
            print(f"found; again: make soak MINUTES=0 SEED={seed}", flush=True)
            return 1
    return 0


def _fails(seed: int) -> bool:
    """Whether a property fails in the round with this seed."""
    command = [sys.executable, "-m", "pytest", *WHERE, "-m", "hypothesis", "--maxfail", "1"]
    command += ["--hypothesis-seed", str(seed), "--numprocesses", "2", "--dist", "worksteal"]
    environment = {**os.environ, "SANDBOX_SEED": str(seed)}
    return subprocess.run(command, env=environment, check=False).returncode != 0


if __name__ == "__main__":
    sys.exit(main())
