"""When webhooks come that a scenario delays, reorders or has come before the answer.

Source: assumed D22, D23, D24.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import time

import pytest

from sandbox.domain.instants import to_wire
from tests.webhooks.hooked import START, Hooked, recover, resend, rule, triggers, types, until
from tests.webhooks.receiving import Answer, receiving

# --- delay_ms ---------------------------------------------------------------------------------


def test_others_pass_what_is_delayed_and_the_wall_counts_in_a_frozen_world(hooked, receiver):
    hooked.run(rule(delay_ms=600, times=1))
    started = time()
    delayed = hooked.emit()
    others = [hooked.emit(), hooked.emit()]
    receiver.wait_for(3)
    delivery = hooked.tried(delayed)

    assert receiver.ids() == [*others, delayed]
    assert 0.6 <= receiver.requests[2].at - started < 5
    assert (delivery["status"], triggers(delivery)) == ("delivered", ["scenario"])
    assert delivery["attempts"][0]["at"] == to_wire(START)


def test_moving_the_clock_does_not_wait_for_what_is_delayed(hooked, receiver):
    hooked.run(rule(delay_ms=3_600_000))
    id = hooked.emit()

    hooked.pass_by(days=2)

    delivery = hooked.delivery(id)
    assert (delivery["status"], delivery["attempts"]) == ("pending", [])
    assert delivery["next_attempt_at"] is None
    assert receiver.requests == []


def test_what_is_delayed_and_refused_is_tried_again_by_the_schedule(hooked, receiver):
    hooked.run(rule(delay_ms=50))
    receiver.behave([500, 200])
    id = hooked.emit()
    hooked.tried(id)
    hooked.pass_by(seconds=6)

    delivery = hooked.delivery(id)
    assert (delivery["status"], triggers(delivery)) == ("delivered", ["scenario", "scheduled"])


def disable_and_enable(hooked: Hooked) -> None:
    hooked.ask("PATCH", "/endpoints/e", {"disabled": True}, status=200)
    hooked.ask("POST", "/endpoints/e/enable", status=200)


def remove_and_add(hooked: Hooked) -> None:
    url = hooked.shown("e")["url"]
    hooked.ask("DELETE", "/endpoints/e", status=204)
    hooked.endpoint(url, id="e")


def reset(hooked: Hooked) -> None:
    hooked.ask("POST", "/reset", status=200)


@pytest.mark.parametrize("cancel", [disable_and_enable, remove_and_add, reset])
def test_what_is_delayed_does_not_come_to_an_endpoint_that_no_longer_wants_it(
    hooked, receiver, cancel
):
    hooked.run(rule(delay_ms=500, duplicate=2, contradict={"name": "third"}))
    canceled = hooked.emit(name="first")
    cancel(hooked)
    emitted = time()
    hooked.emit(name="second")
    receiver.wait_for(3)

    assert receiver.requests[0].at - emitted >= 0.5
    assert [one["name"] for one in receiver.bodies()] == ["second", "second", "third"]
    if cancel is not reset:
        assert hooked.delivery(canceled)["status"] == "canceled"


def test_what_is_delayed_does_not_outlive_its_world(served, hooked, receiver):
    created = served.control("POST", "/worlds", json={"clock": to_wire(START)}).json()
    other = Hooked(served, created["id"], created)
    other.endpoint(receiver.url, id="e")
    for one in (other, hooked):
        one.run(rule(delay_ms=500))
    other.emit(name="first")
    served.control("DELETE", f"/worlds/{other.id}")
    hooked.emit(name="second")
    receiver.wait_for(1)

    assert [one["name"] for one in receiver.bodies()] == ["second"]


def test_what_was_delivered_by_hand_during_its_delay_does_not_come_again(hooked, receiver):
    hooked.run(rule(delay_ms=500, duplicate=2))
    first = hooked.emit()
    resend(hooked, first)
    until(lambda: hooked.delivery(first)["status"] == "delivered")
    second = hooked.emit()
    receiver.wait_for(3)

    assert receiver.ids() == [first, second, second]


def test_what_was_canceled_and_recovered_during_its_delay_is_tried_once(hooked, receiver):
    hooked.run(rule(delay_ms=500))
    receiver.behave(500)
    first = hooked.emit()
    disable_and_enable(hooked)
    recover(hooked)
    hooked.tried(first)
    second = hooked.emit()
    receiver.wait_for(2)

    assert receiver.ids() == [first, second]


def test_a_failed_attempt_by_hand_leaves_what_is_delayed_to_come(hooked, receiver):
    hooked.run(rule(delay_ms=500))
    receiver.behave([500, 200])
    id = hooked.emit()
    resend(hooked, id)
    delivery = hooked.tried(id, times=2)

    assert (delivery["status"], triggers(delivery)) == ("delivered", ["manual", "scenario"])


# --- order ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "order", "expected"),
    [
        ("transaction.sale", "first", ["sale", "create", "opened"]),
        ("transaction.create", "last", ["opened", "sale", "create"]),
    ],
)
def test_an_order_is_the_place_among_the_webhooks_of_one_request(
    hooked, receiver, event, order, expected
):
    hooked.run(rule(when={"event": event}, order=order))
    hooked.pay()
    receiver.wait_for(3)
    hooked.pay()
    receiver.wait_for(5)

    names = [one.partition(".")[2] for one in types(hooked, receiver.requests)]
    assert names == expected + [one for one in expected if one != "opened"]
    moved = next(one for one in receiver.requests if event in types(hooked, [one]))
    assert triggers(hooked.tried(moved.id)) == ["scenario"]


# --- before_answer ----------------------------------------------------------------------------

SALE = "transaction.sale"
BEFORE = rule(when={"event": SALE}, before_answer=True)


@pytest.fixture
def paying(hooked, receiver):
    """Begins a sale whose webhook the receiver does not answer before the `gate` opens."""
    hooked.run(BEFORE)
    hooked.ask("PATCH", "/endpoints/e", {"event_types": [SALE]}, status=200)
    with ThreadPoolExecutor(1) as pool:

        def pay(status: int = 200):
            gate = Event()
            receiver.behave([Answer(status, gate=gate), 200])
            future = pool.submit(hooked.pay)
            receiver.wait_for(1)
            return future, gate

        yield pay


def sales(hooked: Hooked) -> list[dict]:
    """How the webhooks of sales fare."""
    listed = hooked.ask("GET", f"/messages?event_type={SALE}").json()["messages"]
    return [one for message in listed for one in message["deliveries"]]


@pytest.mark.parametrize("status", [200, 500])
def test_the_answer_waits_until_the_webhook_was_tried_whatever_came_of_it(hooked, paying, status):
    payment, gate = paying(status)
    # The server has had the time to answer: it answers others, and has it in its journal.
    journal = hooked.ask("GET", "/requests").json()["requests"]
    was_answered = payment.done()
    gate.set()
    answer = payment.result(5)

    assert [one["status"] for one in journal] == [200]
    assert (was_answered, answer.status_code) == (False, 200)
    assert [triggers(one) for one in sales(hooked)] == [["scenario"]]


def test_without_such_a_rule_the_answer_waits_for_no_webhook(hooked, receiver):
    hooked.run(rule(when={"event": SALE}, duplicate=2))
    receiver.behave(Answer(gate=Event()))

    assert hooked.pay().status_code == 200
    assert [one["attempts"] for one in sales(hooked)] == [[]]


def test_an_answer_waits_for_the_webhooks_of_its_own_request_only(hooked, paying):
    hooked.run(BEFORE | {"then": {"before_answer": True, "times": 1}})
    payment, gate = paying()

    assert hooked.pay().status_code == 200
    assert not payment.done()
    gate.set()
    assert payment.result(5).status_code == 200


def test_an_answer_waits_for_every_endpoint(hooked, paying):
    with receiving() as quick:
        hooked.endpoint(quick.url, event_types=[SALE])
        payment, gate = paying()
        quick.wait_for(1)
        until(lambda: [one for one in sales(hooked) if one["status"] == "delivered"])
        was_answered = payment.done()
        gate.set()

        assert payment.result(5).status_code == 200
        assert was_answered is False


def test_an_attempt_by_hand_is_not_the_one_for_which_the_answer_waits(hooked, paying):
    payment, gate = paying()
    (message,) = hooked.ask("GET", f"/messages?event_type={SALE}").json()["messages"]
    resend(hooked, message["id"])
    until(lambda: sales(hooked)[0]["status"] == "delivered")

    assert not payment.done()
    gate.set()
    assert payment.result(5).status_code == 200


def test_of_duplicates_the_first_comes_before_the_answer(hooked, receiver):
    hooked.run(rule(when={"event": SALE}, before_answer=True, duplicate=2))
    hooked.ask("PATCH", "/endpoints/e", {"event_types": [SALE]}, status=200)
    receiver.behave([200, Answer(gate=Event())])

    assert hooked.pay().status_code == 200
    assert [triggers(one) for one in sales(hooked)] == [["scenario"]]
    receiver.wait_for(2)


@pytest.mark.parametrize(("method", "path"), [("POST", "/reset"), ("DELETE", "")])
def test_an_answer_does_not_wait_for_what_is_forgotten(hooked, paying, method, path):
    payment, _ = paying()
    hooked.ask(method, path)

    assert payment.result(5).status_code == 200


def test_an_answer_does_not_wait_for_what_is_canceled(hooked, paying):
    """The webhook of the sale has its turn after that of its creation, which hangs."""
    hooked.ask("PATCH", "/endpoints/e", {"event_types": []}, status=200)
    payment, _ = paying()
    hooked.ask("PATCH", "/endpoints/e", {"disabled": True}, status=200)

    assert payment.result(5).status_code == 200
    assert [(one["status"], one["attempts"]) for one in sales(hooked)] == [("canceled", [])]


def test_an_unrequested_event_has_no_answer_to_come_before(hooked, receiver):
    hooked.run(rule(before_answer=True))
    receiver.behave(Answer(gate=Event()))

    hooked.emit()

    receiver.wait_for(1)
