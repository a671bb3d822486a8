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
from tests.conftest import NOW
from tests.driving import InProcess
from tests.support.payments import ask_on_loop
from tests.webhooks import misbehaving as bad
from tests.webhooks.calling import living, world_of
from tests.webhooks.hooked import until
from tests.webhooks.misbehaving import misbehaving, refusing
from tests.webhooks.receiving import Answer, receiving

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


@pytest.mark.parametrize("store", [None, "state.json"])
def test_every_answer_leaves_before_an_attempt_at_its_webhook_begins(tmp_path, store):
    noting = Noting()
    urls = tuple(f"http://127.0.0.1:9/{number}" for number in range(5))
    settings = Settings(store=store and tmp_path / store, webhooks=urls)
    sandbox = InProcess(build(settings, sender=noting))
    sale = {"amount": 100, "terminal_id": world_of(sandbox).cast.terminals["merchant"]}

    async def sell():
        answer = await ask_on_loop(sandbox, "POST", "/v3/payment", sale, by="merchant")
        noting.happened.append(("answer", answer.json()["transaction_id"]))

    async def story():
        async with living(sandbox):
            await asyncio.gather(*(sell() for _ in range(SALES)))
            await world_of(sandbox).wait_idle()

    asyncio.run(story())

    sold = [id for what, id in noting.happened if what == "answer"]
    assert len(sold) == SALES
    for id in sold:
        assert [what for what, of in noting.happened if of == id][:2] == ["answer", "attempt"]


def emitted(hooked):
    """The ids of all messages of the world, in order."""
    return [one["id"] for one in hooked.ask("GET", "/messages").json()["messages"]]


@pytest.mark.proves("spec 6.1.10")
def test_first_attempts_come_in_the_order_of_the_events(hooked, receiver):
    with receiving(Answer(200, delay_s=0.005)) as other:
        hooked.endpoint(other.url)
        for _ in range(10):
            assert hooked.pay().status_code == 200
        messages = emitted(hooked)
        receiver.wait_for(len(messages))
        other.wait_for(len(messages))

    assert len(messages) > 20
    assert receiver.ids() == other.ids() == messages


def test_a_slow_and_a_dead_endpoint_hold_up_neither_others_nor_the_api(hooked, receiver):
    with misbehaving(bad.hang) as slow, refusing() as dead:
        for url in (slow.url, dead):
            hooked.endpoint(url)

        answers = [hooked.pay() for _ in range(20)]
        messages = emitted(hooked)
        receiver.wait_for(len(messages))

    assert {one.status_code for one in answers} == {200}
    assert max(one.elapsed.total_seconds() for one in answers) < 0.5
    assert receiver.ids() == messages


def test_an_attempt_that_hangs_holds_up_the_next_for_half_a_second_only(hooked, receiver):
    gate = Event()
    receiver.behave([Answer(200, gate=gate), 200])
    hanging, *others = [hooked.emit() for _ in range(5)]

    receiver.wait_for(5)
    until(lambda: hooked.delivery(others[-1])["status"] == "delivered")
    meanwhile = hooked.delivery(hanging)
    gate.set()

    assert receiver.ids() == [hanging, *others]
    assert (meanwhile["status"], meanwhile["attempts"]) == ("pending", [])
    assert hooked.tried(hanging)["status"] == "delivered"


# --- moving the clock -------------------------------------------------------------------------


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
    id, moved, gate = moving(500, seconds=6)
    was_done = moved.done()
    gate.set()
    moved.result(5)

    assert was_done is False
    assert hooked.delivery(id)["status"] == "delivered"


def test_time_does_not_go_on_before_what_is_under_way_was_answered(hooked, moving):
    id, moved, gate = moving(days=1)
    gate.set()
    moved.result(5)

    assert [one["at"] for one in hooked.delivery(id)["attempts"]] == [NOW]


def test_a_reset_ends_the_wait_for_an_attempt_that_hangs(hooked, moving):
    _, moved, _ = moving(500, seconds=6)

    hooked.ask("POST", "/reset", status=200)
    moved.result(5)

    assert hooked.ask("GET", "/messages").json()["total"] == 0


# --- what is canceled -------------------------------------------------------------------------


@pytest.mark.parametrize("late", [500, 410])
def test_disabling_an_endpoint_cancels_what_waits_and_what_hangs_is_noted(hooked, receiver, late):
    gate = Event()
    receiver.behave(Answer(late, gate=gate))
    hanging, waiting = hooked.emit(), hooked.emit()
    receiver.wait_for(1)

    hooked.ask("PATCH", "/endpoints/e", {"disabled": True}, status=200)
    gate.set()
    delivery = hooked.tried(hanging)

    assert (delivery["status"], delivery["next_attempt_at"]) == ("canceled", None)
    assert delivery["attempts"][0]["status_code"] == late
    assert hooked.delivery(waiting)["status"] == "canceled"
    assert hooked.shown("e")["disabled_reason"] == "disabled by hand"
    assert len(receiver.requests) == 1
