"""The same scenario, seed and requests give the same bytes twice, timers and webhooks included.

So they do after a reset.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.app import build
from sandbox.domain.webhooks import Sent
from sandbox.settings import Settings
from tests.driving import FROZEN, InProcess, Response
from tests.support.directory import supplied
from tests.support.open_requests import CONTROL, OpenRequests, action, sale

WALL_S = 1_772_366_400.0

SCENARIO = {
    "name": "everything at once",
    "rule": [
        {"when": {"operation": "sale", "nth": 2}, "then": {"tap": "wait"}},
        {
            "when": {"operation": "sale", "nth": 1},
            "then": {
                "outcome": "processor_timeout",
                "follow": [
                    {"after": "40s", "do": "late_answer", "outcome": "approved"},
                    {"after": "2m", "do": "block_terminal"},
                    {"after": "3m", "do": "unblock_terminal"},
                ],
            },
        },
        {"when": {"operation": "capture"}, "then": {"delay_ms": 10}},
        {
            "when": {"operation": "close_batch"},
            "then": {"batch": "partially_accepted", "rejected": 1, "after": "1d"},
        },
    ],
    "webhook": [
        {"when": {"event": "transaction.sale", "nth": 1}, "then": {"signature": "wrong"}},
        {"when": {"event": "transaction.sale"}, "then": {"order": "first", "duplicate": 2}},
        {"when": {"event": "transaction.cancel"}, "then": {"contradict": {"status": "captured"}}},
        {"when": {"event": "batch.submitted"}, "then": {"before_answer": True, "truncate": 9}},
    ],
}


@dataclass
class Receiver:
    """Refuses every third attempt, and keeps the bytes of all."""

    got: list[tuple[str, bytes, dict[str, str]]] = field(default_factory=list)

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        self.got.append((url, body, dict(headers)))
        if len(self.got) % 3 == 0:
            return Sent(status_code=503, duration_ms=0, response="later", error="answered 503")
        return Sent(status_code=204, duration_ms=0, response="", error=None)

    async def close(self) -> None:
        pass


def story(requests: OpenRequests) -> set[str]:
    """Let everything of the scenario happen; the kinds of timers that fired."""
    requests.ask("PUT", f"{CONTROL}/scenario", SCENARIO)
    requests.ask("POST", f"{CONTROL}/endpoints", {"url": "http://receiver.test/"})
    a_sale = sale(requests.sandbox)
    requests.ask(*a_sale)
    paid, _ = requests.tapped(a_sale, card="tok_amex")
    held = [requests.ask("POST", "/v3/preauth", a_sale[2]).json() for _ in range(2)]
    requests.ask(*action(held[0]["transaction_id"], "capture", tip_amount=100))
    batch = f"/v1/batches/{paid.json()['batch_id']}"
    requests.ask("POST", f"{batch}/close")
    advance = ("POST", f"{CONTROL}/clock/advance")
    soon = requests.ask(*advance, {"by": "150s"})
    requests.ask(*a_sale)
    later = requests.ask(*advance, {"by": "30d"})
    requests.ask("GET", batch)
    requests.ask("GET", "/v2/transactions")
    return {one["kind"] for answer in (soon, later) for one in answer.json()["fired"]}


def played() -> dict[str, Any]:
    """All that a story leaves behind, on a sandbox of its own."""
    receiver = Receiver()
    made = build(Settings(clock=FROZEN), system_clock=lambda: WALL_S, sender=receiver)
    sandbox = InProcess(made)
    with asyncio.Runner() as runner:
        fired = story(OpenRequests(sandbox, runner.run))
    left = {name: sandbox.look(name, limit=200)[name] for name in ("messages", "requests")}
    for entry in left["requests"]:
        del entry["duration_ms"]
    return {"fired": fired, "webhooks": receiver.got, **left}


def test_the_same_story_gives_the_same_bytes_twice():
    told = played()

    assert told == played()
    # Every kind of timer has fired, and a rule and the schedule have sent webhooks.
    attempts = [
        attempt["trigger"]
        for message in told["messages"]
        for delivery in message["deliveries"]
        for attempt in delivery["attempts"]
    ]
    assert told["fired"] == {
        "late_answer",
        "block_terminal",
        "unblock_terminal",
        "authorization_expires",
        "batch_result",
        "webhook_retry",
    }
    assert len(told["webhooks"]) == len(attempts) > len(told["messages"])
    assert {"scenario", "scheduled"} == set(attempts)


def test_a_reset_gives_the_same_world_again_and_then_the_same_answers(sandbox):
    world = sandbox.add_world("one", seed=7)
    before = world.manage("GET", "").body

    def story() -> list[Response]:
        made = world.create_key()
        return [
            made,
            world.get("/v5/apikeys", by="merchant"),
            world.delete_key(made.json()["id"]),
            world.get("/v5/apikeys", by="revoked"),
            world.get("/nowhere", by="merchant"),
            world.create_key(by="partner", account_id=world.account_id("merchant"), **supplied()),
        ]

    told = story()
    reset = world.manage("POST", "/reset")
    cleared = world.message_count(), world.look("requests")["total"]

    assert (reset.status, reset.body) == (200, before)
    assert cleared == (0, 0)
    assert story() == told
