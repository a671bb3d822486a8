"""Keys that tests of worlds supply, and what a world has."""

from typing import Any

from tests.driving import InProcess

KEY = "svc_uat_Supplied0000_" + "S" * 32
"""A key that tests supply."""


def supplied(key: str) -> dict[str, Any]:
    return {"always_retrievable": True, "key": key}


def totals(world: InProcess) -> tuple[int, int]:
    """How many messages and journal entries the world has."""
    return tuple(world.look(f"{what}")["total"] for what in ("messages", "requests"))
