"""Supervision of the tasks that a server cannot do without."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, Final

ENDED: Final = 70
"""The exit status after a defect that keeps a server from working: EX_SOFTWARE."""

AGAIN_S: Final = 60.0

log = logging.getLogger("sandbox.cluster")


class Supervisor:
    """Runs tasks until it is closed.

    If a task ends for whatever reason, `on_failure` is called and the task is restarted; if it ends
    again within a minute, the process exits at once. Otherwise worlds would hang on a server that
    seems healthy. Other servers claim them; PostgreSQL has all acknowledged changes.
    """

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._supervising: list[asyncio.Task[None]] = []

    def run(self, purpose: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run this task, and restart it if it ends."""
        self._supervising.append(asyncio.create_task(self._supervise(purpose, work)))

    async def _supervise(self, purpose: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        failed_s = -inf
        while True:
            self.tasks[purpose] = task = asyncio.create_task(work())
            await asyncio.wait((task,))
            error = None if task.cancelled() else task.exception()
            error = error or RuntimeError(f"the task for {purpose} has ended")
            if time.monotonic() - failed_s < AGAIN_S:
                log.critical(
                    "%s has failed again: a defect of the sandbox. This server exits, and others "
                    "claim its worlds; start it again",
                    purpose,
                    exc_info=error,
                )
                logging.shutdown()
                os._exit(ENDED)
            failed_s = time.monotonic()
            log.error("%s has failed: a defect of the sandbox", purpose, exc_info=error)
            self._on_failure(error)

    async def close(self) -> None:
        """End the tasks."""
        tasks = (*self._supervising, *self.tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
