"""The sandbox as an ASGI application, on whatever loop a test asks."""

import asyncio

import httpx2
import pytest
from starlette.testclient import TestClient

from tests.testing.conftest import pay
from uat_sandbox import SandboxError, sandbox_at


def test_an_async_client_meets_the_same_world_as_the_network(world):
    async def both():
        async with world.async_client() as client:
            body = {"amount": 1000, "terminal_id": world.terminal()}
            return (await client.post("/v3/payment", json=body)).json()

    payment = asyncio.run(both())

    path = f"/v1/transactions/{payment['transaction_id']}"
    assert world.client().get(path).json()["status"] == "captured"
    world.webhooks.wait_for("transaction.sale", subject=payment["transaction_id"])


def test_who_stops_waiting_ends_the_request_and_nothing_else(world):
    world.scenario(
        {"name": "w", "rule": [{"when": {"operation": "sale"}, "then": {"tap": "wait"}}]}
    )

    async def impatient():
        async with world.async_client() as client:
            body = {"amount": 1000, "terminal_id": world.terminal()}
            task = asyncio.create_task(client.post("/v3/payment", json=body))
            while not world.taps:
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(impatient())
    world.scenario(None)

    assert pay(world)["status"] == "captured"


def test_it_can_be_given_to_whatever_takes_an_application(kit, world):
    with TestClient(kit.asgi, headers=world.headers()) as client:
        answer = client.get("/v5/apikeys")

    assert answer.status_code == 200
    assert world.journal.last["path"] == "/v5/apikeys"


def test_a_sandbox_that_runs_elsewhere_has_none(kit):
    with sandbox_at(kit.url) as elsewhere, elsewhere.world() as world:
        with pytest.raises(SandboxError, match="runs elsewhere and has only its URL"):
            world.transport()

        async def over_the_network():
            async with world.async_client() as client:
                return await client.get("/v5/apikeys")

        answer = asyncio.run(over_the_network())

    assert isinstance(answer, httpx2.Response)
    assert answer.status_code == 200
