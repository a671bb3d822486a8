"""A sandbox that writes its state file, on a loop of its own."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sandbox.app import build
from sandbox.domain.webhooks import Sent
from sandbox.settings import Settings
from tests.driving import FROZEN, InProcess, on_loop

ANSWER_S = 5
"""How long an answer is waited for."""


class Taking:
    """Takes every webhook, without a network. Fulfils `Sending`."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        return Sent(status_code=204, duration_ms=0, response="", error=None)

    async def close(self) -> None:
        pass


@contextmanager
def a_looping_sandbox(**more: Any) -> Iterator[InProcess]:
    """A fresh sandbox on a loop of its own, its clock frozen."""
    loop = asyncio.new_event_loop()
    sandbox = build(Settings(clock=FROZEN, **more), sender=Taking())
    saver = sandbox.worlds.saver
    try:
        yield InProcess(sandbox, run=on_loop(loop, ANSWER_S))
        if saver is not None:
            loop.run_until_complete(saver.saved())
    finally:
        if saver is not None:
            saver.file.close()
        under_way = asyncio.all_tasks(loop)
        for task in under_way:
            task.cancel()
        if under_way:
            loop.run_until_complete(asyncio.wait(under_way))
        loop.close()
