"""The answer to a request leaves before an attempt at its webhook begins."""

import asyncio
import json

import pytest

from sandbox.app import build
from sandbox.domain.webhooks import Sent
from sandbox.settings import Settings
from tests.driving import InProcess
from tests.in_process import http_scope
from tests.webhooks.calling import living, world_of

SALES = 40


class Noting:
    """Takes every webhook, and notes whose it was. Fulfils `Sending`."""

    def __init__(self):
        self.happened = []

    async def send(self, url, body, headers):
        self.happened.append(("attempt", json.loads(body).get("transaction_id")))
        await asyncio.sleep(0)
        return Sent(status_code=204, duration_ms=0, response="", error=None)

    async def close(self):
        pass


async def sell(sandbox, happened):
    body = json.dumps({"amount": 100, "terminal_id": world_of(sandbox).cast.terminals["merchant"]})
    headers = [
        (b"content-type", b"application/json"),
        (b"x-service-apikey", sandbox.key("merchant").encode()),
    ]

    async def receive():
        return {"type": "http.request", "body": body.encode(), "more_body": False}

    async def send(message):
        if message["type"] == "http.response.body":
            happened.append(("answer", json.loads(message["body"])["transaction_id"]))

    await sandbox.sandbox.app(http_scope("POST", "/v3/payment", headers=headers), receive, send)


@pytest.mark.parametrize("store", [None, "state.json"])
def test_every_answer_leaves_before_an_attempt_at_its_webhook_begins(tmp_path, store):
    noting = Noting()
    urls = tuple(f"http://127.0.0.1:9/{number}" for number in range(5))
    settings = Settings(store=store and tmp_path / store, webhooks=urls)
    sandbox = InProcess(build(settings, sender=noting))

    async def story():
        async with living(sandbox):
            await asyncio.gather(*(sell(sandbox, noting.happened) for _ in range(SALES)))
            await world_of(sandbox).wait_idle()

    asyncio.run(story())

    sold = [id for what, id in noting.happened if what == "answer"]
    assert len(sold) == SALES
    for id in sold:
        assert [what for what, of in noting.happened if of == id][:2] == ["answer", "attempt"]
