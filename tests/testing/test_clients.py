"""The clients of the kit: on whatever loop a test asks, and where httpx2 is not installed."""

import asyncio
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import httpx2
import pytest
from starlette.testclient import TestClient

from tests.testing.conftest import sale
from uat_sandbox import SandboxError, control, sandbox_at
from uat_sandbox.control import Control
from uat_sandbox.plain_client import PlainClient


def time_out(world):
    with pytest.raises(httpx2.ReadTimeout):
        world.client().post("/v3/payment", json=sale(world), timeout=0.5)


def cancel_on_a_loop(world):
    async def impatient():
        async with world.async_client() as client:
            task = asyncio.create_task(client.post("/v3/payment", json=sale(world)))
            while not world.taps:
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(impatient())


@pytest.mark.parametrize("stop_waiting", [time_out, cancel_on_a_loop])
def test_a_payment_continues_when_its_client_stops_waiting(world, stop_waiting):
    world.scenario({"name": "waits", "rule": [{"then": {"tap": "wait"}}]})

    stop_waiting(world)
    tapped = world.tap("tok_visa_debit")

    assert tapped["status"] == "captured"
    world.webhooks.wait_for("transaction.sale", subject=tapped["transaction_id"])
    assert [one["status"] for one in world.journal] == [200]


@pytest.mark.parametrize(
    ("planned", "timeout_s", "error"),
    [
        ({"fault": "drop_before"}, 30, httpx2.RemoteProtocolError),
        ({"fault": "half_answer"}, 30, httpx2.RemoteProtocolError),
        ({"outcome": "approved", "delay_ms": 60_000}, 0.05, httpx2.ReadTimeout),
    ],
)
def test_an_asyncio_client_meets_faults_and_its_own_timeout(world, planned, timeout_s, error):
    world.next(**planned)

    async def pay_quickly():
        async with world.async_client() as client:
            await client.post("/v3/payment", json=sale(world), timeout=timeout_s)

    with pytest.raises(error):
        asyncio.run(pay_quickly())


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


@pytest.fixture
def without_httpx2(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx2", None)


def test_it_takes_payments_reads_and_changes_like_httpx2(without_httpx2, world):
    client = world.client()
    assert isinstance(client, PlainClient)
    payment = client.post("/v3/payment", json=sale(world)).raise_for_status().json()
    listed = client.get("/v2/transactions", params={"status": ["captured"], "limit": 5})
    path = f"{world.url}/v1/transactions/{payment['transaction_id']}"
    missing = client.delete("/v3/nothing", headers={"X-Request": "1"})

    assert [one["transaction_id"] for one in listed.json()["transactions"]] == [
        payment["transaction_id"]
    ]
    assert client.get(path).json()["status"] == "captured"
    assert listed.headers["Content-Type"] == listed.headers.get("content-type")
    assert "CONTENT-TYPE" in listed.headers
    assert (missing.status_code, missing.is_success) == (404, False)
    assert "not found" in missing.text
    with pytest.raises(HTTPException, match="the answer is 404"):
        missing.raise_for_status()
    assert client.request("POST", "/v3/payment", content="{").status_code == 400


def test_threads_share_a_client_that_ends_with_its_world(without_httpx2, kit):
    with kit.world() as world:
        client = world.client(None)
        with ThreadPoolExecutor(4) as threads:
            statuses = {one.status_code for one in threads.map(client.get, ["/v5/apikeys"] * 20)}

    assert statuses == {401}
    assert client.is_closed
    with pytest.raises(ValueError, match="is closed"):
        client.get("/v5/apikeys")


def test_an_asyncio_client_says_what_it_needs(without_httpx2, world):
    with pytest.raises(SandboxError, match="pip install httpx2"):
        world.async_client()


def test_an_invalid_url_is_refused():
    for url in ("ftp://host", "127.0.0.1:8080", "http://"):
        with pytest.raises(ValueError, match="is not a URL with http or https and a host"):
            PlainClient(url, {}, 1)


def test_a_slow_answer_is_distinguished_from_a_missing_sandbox(monkeypatch, kit, world):
    monkeypatch.setattr(control, "ANSWER_S", 0.05)
    waits = f"/worlds/{world.id}/wait"
    in_this_process = Control(kit.url, token=None, embedded=kit.embedded)

    with pytest.raises(SandboxError, match=rf"did not answer GET {waits} in time$"):
        in_this_process.ask("GET", waits, query={"event_type": "transaction.sale"})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        elsewhere = Control(f"http://127.0.0.1:{silent.getsockname()[1]}", token=None)
        with pytest.raises(SandboxError, match=r"/clock/advance in time; .* in smaller steps"):
            elsewhere.ask("POST", "/worlds/default/clock/advance", {"by": "3d"})
