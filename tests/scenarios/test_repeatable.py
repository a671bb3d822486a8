"""The same scenario, seed and requests give the same bytes twice, timers and webhooks included."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.webhooks import Sent
from sandbox.settings import Settings
from tests.driving import NOW, InProcess
from tests.support.open_requests import CONTROL, tap, taps

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


async def story(sandbox: InProcess) -> list[bytes]:
    """The bytes of every answer, in order."""
    answers: list[bytes] = []

    async def do(method: str, path: str, body: Any = None, key: str = "psp") -> Any:
        answer = await sandbox.ask_on_loop(method, path, body, by=key)
        answers.append(answer.body)
        return answer.json()

    terminal = (await do("GET", CONTROL))["terminals"]["merchant"]
    await do("PUT", f"{CONTROL}/scenario", SCENARIO)
    await do("POST", f"{CONTROL}/endpoints", {"url": "http://receiver.test/"})
    sale = {"amount": 1000, "terminal_id": terminal}
    await do("POST", "/v3/payment", sale)
    waiting = asyncio.create_task(do("POST", "/v3/payment", sale))
    while not (found := await taps(sandbox)):
        await asyncio.sleep(0)
    await tap(sandbox, found[0]["transaction_id"], card="tok_amex")
    batch_id = (await waiting)["batch_id"]
    held = await do("POST", "/v3/preauth", sale)
    await do("POST", f"/v3/payments/{held['transaction_id']}/capture", {"tip_amount": 100})
    await do("POST", "/v3/preauth", sale)
    await do("POST", f"/v1/batches/{batch_id}/close", {})
    await do("POST", f"{CONTROL}/clock/advance", {"by": "150s"})
    await do("POST", "/v3/payment", sale)
    await do("POST", f"{CONTROL}/clock/advance", {"by": "30d"})
    await do("GET", f"/v1/batches/{batch_id}")
    await do("GET", "/v2/transactions")
    return answers


def played() -> dict[str, Any]:
    """All that a story leaves behind, on a sandbox of its own."""
    receiver = Receiver()
    frozen = ClockSetting(now=parse_rfc3339(NOW), mode="frozen")
    sandbox = InProcess(build(Settings(clock=frozen), system_clock=lambda: WALL_S, sender=receiver))
    answers = asyncio.run(story(sandbox))
    left = {name: sandbox.look(name, limit=200)[name] for name in ("messages", "requests")}
    for entry in left["requests"]:
        del entry["duration_ms"]
    return {"answers": answers, "webhooks": receiver.got, **left}


def test_the_same_story_gives_the_same_bytes_twice():
    told = played()

    assert told == played()
    # Every kind of timer has fired, and a rule and the schedule have sent webhooks.
    fired = [one for n in (-3, -5) for one in json.loads(told["answers"][n])["fired"]]
    attempts = [
        attempt["trigger"]
        for message in told["messages"]
        for delivery in message["deliveries"]
        for attempt in delivery["attempts"]
    ]
    assert {one["kind"] for one in fired} == {
        "late_answer",
        "block_terminal",
        "unblock_terminal",
        "authorization_expires",
        "batch_result",
        "webhook_retry",
    }
    assert len(told["webhooks"]) == len(attempts) > len(told["messages"])
    assert {"scenario", "scheduled"} == set(attempts)
