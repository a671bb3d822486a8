"""Asking a sandbox for several things at once, on a loop where long work has short turns.

How short is no matter of time here: each step of long work is a turn of its own, so that whoever
asks meanwhile is served between two of them, and tests can count.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tests.driving import InProcess, Response
from tests.in_process import Exchange


class InTurns:
    """Asks on the loop that is running. All long work of the sandbox is in steps from now on."""

    def __init__(self, sandbox: InProcess) -> None:
        self.sandbox = sandbox
        self._asking: Any = replace(sandbox, run=Exchange.run)
        self.slices = sandbox.sandbox.worlds.slices
        self.slices.slice_s = 0.0

    async def ask(self, method: str, path: str, **sent: Any) -> Response:
        """One request, as `InProcess` asks it."""
        return await self._asking.ask(method, path, **sent)

    async def control(self, method: str, path: str, **sent: Any) -> Response:
        """One request to the control API; `path` without its prefix."""
        return await self.ask(method, f"/_sandbox{path}", **sent)

    async def meanwhile(
        self, work: Awaitable[Response], ask: Callable[[], Awaitable[Response]]
    ) -> tuple[Response, list[Response]]:
        """The answer of long work, and all answers that came before it was done."""
        working, answers = asyncio.ensure_future(work), []
        while not working.done():
            answer = await ask()
            # Whoever asks over a socket comes back in another round of the loop.
            await asyncio.sleep(0)
            if not working.done():
                answers.append(answer)
        return working.result(), answers

    async def health(self) -> Response:
        """That the server answers."""
        return await self.control("GET", "/health")
