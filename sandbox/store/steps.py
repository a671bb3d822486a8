"""Long work as steps: a generator that yields where other work may run.

The caller decides how to run the steps: all at once, or some at a time with other work in between.
A step takes about a millisecond at most, and leaves everything consistent.
"""

from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeVar

T = TypeVar("T")

Aside = Callable[[], object]
"""Work that cannot be split into steps, and shares no data with other work."""

Steps = Generator[Any, None, T]
"""Work that yields after each step, and returns the result.

Most steps yield nothing. If a step yields an `Aside`, the caller runs it in a thread before the
next step.
"""

OFTEN = 16
"""Work on many small things stops after so many of them."""


def run_through(steps: Steps[T]) -> T:
    """Take all steps at once."""
    while True:
        try:
            aside = next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        if aside is not None:
            aside()


Container = dict[Any, Any] | list[Any]

LET_GO_AT_ONCE = 256
"""Objects freed in one step: freeing millions at once takes seconds."""


def let_go(containers: Iterable[Container]) -> Steps[None]:
    """Empty unused containers, bit by bit."""
    for container in containers:
        if isinstance(container, list):
            while container:
                del container[-LET_GO_AT_ONCE:]
                yield
        else:
            while container:
                for _ in range(min(LET_GO_AT_ONCE, len(container))):
                    container.popitem()
                yield
