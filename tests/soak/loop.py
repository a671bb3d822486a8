"""An event loop whose time costs nothing: what is waited for comes as soon as all else is done.

A delay of an hour, a clock that runs, a webhook's next attempt: each happens in order, at its
moment of the loop's time, and the loop's time passes only when there is nothing else to do. So a
round is quick, and the same each time it is played.
"""

import asyncio
import contextlib
import selectors
import signal
from collections.abc import Coroutine, Iterator
from types import FrameType
from typing import Any

BEGINNING_S = 1_772_366_400.0
"""What a sandbox's wall clock shows when a loop begins: 2026-03-01T12:00:00Z."""

WATCH_S = 40.0
"""No request may take longer than this of the machine's time: a watchdog ends it.

An exported test is proved in real time, for thirty seconds at most: its requests may wait for a
card that is never tapped there.
"""


class TooSlow(BaseException):
    """A request took all of WATCH_S. No `except Exception` on its way swallows it."""


class _Selector(selectors.DefaultSelector):
    """Waits for nothing, unless a thread is at work."""

    loop: "Loop"

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout <= 0 or self.loop.threads:
            return super().select(timeout)
        self.loop.passed_s += timeout
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    """Such a loop. `passed_s` is how much time passed in it; `failures` is what it was told of."""

    def __init__(self) -> None:
        self.passed_s = 0.0
        self.threads = 0
        self.failures: list[str] = []
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)
        self.set_exception_handler(self._note)

    def time(self) -> float:
        return self.passed_s

    def system_clock(self) -> float:
        """The wall clock of a sandbox on this loop."""
        return BEGINNING_S + self.passed_s

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        self.threads += 1
        future = super().run_in_executor(executor, func, *args)

        def done(_: Any) -> None:
            self.threads -= 1

        future.add_done_callback(done)
        return future

    def begin(self, work: Coroutine[Any, Any, None], patience_s: float) -> "asyncio.Task[None]":
        """The work, done, or under way after so much of the loop's time."""
        task = self.create_task(work)
        self.go_on(task, patience_s)
        return task

    def go_on(self, task: "asyncio.Task[None]", patience_s: float) -> None:
        """Let time pass until the task is done, or for so long."""
        if task.done():
            return
        enough = self.call_later(patience_s, self.stop)
        task.add_done_callback(self._stop)
        try:
            with watched():
                self.run_forever()
        finally:
            enough.cancel()
            task.remove_done_callback(self._stop)

    def end(self) -> None:
        """Cancel whatever is left, and close."""
        for _ in range(10):
            left = asyncio.all_tasks(self)
            if not left:
                break
            for task in left:
                task.cancel()
            self.run_until_complete(asyncio.wait(left, timeout=1))
        self.run_until_complete(self.shutdown_default_executor())
        self.close()

    def _stop(self, _: object) -> None:
        self.stop()

    def _note(self, _: object, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.failures.append(f"{context['message']}: {error!r}")


@contextlib.contextmanager
def watched(limit_s: float | None = None) -> Iterator[None]:
    """Raises TooSlow where the block takes longer than that, or than WATCH_S."""
    limit_s = WATCH_S if limit_s is None else limit_s

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"it took more than {limit_s:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
