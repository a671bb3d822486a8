"""How tests of worlds make worlds, and look at them."""

from dataclasses import replace
from typing import Any

from tests.driving import NOW, InProcess

KEY = "svc_uat_Supplied0000_" + "S" * 32
"""A key that tests supply."""


def add_world(sandbox: InProcess, id: str, **more: Any) -> InProcess:
    """Another world of the same server, ready to be driven with its own cast."""
    sandbox.control("POST", "/worlds", {"id": id, "clock": NOW} | more).expect(201)
    return replace(sandbox, world=id)


def supplied(key: str) -> dict[str, Any]:
    return {"always_retrievable": True, "key": key}


def totals(world: InProcess) -> tuple[int, int]:
    """How many messages and journal entries the world has."""
    return tuple(world.look(f"{what}")["total"] for what in ("messages", "requests"))
