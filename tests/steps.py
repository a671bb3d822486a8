"""What work costs, counted and not timed: the same on any machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps_of(work: Callable[[], object]) -> int:
    """How many steps Python takes for it."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += 1
        return trace

    before = sys.gettrace()
    # Python 3.12 counts single steps only if a frame asked for them before the tracing began.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


class Calls:
    """Counts the functions that are called, those written in C included, while a block runs."""

    count = 0

    def __enter__(self) -> "Calls":
        self._before = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        self.count += event in ("call", "c_call")


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called for it."""
    with Calls() as calls:
        work()
    return calls.count
