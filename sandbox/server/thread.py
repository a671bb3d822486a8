"""A thread with an event loop of its own, on which applications are served."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar

from sandbox.server.run import new_loop

T = TypeVar("T")

_START_S: Final = 30.0


class LoopThread:
    """Begins at once and runs until it is closed. Its loop is for other threads to hand work to."""

    def __init__(self) -> None:
        self._ready: Future[None] = Future()
        self._served: list[AbstractAsyncContextManager[None]] = []
        self._stop: asyncio.Event
        self.loop: asyncio.AbstractEventLoop
        # Where a test run is torn down without closing it, the process still ends.
        self._thread = threading.Thread(target=self._run, name="sandbox", daemon=True)
        self._thread.start()
        self._ready.result(_START_S)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=new_loop) as runner:
                runner.run(self._main())
        except BaseException as error:
            if self._ready.done():
                raise
            # The thread that waits for the start gets the error.
            self._ready.set_exception(error)

    async def _main(self) -> None:
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set_result(None)
        await self._stop.wait()
        # All at once: each takes its moment.
        await asyncio.gather(*(one.__aexit__(None, None, None) for one in self._served))

    def serve(self, served: AbstractAsyncContextManager[None]) -> None:
        """Serve what the context manager serves, from now on."""
        self.start(served.__aenter__()).result(_START_S)
        self._served.append(served)

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have the loop do this."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def close(self) -> None:
        """Stop serving, and end the thread."""
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
