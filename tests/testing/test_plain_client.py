"""The client of the kit where httpx2 is not installed."""

import sys
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException

import pytest

from uat_sandbox import SandboxError
from uat_sandbox.plain_client import PlainClient


@pytest.fixture
def without_httpx2(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx2", None)


def test_it_takes_payments_reads_and_changes_like_httpx2(without_httpx2, world):
    client = world.client()
    assert isinstance(client, PlainClient)
    body = {"amount": 1000, "terminal_id": world.terminal()}
    payment = client.post("/v3/payment", json=body).raise_for_status().json()
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


def test_threads_share_it_and_it_ends_with_its_world(without_httpx2, kit):
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
