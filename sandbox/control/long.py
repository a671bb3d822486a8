"""What control endpoints share whose work may be long: taking turns, and long lists."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic_core import to_json

from sandbox.api.wire import in_parts
from sandbox.control.rows import Ask, unknown_world
from sandbox.store.steps import Steps
from sandbox.world.world import World


@asynccontextmanager
async def alone(ask: Ask) -> AsyncIterator[World]:
    """The world of the path, once nobody else saves, loads, resets or deletes it.

    Raises ControlFault where it is gone by then.
    """
    worlds, id = ask.services.worlds, ask.world.id
    async with worlds.alone.with_(id):
        ask.found = worlds.get(id)
        if ask.found is None:
            raise unknown_world(worlds, id)
        yield ask.found


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
