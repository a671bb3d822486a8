"""Helpers for control endpoints with long work: exclusive access, and long lists."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from pydantic_core import to_json

from sandbox.control.rows import ControlRequest, Written, unknown_world
from sandbox.platform.wire import in_parts
from sandbox.store.steps import Steps
from sandbox.worlds.world import World

T = TypeVar("T", bound=Mapping[str, Any])


@asynccontextmanager
async def alone(request: ControlRequest) -> AsyncIterator[World]:
    """The world of the path, once no other request saves, loads, resets or deletes it.

    Raises ControlFault if it is gone by then.
    """
    worlds, id = request.services.worlds, request.world.id
    async with worlds.alone.with_(id):
        request.found = worlds.get(id)
        if request.found is None:
            raise unknown_world(worlds, id, request.who)
        yield request.found


def written_list(answer: T, plural: str, views: Iterable[Mapping[str, Any]]) -> Steps[Written[T]]:
    """The answer as JSON in parts, with these views as its list `plural`: one in each step."""

    def written() -> Iterator[bytes]:
        yield b'{"%b":[' % plural.encode()
        for number, view in enumerate(views):
            shown = to_json(view)
            yield b"," + shown if number else shown
        rest = {name: value for name, value in answer.items() if name != plural}
        yield b"]," + to_json(rest)[1:]

    return Written((yield from in_parts(written())))
