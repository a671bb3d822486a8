"""Tasks without which a server is of no use."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

ENDED: Final = 70
"""The exit status of a server that a defect keeps from its work: EX_SOFTWARE."""

AGAIN_S: Final = 60.0

log = logging.getLogger("sandbox.cluster")


class Supervisor:
    """Runs tasks until it is closed.

    If one ends for whatever reason, `on_failure` is called and the task begins again; if it ends
    once more within a minute, the process ends at once. Without that, worlds would hang while the
    server seems well. Other servers claim them; PostgreSQL has all that was acknowledged.
    """

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._failed_s: dict[str, float] = {}
        self._is_closed = False

    def run(self, purpose: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run this, again and again if need be."""
        task = asyncio.get_running_loop().create_task(work())
        self.tasks[purpose] = task
        task.add_done_callback(lambda ended: self._note_end(purpose, work, ended))

    def _note_end(
        self,
        purpose: str,
        work: Callable[[], Coroutine[Any, Any, None]],
        task: asyncio.Task[None],
    ) -> None:
        if self._is_closed:
            return
        error = None if task.cancelled() else task.exception()
        error = error or RuntimeError(f"the task for {purpose} has ended")
        now_s = time.monotonic()
        if now_s - self._failed_s.get(purpose, -AGAIN_S) < AGAIN_S:
            log.critical(
                "%s has failed again: a defect of the sandbox. This server ends, and others claim "
                "its worlds; start it again",
                purpose,
                exc_info=error,
            )
            logging.shutdown()
            os._exit(ENDED)
        self._failed_s[purpose] = now_s
        log.error("%s has failed: a defect of the sandbox", purpose, exc_info=error)
        self._on_failure(error)
        self.run(purpose, work)

    async def close(self) -> None:
        """End the tasks."""
        self._is_closed = True
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
