"""Helpers for control endpoints with long work: exclusive access, and long lists."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic_core import to_json

from sandbox.control.rows import ControlRequest, unknown_world
from sandbox.platform.wire import in_parts
from sandbox.store.steps import Steps
from sandbox.worlds.world import World


@asynccontextmanager
async def alone(request: ControlRequest) -> AsyncIterator[World]:
    """The world of the path, once no other request saves, loads, resets or deletes it.

    Raises ControlFault if it is gone by then.
    """
    worlds, id = request.services.worlds, request.world.id
    async with worlds.alone.with_(id):
        request.found = worlds.get(id)
        if request.found is None:
            raise unknown_world(worlds, id)
        yield request.found


def written_list(
    plural: str, items: Sequence[Any], view: Callable[[Any], Any], more: dict[str, Any]
) -> Steps[list[bytes]]:
    """A list under its name and further fields, as JSON in parts: one item in each step."""

    def written() -> Any:
        yield b'{"%b":[' % plural.encode()
        for number, item in enumerate(items):
            shown = to_json(view(item))
            yield b"," + shown if number else shown
        yield b"]," + to_json(more)[1:]

    return in_parts(written())
