"""Tasks without which a server is of no use: if one of them ends, so does its process."""

import asyncio
import logging
import os
from collections.abc import Coroutine
from typing import Any, Final

ENDED: Final = 70
"""The exit status of a server that can no longer write, or give signs of life: EX_SOFTWARE."""

log = logging.getLogger("sandbox.servers")


def lasting(work: Coroutine[Any, Any, None], purpose: str) -> asyncio.Task[None]:
    """A task that runs until it is cancelled. If it ends otherwise, the process ends at once.

    Without it the worlds of this server would hang, while it seems well and keeps them. When the
    process has ended, the others take them over; PostgreSQL has all that was acknowledged.
    """

    def end(task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        log.critical(
            "%s has ended: a defect of the sandbox. This server ends, and others take its worlds "
            "over; start it again",
            purpose,
            exc_info=task.exception(),
        )
        logging.shutdown()
        os._exit(ENDED)

    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(end)
    return task
