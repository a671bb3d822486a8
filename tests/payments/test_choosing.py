"""Who chooses an outcome, who comes first, and what nearly chose another. Source: assumed D4."""

import pytest

from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import Operation, Queued
from sandbox.scenarios.outcome_choice import AttemptFacts, choose
from sandbox.scenarios.queue import Queue
from tests.directory.making import terminal_id
from tests.support.payments import (
    block_terminal,
    chosen,
    operate,
    paid_id,
    pay,
    ready_for,
    refused,
)

ORDINARY = "approved; source=default; rule=default"


def facts(operation=Operation.SALE, **more):
    """An attempt that nothing but the default chooses for, unless told otherwise."""
    given = {"amount": 1000, "card": CARDS["tok_visa_credit"], "terminal_id": "t-1"} | more
    return AttemptFacts(operation=operation, **given)


def queue_of(*entries):
    def store(others):
        queue.entries = others

    queue = Queue(store, entries)
    return queue


def told(choice):
    return choice.key, choice.source, choice.rule


def test_near_misses_stand_in_the_order_in_which_they_were_asked():
    queue = queue_of(Queued(outcome="capture_declined"))

    choice = choose(
        facts(header="refund_declined", terminal_outcome="already_reversed", amount=900076), queue
    )

    assert told(choice) == ("approved", "default", "default")
    assert [near.split(":")[0].split(" ")[0] for near in choice.near_misses] == [
        *("header", "queue", "terminal", "amount"),
    ]


# --- the queue --------------------------------------------------------------------------------

WAITING = [
    (
        Queued(outcome="general_error", operation=Operation.CAPTURE),
        *(facts(), facts(Operation.CAPTURE), "waits for capture"),
    ),
    (
        Queued(outcome="lost_card", amount=1234),
        *(facts(amount=1233), facts(amount=1234), "waits for the amount 1234"),
    ),
    (
        Queued(outcome="lost_card", amount=1234),
        *(facts(amount=None), facts(amount=1234), "waits for the amount 1234"),
    ),
    (
        Queued(outcome="refund_declined"),
        *(facts(), facts(Operation.REFUND), "refund_declined is not for sale"),
    ),
]


@pytest.mark.parametrize(("entry", "other", "fitting", "why"), WAITING)
def test_an_entry_waits_for_its_operation_and_its_amount(entry, other, fitting, why):
    queue = queue_of(entry)

    passed, taken = choose(other, queue), choose(fitting, queue)

    assert told(passed) == ("approved", "default", "default")
    assert passed.near_misses == [f"queue: {why}"]
    assert told(taken) == (entry.outcome, "queue", "queue")


def test_the_first_entry_that_fits_is_taken_past_those_that_do_not():
    capture = Queued(outcome="general_error", operation=Operation.CAPTURE)
    later = Queued(fault="drop_before")
    queue = queue_of(capture, Queued(outcome="lost_card"), later)

    choice = choose(facts(), queue)

    assert (choice.key, choice.near_misses) == ("lost_card", ["queue: waits for capture"])
    assert list(queue.entries) == [capture, later]
    # One without an outcome is an approval with a fault.
    fault = choose(facts(card=CARDS["tok_declined"]), queue)
    assert (told(fault), fault.outcome.key) == (("drop_before", "queue", "queue"), "approved")


# --- the same over HTTP -----------------------------------------------------------------------


def world_of(sandbox):
    return sandbox.sandbox.worlds.default


@pytest.mark.proves("assumed D4, 6.3")
def test_the_sources_of_a_sale_come_in_their_order(sandbox):
    world = world_of(sandbox)
    world.queue.add(Queued(outcome="stolen_card"))
    id = terminal_id(sandbox, "merchant")
    world.put_state(terminal_outcomes={id: "pin_required"})

    answers = [
        pay(sandbox, 900055, card="tok_expired", outcome="lost_card"),
        pay(sandbox, 900055, card="tok_expired"),
        pay(sandbox, 900055, card="tok_expired"),
        pay(sandbox, 900055),
    ]
    world.put_state(terminal_outcomes={})
    answers += [pay(sandbox, 900055), pay(sandbox, 1000)]

    assert [chosen(answer) for answer in answers] == [
        "lost_card; source=header; rule=header",
        "stolen_card; source=queue; rule=queue",
        "expired_card; source=card; rule=tok_expired",
        f"pin_required; source=terminal; rule={id}",
        "incorrect_pin; source=amount; rule=amount:900055",
        ORDINARY,
    ]


@pytest.mark.proves("assumed D4")
def test_the_sources_of_a_refund_come_in_their_order(sandbox):
    world = world_of(sandbox)
    id = ready_for(sandbox, "refund", 2_000_000, card="tok_refund_fails")
    world.queue.add(Queued(outcome="general_error", operation=Operation.REFUND))
    other = ready_for(sandbox, "refund", 2_000_000)

    answers = [
        operate(sandbox, id, "refund", amount=900096, outcome="timed_out"),
        operate(sandbox, id, "refund", amount=900096),
        operate(sandbox, id, "refund", amount=900096),
        operate(sandbox, other, "refund", amount=900096),
        operate(sandbox, other, "refund", amount=1000),
    ]

    assert [chosen(answer) for answer in answers] == [
        "timed_out; source=header; rule=header",
        "general_error; source=queue; rule=queue",
        "refund_declined; source=card; rule=tok_refund_fails",
        "system_malfunction; source=amount; rule=amount:900096",
        ORDINARY,
    ]


@pytest.mark.proves("assumed I7, I10")
def test_what_asks_no_cardholder_uses_up_nothing_of_the_queue(sandbox):
    queue, id = world_of(sandbox).queue, paid_id(sandbox)
    queue.add(Queued(outcome="lost_card"))

    refused(sandbox, operate(sandbox, id, "capture"), error="invalid_capture_sequence")
    passed = pay(sandbox, at="passthrough_merchant", outcome="lost_card")
    block_terminal(sandbox, "merchant")
    misconfigured = pay(sandbox, outcome="lost_card")

    # assumed I7, I10.
    assert (passed.json()["status"], chosen(passed)) == ("pending", None)
    assert misconfigured.json()["status_reason"] == "invalid_terminal"
    assert chosen(misconfigured) == (
        f"invalid_terminal; source=terminal; rule={terminal_id(sandbox, 'merchant')}"
    )
    assert [one.outcome for one in queue.entries] == ["lost_card"]
