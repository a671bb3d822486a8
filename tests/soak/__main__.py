"""Attacks the sandbox from seeds until the time is over, and says what it found.

`python -m tests.soak --minutes 60 --seed 7`; `make soak` does it with a seed of its own. The status
is 0 where nothing was found, 1 where something was, and 2 for options that make no sense.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from secrets import randbelow

from tests.soak.parts import PARTS
from tests.soak.rounds import Wanted, soak


def main(arguments: list[str] | None = None) -> int:
    """Soak as the options say; the exit status."""
    wanted = _wanted(arguments)
    print(f"seed {wanted.seed}: {', '.join(wanted.parts)}, {_how_long(wanted)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        report = soak(wanted, PARTS, Path(folder), say=_say)
    print(report.table())
    print(f"seed {wanted.seed}: {report.summary()}", flush=True)
    return 1 if report.findings else 0


def _say(text: str) -> None:
    print(text, flush=True)


def _how_long(wanted: Wanted) -> str:
    if wanted.rounds is not None:
        return f"{wanted.rounds} rounds of each from number {wanted.first}"
    return f"{wanted.minutes:g} minutes"


def _wanted(arguments: list[str] | None) -> Wanted:
    about = "Attack the sandbox from seeds until the time is over, and say what was found."
    parts = "\n".join(f"  {name:<10} {part.about}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description=about,
        epilog=f"parts:\n{parts}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=_positive, default=60.0, help="how long; 60 if not said")
    parser.add_argument(
        "--seed", type=int, help="where all random numbers come from; a new one if not said"
    )
    parser.add_argument(
        "--only", action="append", choices=PARTS, metavar="PART", help="this part; may be repeated"
    )
    parser.add_argument(
        "--from",
        type=_count,
        default=0,
        dest="first",
        metavar="ROUND",
        help="begin with this round",
    )
    parser.add_argument(
        "--rounds", type=_count, help="play so many rounds of each part, however long it takes"
    )
    told = parser.parse_args(arguments)
    seed = randbelow(10**9) if told.seed is None else told.seed
    return Wanted(seed, told.minutes, tuple(told.only or PARTS), told.first, told.rounds)


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 100_000:
        raise argparse.ArgumentTypeError(f"{text} is no number of minutes")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is no number of rounds")
    return number


if __name__ == "__main__":
    sys.exit(main())
