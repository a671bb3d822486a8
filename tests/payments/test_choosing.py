"""Who chooses an outcome, who comes first, and what nearly chose another. Source: assumed D4."""

import pytest
from msgspec.structs import replace

from sandbox.domain.payments.outcomes import Operation, Queued
from tests.directory.making import terminal_id
from tests.support.payments import (
    block_terminal,
    chosen,
    operate,
    paid_id,
    pay,
    ready_for,
    refused,
    world_of,
)

ORDINARY = "approved; source=default; rule=default"


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
    # The card comes before the amount of a later operation too.
    paid = ready_for(sandbox, "refund", 2_000_000, card="tok_refund_fails")
    answers.append(operate(sandbox, paid, "refund", amount=900096))

    assert [chosen(answer) for answer in answers] == [
        "lost_card; source=header; rule=header",
        "stolen_card; source=queue; rule=queue",
        "expired_card; source=card; rule=tok_expired",
        f"pin_required; source=terminal; rule={id}",
        "incorrect_pin; source=amount; rule=amount:900055",
        ORDINARY,
        "refund_declined; source=card; rule=tok_refund_fails",
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


@pytest.mark.proves("assumed D4")
def test_an_entry_of_the_queue_waits_for_its_attempt_and_the_journal_says_so(sandbox):
    queue = world_of(sandbox).queue
    for entry, why in (
        (Queued(outcome="general_error", operation=Operation.CAPTURE), "waits for capture"),
        (Queued(outcome="lost_card", amount=1234), "waits for the amount 1234"),
        (Queued(outcome="refund_declined"), "refund_declined is not for sale"),
    ):
        queue.add(entry)
        queue.add(Queued(outcome="stolen_card"))

        answer = pay(sandbox, card="tok_declined")

        assert chosen(answer) == "stolen_card; source=queue; rule=queue"
        assert sandbox.journal(answer)["near_misses"] == [f"queue: {why}"]
        (waiting,) = queue.entries
        assert replace(waiting, id="") == entry
        done = pay(sandbox, 1234) if entry.amount else operate(sandbox, *fitting(sandbox, entry))
        assert chosen(done) == f"{entry.outcome}; source=queue; rule=queue"
        assert list(queue.entries) == []


def fitting(sandbox, entry):
    operation = entry.operation or Operation.REFUND
    return ready_for(sandbox, operation, 1235), operation
