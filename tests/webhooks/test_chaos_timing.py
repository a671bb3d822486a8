"""When webhooks come that a scenario delays, reorders or has come before the answer.

Source: assumed D22, D23, D24.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import time

import pytest

from sandbox.domain.instants import to_wire
from tests.webhooks.hooked import START, Hooked, resend, rule, triggers, types, until
from tests.webhooks.receiving import Answer, receiving

FOR_AN_HOUR = {"delay_ms": 3_600_000}


# --- delay_ms ---------------------------------------------------------------------------------


def test_others_pass_what_is_delayed_and_the_wall_counts_in_a_frozen_world(hooked):
    hooked.run(rule(delay_ms=150, times=1))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        started = time()
        delayed = hooked.emit()
        others = [hooked.emit() for _ in range(3)]
        receiver.wait_for(4)
        delivery = hooked.tried(delayed, "e")

    assert receiver.ids() == [*others, delayed]
    assert 0.15 <= receiver.requests[3].at - started < 2
    assert (delivery["status"], triggers(delivery)) == ("delivered", ["scenario"])
    assert delivery["attempts"][0]["at"] == to_wire(START)


def test_moving_the_clock_does_not_wait_for_what_is_delayed(hooked):
    hooked.run(rule(**FOR_AN_HOUR))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()

        hooked.pass_by(days=2)

    delivery = hooked.delivery(id, "e")
    assert (delivery["status"], delivery["attempts"]) == ("pending", [])
    assert delivery["next_attempt_at"] is None
    assert receiver.requests == []


def test_what_is_delayed_and_refused_is_tried_again_by_the_schedule(hooked):
    hooked.run(rule(delay_ms=50))
    with receiving([500, 200]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        hooked.tried(id, "e")
        hooked.pass_by(seconds=6)

    delivery = hooked.delivery(id, "e")
    assert (delivery["status"], triggers(delivery)) == ("delivered", ["scenario", "scheduled"])


def cancel(hooked: Hooked, how: str, url: str) -> None:
    if how == "disable":
        hooked.ask("PATCH", "/endpoints/e", {"disabled": True}, status=200)
        hooked.ask("POST", "/endpoints/e/enable", status=200)
    elif how == "remove":
        hooked.ask("DELETE", "/endpoints/e", status=204)
        hooked.endpoint(url, id="e")
    else:
        hooked.ask("POST", "/reset", status=200)


@pytest.mark.parametrize("how", ["disable", "remove", "reset"])
def test_what_is_delayed_does_not_come_to_an_endpoint_that_no_longer_wants_it(hooked, how):
    hooked.run(rule(delay_ms=100, duplicate=2, contradict={"name": "third"}))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        canceled = hooked.emit(name="first")
        cancel(hooked, how, receiver.url)
        hooked.emit(name="second")
        receiver.wait_for(3)

    assert [one["name"] for one in receiver.bodies()] == ["second", "second", "third"]
    if how != "reset":
        assert hooked.delivery(canceled, "e")["status"] == "canceled"


def test_what_is_delayed_does_not_outlive_its_world(served, hooked):
    created = served.control("POST", "/worlds", json={"clock": to_wire(START)}).json()
    other = Hooked(served, created["id"], created)
    with receiving() as receiver:
        for one in (other, hooked):
            one.run(rule(delay_ms=100))
            one.endpoint(receiver.url, id="e")
        other.emit(name="first")
        served.control("DELETE", f"/worlds/{other.id}")
        hooked.emit(name="second")
        receiver.wait_for(1)

    assert [one["name"] for one in receiver.bodies()] == ["second"]


def test_what_was_delivered_by_hand_during_its_delay_does_not_come_again(hooked):
    hooked.run(rule(delay_ms=200, duplicate=2))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        first = hooked.emit()
        resend(hooked, first)
        until(lambda: hooked.delivery(first, "e")["status"] == "delivered")
        second = hooked.emit()
        receiver.wait_for(3)

    assert receiver.ids() == [first, second, second]


def test_what_was_canceled_and_recovered_during_its_delay_is_tried_once(hooked):
    hooked.run(rule(delay_ms=200))
    with receiving(500) as receiver:
        hooked.endpoint(receiver.url, id="e")
        first = hooked.emit()
        cancel(hooked, "disable", receiver.url)
        hooked.ask("POST", "/endpoints/e/recover", {"since": to_wire(START)}, status=202)
        hooked.tried(first, "e")
        second = hooked.emit()
        receiver.wait_for(2)

    assert receiver.ids() == [first, second]


def test_a_failed_attempt_by_hand_leaves_what_is_delayed_to_come(hooked):
    hooked.run(rule(delay_ms=200))
    with receiving([500, 200]) as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        resend(hooked, id)
        delivery = hooked.tried(id, "e", times=2)

    assert (delivery["status"], triggers(delivery)) == ("delivered", ["manual", "scenario"])


# --- order ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "order", "expected"),
    [
        ("transaction.sale", "first", ["sale", "create", "opened"]),
        ("transaction.create", "last", ["opened", "sale", "create"]),
        ("transaction.create", "first", ["create", "opened", "sale"]),
    ],
)
def test_an_order_is_the_place_among_the_webhooks_of_one_request(hooked, event, order, expected):
    hooked.run(rule(when={"event": event}, order=order))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        hooked.pay()
        receiver.wait_for(3)
        hooked.pay()
        receiver.wait_for(5)

    names = [one.partition(".")[2] for one in types(hooked, receiver.requests)]
    assert names == expected + [one for one in expected if one != "opened"]
    moved = next(one for one in receiver.requests if event in types(hooked, [one]))
    assert triggers(hooked.tried(moved.id, "e")) == ["scenario"]


# --- before_answer ----------------------------------------------------------------------------


SALE = "transaction.sale"
BEFORE = rule(when={"event": SALE}, before_answer=True)


def sales(hooked: Hooked) -> list[dict]:
    """How the webhooks of sales fare."""
    listed = hooked.ask("GET", f"/messages?event_type={SALE}").json()["messages"]
    return [one for message in listed for one in message["deliveries"]]


@pytest.mark.parametrize("status", [200, 500])
def test_the_answer_waits_until_the_webhook_was_tried_whatever_came_of_it(hooked, status):
    hooked.run(BEFORE)
    gate = Event()
    with receiving(Answer(status, gate=gate)) as receiver, ThreadPoolExecutor(1) as pool:
        hooked.endpoint(receiver.url, id="e", event_types=[SALE])
        paying = pool.submit(hooked.pay)
        receiver.wait_for(1)
        # The server has had the time to answer: it answers others, and has it in its journal.
        journal = hooked.ask("GET", "/requests").json()["requests"]
        was_answered = paying.done()
        gate.set()
        answer = paying.result(5)
        (delivery,) = sales(hooked)

    assert [one["status"] for one in journal] == [200]
    assert (was_answered, answer.status_code) == (False, 200)
    assert triggers(delivery) == ["scenario"]


def test_without_such_a_rule_the_answer_waits_for_no_webhook(hooked):
    hooked.run(rule(when={"event": SALE}, duplicate=2))
    with receiving(Answer(gate=Event())) as receiver:
        hooked.endpoint(receiver.url, id="e", event_types=[SALE])

        assert hooked.pay().status_code == 200
        assert [one["attempts"] for one in sales(hooked)] == [[]]


def test_an_answer_waits_for_the_webhooks_of_its_own_request_only(hooked):
    hooked.run(rule(before_answer=True, times=1))
    gate = Event()
    with receiving([Answer(gate=gate), 200]) as receiver, ThreadPoolExecutor(1) as pool:
        hooked.endpoint(receiver.url, id="e", event_types=[SALE])
        paying = pool.submit(hooked.pay)
        receiver.wait_for(1)

        assert hooked.pay().status_code == 200
        assert not paying.done()
        gate.set()
        assert paying.result(5).status_code == 200


def test_an_answer_waits_for_every_endpoint(hooked):
    hooked.run(BEFORE)
    gate = Event()
    with (
        receiving() as quick,
        receiving(Answer(gate=gate)) as slow,
        ThreadPoolExecutor(1) as pool,
    ):
        for receiver in (quick, slow):
            hooked.endpoint(receiver.url, event_types=[SALE])
        paying = pool.submit(hooked.pay)
        quick.wait_for(1)
        slow.wait_for(1)
        until(lambda: [one for one in sales(hooked) if one["status"] == "delivered"])
        was_answered = paying.done()
        gate.set()

        assert paying.result(5).status_code == 200
        assert was_answered is False


def test_of_duplicates_the_first_comes_before_the_answer(hooked):
    hooked.run(rule(before_answer=True, duplicate=2))
    with receiving([200, Answer(gate=Event())]) as receiver:
        hooked.endpoint(receiver.url, id="e", event_types=[SALE])
        answer = hooked.pay()
        (delivery,) = sales(hooked)
        receiver.wait_for(2)

    assert answer.status_code == 200
    assert triggers(delivery) == ["scenario"]


@pytest.mark.parametrize(("method", "path"), [("POST", "/reset"), ("DELETE", "")])
def test_an_answer_does_not_wait_for_what_is_forgotten(hooked, method, path):
    hooked.run(BEFORE)
    with receiving(Answer(gate=Event())) as receiver, ThreadPoolExecutor(1) as pool:
        hooked.endpoint(receiver.url, id="e", event_types=[SALE])
        paying = pool.submit(hooked.pay)
        receiver.wait_for(1)
        hooked.ask(method, path)

        assert paying.result(5).status_code == 200


def test_an_answer_does_not_wait_for_what_is_canceled(hooked):
    hooked.run(BEFORE)
    with receiving(Answer(gate=Event())) as receiver, ThreadPoolExecutor(1) as pool:
        hooked.endpoint(receiver.url, id="e")
        paying = pool.submit(hooked.pay)
        receiver.wait_for(1)
        hooked.ask("PATCH", "/endpoints/e", {"disabled": True}, status=200)

        assert paying.result(5).status_code == 200

    assert [(one["status"], one["attempts"]) for one in sales(hooked)] == [("canceled", [])]


def test_an_unrequested_event_has_no_answer_to_come_before(hooked):
    hooked.run(rule(before_answer=True))
    with receiving(Answer(gate=Event())) as receiver:
        hooked.endpoint(receiver.url, id="e")

        hooked.emit()

        receiver.wait_for(1)
