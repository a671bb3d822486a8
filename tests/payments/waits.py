"""How tests have a payment wait for its processor while other requests are served."""

import asyncio
from typing import Any

from sandbox.domain.payments.outcomes import Operation, Queued
from sandbox.worlds.world import World
from tests.directory.making import terminal_id
from tests.driving import InProcess, Response
from tests.support.payments import OPERATIONS, ask_on_loop, path_of

Request = tuple[str, str, dict[str, Any] | None]
"""Method, path, and body."""

DELAY_MS = 40


def world_of(sandbox: InProcess) -> World:
    found = sandbox.sandbox.worlds.get(sandbox.world)
    assert found is not None
    return found


def delay(
    sandbox: InProcess,
    outcome: str = "approved",
    operation: Operation | None = None,
    ms: int = DELAY_MS,
) -> None:
    """The next attempt that fits waits this long for its processor."""
    world_of(sandbox).queue.add(Queued(outcome=outcome, operation=operation, delay_ms=ms))


def sale(sandbox: InProcess, **more: Any) -> Request:
    return (
        "POST",
        "/v3/payment",
        {"amount": 1000, "terminal_id": terminal_id(sandbox, "merchant")} | more,
    )


def action(id: str, operation: str, **more: Any) -> Request:
    name, body = OPERATIONS[operation]
    return "POST", path_of(id, name, "v3"), body | more


async def waiting(sandbox: InProcess, request: Request, **more: Any) -> "asyncio.Task[Response]":
    """The request under way, once its payment waits for its tap or its processor."""
    world = world_of(sandbox)
    seen = len(world.tap_desk) + len(world.busy)
    task = asyncio.create_task(ask_on_loop(sandbox, *request, **more))
    while len(world.tap_desk) + len(world.busy) == seen:
        await asyncio.sleep(0)
        assert not task.done(), (await task).body
    return task
