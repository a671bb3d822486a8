"""Endpoints do not hold up each other, nor the API; each gets its messages in order.

The answer to a request leaves before an attempt at its webhook begins.
"""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from sandbox.app import build
from sandbox.domain.webhooks import Sent
from sandbox.settings import Settings
from tests.driving import NOW, UNTIL_S, InProcess, until
from tests.support.open_requests import sale
from tests.webhooks import misbehaving as bad
from tests.webhooks.hooked import START
from tests.webhooks.misbehaving import refusing
from tests.webhooks.receiving import Answer, overtakers, receiving

SALES = 10


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
    answer = await sandbox.ask_on_loop(*sale(sandbox))
    happened.append(("answer", answer.json()["transaction_id"]))


def test_every_answer_leaves_before_an_attempt_at_its_webhook_begins(tmp_path):
    urls = tuple(f"http://127.0.0.1:9/{number}" for number in range(5))

    async def story(sandbox, happened, lives):
        for _ in range(lives):
            async with sandbox.living():
                await asyncio.gather(*(sell(sandbox, happened) for _ in range(SALES)))
                await sandbox.get_world().wait_idle()

    # Without a file an application may be started again on its loop.
    for store, lives in ((None, 2), (tmp_path / "state.json", 1)):
        noting = Noting()
        sandbox = InProcess(build(Settings(store=store, webhooks=urls), sender=noting))
        asyncio.run(story(sandbox, noting.happened, lives))

        sold = [id for what, id in noting.happened if what == "answer"]
        assert len(sold) == lives * SALES
        for id in sold:
            of_it = [what for what, of in noting.happened if of == id]
            assert of_it[:2] == ["answer", "attempt"]


@pytest.mark.proves("spec 6.1.10")
def test_a_slow_and_a_dead_endpoint_hold_up_neither_others_nor_the_api(hooked, receiver):
    with receiving(bad.hang) as slow, refusing() as dead:
        for url in (slow.url, dead):
            hooked.add_endpoint(url=url)

        answers = [hooked.pay() for _ in range(10)]
        messages = [one["id"] for one in hooked.look("messages")["messages"]]
        receiver.wait_for(len(messages))

        tried = [(id, hooked.tried(id)["attempts"][0]["duration_ms"]) for id in messages]

    assert {one.status for one in answers} == {200}
    assert sorted(receiver.ids()) == sorted(messages)
    assert overtakers(tried, receiver.ids()) == []


def test_an_attempt_that_hangs_holds_up_the_next_for_half_a_second_only(hooked, receiver):
    gate = Event()
    receiver.behave([Answer(200, gate=gate), 200])
    hanging, *others = [hooked.emit() for _ in range(5)]

    receiver.wait_for(5)
    until(lambda: hooked.delivery(others[-1])["status"] == "delivered")
    meanwhile = hooked.delivery(hanging)
    gate.set()

    tried = [(id, hooked.tried(id)["attempts"][0]["duration_ms"]) for id in others]
    assert sorted(receiver.ids()) == sorted([hanging, *others])
    assert overtakers(tried, receiver.ids()) == []
    assert (meanwhile["status"], meanwhile["attempts"]) == ("pending", [])
    assert hooked.tried(hanging)["status"] == "delivered"


@pytest.fixture
def moving(hooked, receiver):
    """The clock is moved on while an attempt hangs until its gate opens."""
    with ThreadPoolExecutor(1) as pool:

        def move(*before, **span):
            gate = Event()
            receiver.behave([*before, Answer(200, gate=gate)])
            id = hooked.emit()
            for _ in before:
                hooked.tried(id)
            moved = pool.submit(hooked.pass_by, **span)
            receiver.wait_for(len(before) + 1)
            return id, moved, gate

        yield move


def test_a_retry_is_waited_for_when_time_is_moved(hooked, moving):
    id, moved, gate = moving(500, days=1)
    was_done = moved.done()
    gate.set()
    moved.result(UNTIL_S)

    assert was_done is False
    # Time does not go on before what is under way was answered.
    due = hooked.delivery(id)["attempts"][0]["at"], hooked.delivery(id)["attempts"][1]["at"]
    assert due[0] == NOW < due[1] < "2026-03-01T12:00:07"
    assert hooked.delivery(id)["status"] == "delivered"


def test_a_reset_ends_the_wait_for_an_attempt_that_hangs_and_the_clock_begins_again(hooked, moving):
    _, moved, _ = moving(500, seconds=6)

    hooked.manage("POST", "/reset").expect(200)
    moved.result(UNTIL_S)

    assert hooked.look("messages")["total"] == 0
    assert hooked.now == START


def test_disabling_an_endpoint_cancels_what_waits_and_what_hangs_is_noted(hooked, receiver):
    for late in (500, 410):
        gate, before = Event(), len(receiver.requests)
        receiver.behave(Answer(late, gate=gate))
        hanging, waiting = hooked.emit(), hooked.emit()
        receiver.wait_for(before + 1)

        hooked.manage("PATCH", "/endpoints/e", {"disabled": True}).expect(200)
        gate.set()
        delivery = hooked.tried(hanging)

        assert (delivery["status"], delivery["next_attempt_at"]) == ("canceled", None)
        assert delivery["attempts"][0]["status_code"] == late
        assert hooked.delivery(waiting)["status"] == "canceled"
        assert hooked.look("endpoints/e")["disabled_reason"] == "disabled by hand"
        assert len(receiver.requests) == before + 1
        hooked.manage("POST", "/endpoints/e/enable").expect(200)
