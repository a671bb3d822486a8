"""How tests of worlds make worlds, and look at them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from msgspec import structs

from tests.driving import NOW, InProcess, Response

KEY = "svc_uat_Supplied0000_" + "S" * 32
"""A key that tests supply."""


def add_world(sandbox: InProcess, id: str, **more: Any) -> InProcess:
    """Another world of the same server, ready to be driven with its own cast."""
    sandbox.control("POST", "/worlds", {"id": id, "clock": NOW} | more).expect(201)
    return replace(sandbox, world=id)


def make_another(sandbox: InProcess, id: str) -> None:
    """Make a world like the default one, without an event loop: in a file too."""
    worlds = sandbox.sandbox.worlds
    worlds.create(structs.replace(worlds.default.spec, id=id))


@contextmanager
def kept(sandbox: InProcess) -> Iterator[InProcess]:
    """A server with a state file, which it writes, and lets go of, when the block ends."""
    saver = sandbox.sandbox.worlds.saver
    assert saver is not None
    try:
        yield sandbox
        saver.save()
    finally:
        saver.file.close()


def create(world: InProcess, by: str = "merchant", **more: Any) -> Response:
    body = {"name": "made", "permissions": ["payments:read"]} | more
    return world.post("/v5/apikeys", body, by=by)


def supplied(key: str) -> dict[str, Any]:
    return {"always_retrievable": True, "key": key}


def totals(world: InProcess) -> tuple[int, int]:
    """How many messages and journal entries the world has."""
    return tuple(world.look(f"{what}")["total"] for what in ("messages", "requests"))
