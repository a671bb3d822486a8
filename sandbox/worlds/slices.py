"""Long work in slices, between which other requests get their turn.

All worlds of a server share one event loop, so work that takes seconds would block all of them.
Such work is written as steps (`store.steps`). Here each round of the loop takes steps for a few
milliseconds. All long work of the server waits in one line. Without an event loop (at the start, in
tests) all steps are taken at once.
"""

import asyncio
from asyncio import AbstractEventLoop, Future, Lock, Semaphore
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Final, TypeVar

from sandbox.store.steps import Aside, Steps, run_through

T = TypeVar("T")

SLICE_S: Final = 0.005
"""Length of a slice in one round of the event loop. A request takes two to four rounds."""

LARGE_AT_ONCE: Final = 4
"""The most large works at a time; others wait until one is done."""


class Slices:
    """The turns of one server. `slice_s` is the length of a slice."""

    def __init__(self, slice_s: float = SLICE_S) -> None:
        self.slice_s = slice_s
        self._begin_anew(None)

    def _begin_anew(self, loop: AbstractEventLoop | None) -> None:
        self._loop = loop
        self._line: deque[Future[None]] = deque()
        self._spent_s = 0.0
        # Whether a new round of the loop is awaited, and whether its turn is promised to someone.
        self._is_awaited = self._is_promised = False
        self._large = Semaphore(LARGE_AT_ONCE)

    def _has_loop(self) -> bool:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if loop is not self._loop:
            # Who waited on another loop is gone with it.
            self._begin_anew(loop)
        return True

    @property
    def waiting(self) -> int:
        """How many works wait for their turn."""
        return len(self._line)

    # --- long work

    async def run(self, steps: Steps[T], *, is_large: bool = False) -> T:
        """The result of the steps, which are taken in slices.

        `is_large` work needs much memory: if it takes more than a slice, only a few such works run
        at a time. Cancelling this closes the steps, which clean up.
        """
        if not self._has_loop():
            return run_through(steps)
        holds_place = False
        try:
            while True:
                await self._wait_for_turn()
                try:
                    aside = self._go_on(steps)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
                if aside is not None:
                    await asyncio.to_thread(aside)
                elif is_large and not holds_place:
                    await self._large.acquire()
                    holds_place = True
        finally:
            steps.close()
            if holds_place:
                self._large.release()

    def _go_on(self, steps: Steps[T]) -> Aside | None:
        """Take steps until the slice is over, or until a step returns work for a thread.

        Raises StopIteration with the result of the steps.
        """
        started_s = perf_counter()
        try:
            aside: Aside | None
            while (aside := next(steps)) is None:
                if perf_counter() - started_s >= self.slice_s:
                    break
            return aside
        finally:
            spent_s = perf_counter() - started_s
            self._spend(spent_s)

    async def aside(self, what: Aside) -> None:
        """Have something done that cannot be cut and touches nothing that is in use."""
        if self._has_loop():
            await asyncio.to_thread(what)
        else:
            what()

    def turn(self) -> "_Turn":
        """A turn for work that cannot be cut, and is as long as a slice or so."""
        return _Turn(self)

    # --- turns

    def _spend(self, seconds: float) -> None:
        """Count time that this round has used."""
        self._spent_s += seconds
        self._await_round()

    def _await_round(self) -> None:
        if not self._is_awaited and self._loop is not None and self._loop.is_running():
            self._is_awaited = True
            self._loop.call_soon(self._begin_round)

    def _begin_round(self) -> None:
        """A new round of the loop: the first in line gets it."""
        self._is_awaited = False
        self._spent_s = 0.0
        while self._line:
            first = self._line.popleft()
            if not first.done():
                first.set_result(None)
                self._is_promised = True
                return

    async def _wait_for_turn(self) -> None:
        """Wait in line, unless the line is empty and this round has time left."""
        if not self._line and not self._is_promised and self._spent_s < self.slice_s:
            return
        assert self._loop
        place = self._loop.create_future()
        self._line.append(place)
        if not self._is_promised:
            self._await_round()
        try:
            await place
        finally:
            if place.done() and not place.cancelled():
                self._is_promised = False
                self._await_round()


class _Turn:
    """A turn, as an `async with` has it; every timer that fires while a clock advances has one."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._started_s = 0.0

    async def __aenter__(self) -> None:
        if self._slices._has_loop():
            await self._slices._wait_for_turn()
        self._started_s = perf_counter()

    async def __aexit__(self, *raised: object) -> None:
        self._slices._spend(perf_counter() - self._started_s)


class Alone:
    """Runs exclusive work one after the other, for each name."""

    def __init__(self) -> None:
        # Only of names that are in use.
        self._locks: dict[str, Lock] = {}
        self._users: Counter[str] = Counter()

    def __contains__(self, name: str) -> bool:
        return name in self._locks

    @asynccontextmanager
    async def with_(self, name: str) -> AsyncIterator[None]:
        """Hold the exclusive right to this name."""
        lock = self._locks.setdefault(name, Lock())
        self._users[name] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._locks[name]
