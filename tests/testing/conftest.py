"""One server of the test kit for all of these tests, and a world for each."""

from collections.abc import Iterator
from typing import Any

import pytest

from uat_sandbox import Server, World, sandbox_server


@pytest.fixture(scope="session")
def kit() -> Iterator[Server]:
    with sandbox_server() as server:
        yield server


@pytest.fixture
def world(kit: Server) -> Iterator[World]:
    with kit.world(seed=1) as fresh:
        yield fresh


def pay(world: World, path: str = "/v3/payment", **more: Any) -> dict[str, Any]:
    """A sale of $10.00 at the merchant's terminal; the payment."""
    answer = world.client().post(path, json=sale(world, **more))
    assert answer.status_code == 200, answer.text
    payment: dict[str, Any] = answer.json()
    return payment


def sale(world: World, **more: Any) -> dict[str, Any]:
    """The body of that sale."""
    return {"amount": 1000, "terminal_id": world.terminal(), **more}
