"""Requests that stay open while others are served: their payments wait for a tap or a processor."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from sandbox.domain.payments.outcomes import Operation, Queued
from tests.driving import InProcess, Response
from tests.scenarios.running import running
from tests.support.caller import turns
from tests.support.payments import OPERATIONS, path_of

CONTROL = "/_sandbox/worlds/default"
DELAY_MS = 40

Request = tuple[str, str, dict[str, Any] | None]
"""Method, path, and body."""
Open = asyncio.Task[Response]
Run = Callable[[Coroutine[Any, Any, Any]], Any]
"""Carries out what waits, on a loop that stands still between two calls."""


def desk_opens(sandbox: InProcess, **then: Any) -> None:
    """From here on payments wait for their tap."""
    running(sandbox, {"name": "tap", "then": {"tap": "wait"} | then})


def delay(
    sandbox: InProcess,
    outcome: str = "approved",
    operation: Operation | None = None,
    ms: int = DELAY_MS,
) -> None:
    """The next attempt that fits waits this long for its processor."""
    sandbox.get_world().queue.add(Queued(outcome=outcome, operation=operation, delay_ms=ms))


def sale(sandbox: InProcess, **more: Any) -> Request:
    body = {"amount": 1000, "terminal_id": sandbox.terminal_id("merchant")}
    return "POST", "/v3/payment", body | more


def action(id: str, operation: str, **more: Any) -> Request:
    name, body = OPERATIONS[operation]
    return "POST", path_of(id, name, "v3"), body | more


class OpenRequests:
    """A sandbox on an event loop, which runs while something is asked or waited for."""

    def __init__(self, sandbox: InProcess, run: Run) -> None:
        self.sandbox = sandbox
        self.run = run

    def open(self, request: Request, **more: Any) -> Open:
        """Begin a request, and go on once its payment waits for its tap or its processor."""
        world = self.sandbox.get_world()
        seen = len(world.tap_desk) + len(world.busy)

        async def begin() -> Open:
            task = asyncio.create_task(self.sandbox.ask_on_loop(*request, **more))
            while len(world.tap_desk) + len(world.busy) == seen:
                await asyncio.sleep(0)
                assert not task.done(), (await task).body
            return task

        return self.run(begin())

    def open_behind(self, request: Request, **more: Any) -> Open:
        """Begin a request that waits its turn behind another one on its payment."""

        async def begin() -> Open:
            task = asyncio.create_task(self.sandbox.ask_on_loop(*request, **more))
            await turns()
            return task

        return self.run(begin())

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Response:
        """One request, whose answer is not waited for by anything else."""
        return self.run(self.sandbox.ask_on_loop(method, path, body, **more))

    def together(self, *requests: Request, **more: Any) -> list[Response]:
        """The answers to requests that are all sent before the first is answered."""

        async def gather() -> list[Response]:
            asked = (self.sandbox.ask_on_loop(*request, **more) for request in requests)
            return await asyncio.gather(*asked)

        return self.run(gather())

    def end(self, task: Open) -> Response:
        """The answer to a request that was begun."""
        return self.run(asyncio.wait_for(task, 5))

    def is_open(self, task: Open) -> bool:
        """Whether it still waits, once whatever can go on has gone on."""
        self.run(turns())
        return not task.done()

    def taps(self) -> list[dict[str, Any]]:
        """The payments that wait for their tap."""
        listed = self.sandbox.look("taps")
        assert listed["total"] == len(listed["taps"])
        found: list[dict[str, Any]] = listed["taps"]
        return found

    def tap(self, id: str = "", **body: Any) -> Response:
        """Do something at the desk with this payment, or with the only one that waits."""
        if not id:
            (waiting,) = self.taps()
            id = waiting["transaction_id"]
        return self.ask("POST", f"{CONTROL}/taps/{id}", body)

    def tapped(self, request: Request, **body: Any) -> tuple[Response, Response]:
        """The answers to a request whose payment waits, and to what was done at the desk."""
        task = self.open(request)
        done = self.tap(**body)
        return self.end(task), done
