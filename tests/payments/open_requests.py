"""Requests that stay open while others are served, driven step by step."""

import asyncio
from typing import Any

from tests.driving import InProcess, Response
from tests.payments import tapping, waits
from tests.payments.waits import Request
from tests.support.payments import ask_on_loop, turns

Open = asyncio.Task[Response]


class OpenRequests:
    """A sandbox on an event loop, which runs while something is asked or waited for."""

    def __init__(self, sandbox: InProcess, runner: asyncio.Runner) -> None:
        self.sandbox = sandbox
        self.run = runner.run

    def open(self, request: Request, **more: Any) -> Open:
        """Begin a request, and go on once its payment waits for its tap or its processor."""
        return self.run(waits.waiting(self.sandbox, request, **more))

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Response:
        """One request, whose answer is not waited for by anything else."""
        return self.run(ask_on_loop(self.sandbox, method, path, body, **more))

    def together(self, *requests: Request, **more: Any) -> list[Response]:
        """The answers to requests that are all sent before the first is answered."""

        async def gather() -> list[Response]:
            return await asyncio.gather(
                *(ask_on_loop(self.sandbox, *request, **more) for request in requests)
            )

        return self.run(gather())

    def end(self, task: Open) -> Response:
        """The answer to a request that was begun."""

        async def wait() -> Response:
            return await asyncio.wait_for(task, 5)

        return self.run(wait())

    def is_open(self, task: Open) -> bool:
        """Whether it still waits, once whatever can go on has gone on."""
        self.run(turns())
        return not task.done()

    def taps(self) -> list[dict[str, Any]]:
        return self.run(tapping.taps(self.sandbox))

    def tap(self, id: str = "", **body: Any) -> Response:
        """Do something at the desk with this payment, or with the only one that waits."""
        if not id:
            (waiting,) = self.taps()
            id = waiting["transaction_id"]
        return self.run(tapping.tap(self.sandbox, id, **body))

    def tapped(self, request: Request, **body: Any) -> tuple[Response, Response]:
        """The answers to a request whose payment waits, and to what was done at the desk."""
        task = self.open(request)
        done = self.tap(**body)
        return self.end(task), done

    def advance(self, by: str) -> list[tuple[str, str, str]]:
        """What happened on the way: (at, kind, subject)."""
        fired = self.run(tapping.advance(self.sandbox, by))
        return [(one["at"], one["kind"], one["subject"]) for one in fired]
