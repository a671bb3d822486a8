"""Endpoints do not hold up each other, nor the API; each gets its messages in order."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.webhooks import misbehaving as bad
from tests.webhooks.hooked import until
from tests.webhooks.misbehaving import misbehaving, refusing
from tests.webhooks.receiving import Answer, receiving


def emitted(hooked):
    """The ids of all messages of the world, in order."""
    return [one["id"] for one in hooked.ask("GET", "/messages").json()["messages"]]


@pytest.mark.proves("spec 6.1.10")
def test_first_attempts_come_in_the_order_of_the_events(hooked):
    with receiving() as one, receiving(Answer(200, delay_s=0.005)) as other:
        hooked.endpoint(one.url)
        hooked.endpoint(other.url)

        for _ in range(10):
            assert hooked.pay().status_code == 200
        messages = emitted(hooked)
        one.wait_for(len(messages))
        other.wait_for(len(messages))

    assert len(messages) > 20
    assert one.ids() == other.ids() == messages


def test_a_slow_and_a_dead_endpoint_hold_up_neither_others_nor_the_api(hooked):
    with misbehaving(bad.hang) as slow, refusing() as dead, receiving() as healthy:
        for url in (slow.url, dead, healthy.url):
            hooked.endpoint(url)

        answers = [hooked.pay() for _ in range(20)]
        messages = emitted(hooked)
        healthy.wait_for(len(messages))

    assert {one.status_code for one in answers} == {200}
    assert max(one.elapsed.total_seconds() for one in answers) < 0.5
    assert healthy.ids() == messages


def test_an_attempt_that_hangs_holds_up_the_next_for_half_a_second_only(hooked):
    gate = Event()
    with receiving([Answer(200, gate=gate), 200]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        hanging, *others = [hooked.emit() for _ in range(5)]

        receiver.wait_for(5)
        until(lambda: hooked.delivery(others[-1], "e")["status"] == "delivered")
        meanwhile = hooked.delivery(hanging, "e")
        gate.set()
        delivery = hooked.tried(hanging, "e")

    assert receiver.ids() == [hanging, *others]
    assert (meanwhile["status"], meanwhile["attempts"]) == ("pending", [])
    assert delivery["status"] == "delivered"


def test_a_retry_is_waited_for_when_time_is_moved(hooked):
    gate = Event()
    with receiving([500, Answer(200, gate=gate)]) as receiver, ThreadPoolExecutor(1) as pool:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        hooked.tried(id, "e")

        moving = pool.submit(hooked.pass_by, seconds=6)
        receiver.wait_for(2)
        was_done = moving.done()
        gate.set()
        moving.result(5)

    assert was_done is False
    assert hooked.delivery(id, "e")["status"] == "delivered"


def test_a_reset_ends_the_wait_for_an_attempt_that_hangs(hooked):
    gate = Event()
    with receiving([500, Answer(200, gate=gate)]) as receiver, ThreadPoolExecutor(1) as pool:
        hooked.endpoint(receiver.url, id="e")
        hooked.tried(hooked.emit(), "e")
        moving = pool.submit(hooked.pass_by, seconds=6)
        receiver.wait_for(2)

        hooked.ask("POST", "/reset", status=200)
        moving.result(5)

        gate.set()
    assert hooked.ask("GET", "/messages").json()["total"] == 0


def test_deleting_or_disabling_an_endpoint_cancels_what_waits_and_what_hangs_is_noted(hooked):
    gate = Event()
    with receiving(Answer(500, gate=gate)) as receiver:
        hooked.endpoint(receiver.url, id="e")
        hanging, waiting = hooked.emit(), hooked.emit()
        receiver.wait_for(1)

        hooked.ask("PATCH", "/endpoints/e", {"disabled": True}, status=200)
        gate.set()
        delivery = hooked.tried(hanging, "e")

    assert (delivery["status"], delivery["next_attempt_at"]) == ("canceled", None)
    assert delivery["attempts"][0]["status_code"] == 500
    assert hooked.delivery(waiting, "e")["status"] == "canceled"
    assert len(receiver.requests) == 1


def test_a_late_410_does_not_change_why_an_endpoint_was_disabled(hooked):
    gate = Event()
    with receiving(Answer(410, gate=gate)) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        receiver.wait_for(1)

        hooked.ask("PATCH", "/endpoints/e", {"disabled": True}, status=200)
        gate.set()
        hooked.tried(id, "e")

    assert hooked.shown("e")["disabled_reason"] == "disabled by hand"
