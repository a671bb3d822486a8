"""Where the time of a request goes: `python -m benchmarks.profiling`, or `make profile`.

A timer of processor time interrupts the server every millisecond, and the place where it was is
counted. Unlike a tracing profiler this costs the same for short functions as for long ones. Time
spent in C counts for the function of Python that runs next, so neighbours in the list share it.
"""

import argparse
import asyncio
import signal
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

import sandbox
from benchmarks import driving
from benchmarks.driving import WHATS, Driven

_EVERY_S: Final = 0.001
_FOLDER: Final = Path(sandbox.__file__).parent
_ROOMS_SHOWN: Final = 25


class Samples:
    """Where the server was: by function with everything that it called, and by module alone."""

    def __init__(self) -> None:
        self.count = 0
        self.within: Counter[str] = Counter()
        self.alone: Counter[str] = Counter()
        self.rooms: Counter[str] = Counter()

    def take(self, _: int, frame: FrameType | None) -> None:
        """Count where the server is now."""
        self.count += 1
        seen: set[str] = set()
        is_innermost = True
        while frame is not None:
            name, room = _place(frame)
            if is_innermost:
                self.alone[name] += 1
                self.rooms[room] += 1
                is_innermost = False
            if name not in seen:
                seen.add(name)
                self.within[name] += 1
            is_ours = frame.f_globals.get("__name__") != driving.__name__
            frame = frame.f_back if is_ours else None


def _place(frame: FrameType) -> tuple[str, str]:
    """The function, and the room of the sandbox or the package that it belongs to."""
    code = frame.f_code
    path = Path(code.co_filename)
    if code.co_filename == "<string>":
        return "records that are made", "records that are made"
    if path.is_relative_to(_FOLDER):
        inside = path.relative_to(_FOLDER)
        return f"{inside}: {code.co_qualname}", f"sandbox/{inside.parent}"
    parts = code.co_filename.rpartition("site-packages/")
    short = parts[2] if parts[1] else path.name
    return f"{short}: {code.co_qualname}", short.partition("/")[0]


def main() -> None:
    """Measure, and print three tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profiling", description=__doc__)
    parser.add_argument("what", nargs="?", choices=WHATS, default="sale")
    parser.add_argument("--times", type=int, default=50_000, help="how many requests to make")
    parser.add_argument("--rows", type=int, default=60, help="how many functions to list")
    options = parser.parse_args()
    samples, driven = Samples(), Driven("ours", options.what)
    signal.signal(signal.SIGPROF, samples.take)
    signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
    asyncio.run(driven.ask(options.times))
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(f"{options.what}: {samples.count:,} samples of {options.times:,} requests")
    _print("by room, in percent", samples.rooms, samples.count, _ROOMS_SHOWN)
    _print("by function, with all that it calls", samples.within, samples.count, options.rows)
    _print("by function alone", samples.alone, samples.count, options.rows)


def _print(title: str, counts: Counter[str], of: int, rows: int) -> None:
    print(f"\n{title}")
    for name, count in counts.most_common(rows):
        print(f"{100 * count / of:6.1f}  {name}")


if __name__ == "__main__":
    main()
