"""Long work as steps: a generator that stops wherever something else may have its turn.

Whoever runs the steps decides how: all of them at once, or some at a time with other work between
them. A step takes a millisecond or so at most, and leaves everything in order for whoever comes
next.
"""

from collections.abc import Generator, Iterable
from typing import Any, TypeVar

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that stops after each step, and returns what came of all of them."""

OFTEN = 16
"""Work on many small things stops after so many of them."""


def run_through(steps: Steps[T]) -> T:
    """Take all steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


Container = dict[Any, Any] | list[Any]

LET_GO_AT_ONCE = 256
"""So many things are let go in one step: to free millions of them at once takes seconds."""


def let_go(containers: Iterable[Container]) -> Steps[None]:
    """Empty containers that nobody uses any more, bit by bit."""
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
