"""When webhooks come that a scenario delays, reorders or has come before the answer.

Source: assumed D22, D23, D24.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event
from time import time

import pytest

from sandbox.domain.instants import to_wire
from tests.driving import UNTIL_S, until
from tests.webhooks.hooked import START, Hooked, another_world, rule, triggers
from tests.webhooks.receiving import Answer, receiving

# --- delay_ms ---------------------------------------------------------------------------------


def test_others_pass_what_is_delayed_by_the_wall_in_a_frozen_world(hooked, receiver):
    hooked.run_rules(rule(delay_ms=600, times=1))
    receiver.behave([200, 200, 500, 200])
    started = time()
    delayed = hooked.emit()
    others = [hooked.emit(), hooked.emit()]
    receiver.wait_for(3)
    delivery = hooked.tried(delayed)
    hooked.pass_by(seconds=6)

    assert receiver.ids() == [*others, delayed, delayed]
    assert receiver.requests[2].at - started >= 0.6
    assert delivery["attempts"][0]["at"] == to_wire(START)
    # What was refused is tried again by the schedule.
    assert triggers(hooked.delivery(delayed)) == ["scenario", "scheduled"]


def test_moving_the_clock_does_not_wait_for_what_is_delayed(hooked, receiver):
    hooked.run_rules(rule(delay_ms=3_600_000))
    id = hooked.emit()

    hooked.pass_by(days=2)

    delivery = hooked.delivery(id)
    assert (delivery["status"], delivery["attempts"]) == ("pending", [])
    assert delivery["next_attempt_at"] is None
    assert receiver.requests == []


DISABLE = ("PATCH", "/endpoints/e", {"disabled": True})
ENABLE = ("POST", "/endpoints/e/enable")
RESET = ("POST", "/reset")
END = ("DELETE", "")


def test_a_delayed_webhook_does_not_go_to_an_endpoint_that_no_longer_wants_it(served):
    with receiving() as receiver:
        again = ("POST", "/endpoints", {"url": receiver.url, "id": "e"})
        for steps in ([DISABLE, ENABLE], [("DELETE", "/endpoints/e"), again], [RESET], [END]):
            hooked = another_world(served)
            hooked.add_endpoint(url=receiver.url, id="e")
            hooked.run_rules(rule(delay_ms=1_000, duplicate=2, contradict={"name": "third"}))
            canceled = hooked.emit(name="first")
            for step in steps:
                assert hooked.manage(*step).status < 300
            if steps != [END]:
                hooked.emit(name="second")
            if len(steps) > 1:
                assert hooked.delivery(canceled)["status"] == "canceled", steps
        receiver.wait_for(9)

    names = [one.json()["name"] for one in receiver.requests]
    assert sorted(names) == ["second"] * 6 + ["third"] * 3


def deliver(hooked: Hooked, id: str) -> None:
    hooked.resend(id)
    until(lambda: hooked.delivery(id)["status"] == "delivered")


def cancel_and_recover(hooked: Hooked, id: str) -> None:
    hooked.manage(*DISABLE)
    hooked.manage(*ENABLE)
    hooked.recover()


def test_actions_during_a_delay_count(served):
    """What was delivered does not come again, nor what was recovered; what only failed does."""
    acts = {deliver: [200], cancel_and_recover: [500, 200], Hooked.resend: [500, 200]}
    with ExitStack() as stack:
        receivers = [stack.enter_context(receiving(answers)) for answers in acts.values()]
        worlds = []
        for act, receiver in zip(acts, receivers, strict=True):
            hooked = another_world(served)
            hooked.add_endpoint(url=receiver.url, id="e")
            hooked.run_rules(rule(delay_ms=1_000, duplicate=2))
            first = hooked.emit()
            act(hooked, first)
            hooked.tried(first)
            worlds.append((hooked, first, hooked.emit()))
        for hooked, _, later in worlds:
            hooked.tried(later, times=2)

    delivered, recovered, failed = (hooked.delivery(first) for hooked, first, _ in worlds)
    assert triggers(delivered) == triggers(recovered) == ["manual"]
    assert (failed["status"], triggers(failed)) == ("delivered", ["manual", "scenario", "scenario"])
    assert [len(receiver.requests) for receiver in receivers] == [3, 3, 5]


# --- before_answer ----------------------------------------------------------------------------

SALE = "transaction.sale"
BEFORE = rule(when={"event": SALE}, before_answer=True)


@pytest.fixture
def paying(hooked, receiver):
    """Begins a sale whose webhook the receiver does not answer before the `gate` opens."""
    hooked.run_rules(BEFORE)
    hooked.manage("PATCH", "/endpoints/e", {"event_types": [SALE]}).expect(200)
    with ThreadPoolExecutor(1) as pool:

        def pay(status: int = 200):
            gate = Event()
            receiver.behave([Answer(status, gate=gate), 200])
            seen = len(receiver.requests)
            future = pool.submit(hooked.pay)
            receiver.wait_for(seen + 1)
            return future, gate

        yield pay


def sales(hooked: Hooked) -> list[dict]:
    """How the webhooks of sales fare."""
    listed = hooked.manage("GET", f"/messages?event_type={SALE}").json()["messages"]
    return [one for message in listed for one in message["deliveries"]]


@pytest.mark.parametrize("status", [200, 500])
def test_the_answer_waits_until_every_endpoint_was_tried(hooked, paying, status):
    with receiving() as quick:
        hooked.add_endpoint(url=quick.url, event_types=[SALE])
        payment, gate = paying(status)
        quick.wait_for(1)
        until(lambda: [one for one in sales(hooked) if one["status"] == "delivered"])
        # The server has had the time to answer: it answers others, and has it in its journal.
        journal = hooked.look("requests")["requests"]
        was_answered = payment.done()
        gate.set()

        assert payment.result(UNTIL_S).status == 200
    assert ([one["status"] for one in journal], was_answered) == ([200], False)
    assert [triggers(one) for one in sales(hooked)] == [["scenario"], ["scenario"]]


def test_an_answer_waits_for_the_attempt_that_its_own_request_began(hooked, paying):
    hooked.run_rules(BEFORE | {"then": {"before_answer": True, "times": 1}})
    payment, gate = paying()
    (message,) = hooked.manage("GET", f"/messages?event_type={SALE}").json()["messages"]
    hooked.resend(message["id"])
    until(lambda: sales(hooked)[0]["status"] == "delivered")

    assert hooked.pay().status == 200
    assert not payment.done()
    gate.set()
    assert payment.result(UNTIL_S).status == 200


def test_the_first_duplicate_comes_before_the_answer(hooked, receiver):
    hooked.run_rules(rule(when={"event": SALE}, before_answer=True, duplicate=2))
    hooked.manage("PATCH", "/endpoints/e", {"event_types": [SALE]}).expect(200)
    receiver.behave([200, Answer(gate=Event())])

    assert hooked.pay().status == 200
    assert [triggers(one) for one in sales(hooked)] == [["scenario"]]
    receiver.wait_for(2)


def test_an_answer_does_not_wait_for_what_is_canceled_or_forgotten(hooked, paying):
    """The webhook of the sale has its turn after that of its creation, which hangs."""
    hooked.manage("PATCH", "/endpoints/e", {"event_types": []}).expect(200)
    for step in (DISABLE, RESET, END):
        payment, _ = paying()
        hooked.manage(*step)

        assert payment.result(UNTIL_S).status == 200
        if step is DISABLE:
            assert [(one["status"], one["attempts"]) for one in sales(hooked)] == [("canceled", [])]
            hooked.manage(*ENABLE)
