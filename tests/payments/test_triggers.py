"""Who chooses an outcome, and the amounts that do. Source: assumed D3, D4, D14, 6.2.

The rows are the product's; docs/reference/triggers.md has them for the reader's eye.
"""

import pytest
from msgspec.structs import replace

from sandbox.domain.payments.outcomes import OUTCOMES, TRIGGERS, Operation, Queued, for_operation
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.platform.wire import ConnectionClosed

ORDINARY = "approved; source=default; rule=default"
ARMING = (900201, 900213, 900401)


def by_amount(amount, key):
    return f"{key}; source=amount; rule=amount:{amount}"


@pytest.mark.proves("assumed 6.1, 6.2, 6.2-later, 6.2-settlement")
def test_each_amount_of_the_blocks_chooses_its_outcome_or_none(sandbox):
    # Before and after the blocks as well.
    for amount in (1, 51, 90005, 890051, *range(899999, 900502), 9000051):
        row = TRIGGERS.get(amount)
        fault = TRANSPORT_FAULTS.get(row.key) if row else None
        count = sandbox.all_transactions() if fault else 0
        if fault and fault.answer is None:
            with pytest.raises(ConnectionClosed, match=fault.key):
                sandbox.pay(amount)
            assert sandbox.all_transactions() == count + (fault.when == "after")
            continue

        answer = sandbox.pay(amount)

        if fault:
            assert (answer.status, sandbox.all_transactions()) == (fault.answer.status, count)
        if row and row.kind == "outcome" and not for_operation(row.key, Operation.SALE):
            # Those of follow-ups alone mean nothing to an initiation.
            (near,) = sandbox.journal(answer)["near_misses"]
            assert near.startswith(f"amount amount:{amount}: {row.key} is for ")
            row = None
        key = (row.key if row.kind in ("outcome", "fault") else "approved") if row else ""
        assert answer.outcome == (by_amount(amount, key) if row else ORDINARY)
    answer = sandbox.pay(900054, operation="auth")
    assert answer.outcome == by_amount(900054, "expired_card")
    assert answer.json()["status_reason"] == "invalid_card"


CHOSEN = [
    ("capture", 900006, "general_error"),
    ("incremental_auth", 900051, "insufficient_funds"),
    ("refund", 900005, "do_not_honor"),
    ("reverse", 900079, "already_reversed"),
    ("tip_adjust", 900096, "system_malfunction"),
    ("confirm", 900005, "do_not_honor"),
]
IGNORED = [
    ("refund", 900021, "amount amount:900021: unable_to_back_out is for reverse, not for refund"),
    *(
        ("refund", amount, f"amount:{amount}: only an initiation arms a payment")
        for amount in ARMING
    ),
]


@pytest.mark.proves("assumed 6.2-amount")
def test_the_amount_of_an_action_chooses_its_outcome_if_it_can_have_one(sandbox):
    for operation, amount, key in CHOSEN:
        # A confirmation's amount is the total with the surcharge: a little more than the sale.
        id = sandbox.ready_for(operation, 880_000 if operation == "confirm" else 2_000_000)
        answer = sandbox.operate(id, operation, amount=amount)
        assert answer.outcome == by_amount(amount, key)
        assert answer.json()["status"] == OUTCOMES[key].verdict
    for operation, amount, why in IGNORED:
        id = sandbox.ready_for(operation, 2_000_000)
        answer = sandbox.operate(id, operation, amount=amount)
        assert (answer.json()["status_reason"], answer.outcome) == ("approved", ORDINARY)
        assert sandbox.journal(answer)["near_misses"] == [why]
        if amount in ARMING:
            assert sandbox.operate(id, operation, amount=1).outcome == ORDINARY
    # Without an amount of its own it tests nothing.
    for operation in ("capture", "refund", "reverse"):
        id = sandbox.ready_for(operation, 900006, outcome="approved")
        assert sandbox.operate(id, operation).outcome == ORDINARY


@pytest.mark.proves("assumed 6.2-amount")
def test_the_amount_is_that_of_the_request_before_a_configured_tax(sandbox):
    # 8.25 % are added to what was asked for (assumed 2.8-tax).
    for amount, total, expected in (
        (831409, 900000, ORDINARY),
        (900051, 974305, by_amount(900051, "insufficient_funds")),
    ):
        answer = sandbox.pay(amount, at="tax_merchant")
        assert (answer.json()["total_amount"], answer.outcome) == (total, expected)


@pytest.mark.proves("assumed 6.2-later")
def test_the_named_operation_fails_once_and_then_no_more(sandbox):
    for row in (row for row in TRIGGERS.values() if row.kind == "later"):
        operation, outcome = row.operation, for_operation(row.key, row.operation)
        id = sandbox.ready_for(operation, row.amount)

        first = sandbox.operate(id, operation)
        second = sandbox.operate(id, operation)

        assert first.outcome == by_amount(row.amount, row.key)
        if row.key == "invalid_tip_adjustment":
            assert first.error() == (400, row.key)
        else:
            assert first.json()["status_reason"] == outcome.status_reason, row.amount
        if operation == "confirm":
            # It ended the sale: there is nothing left to confirm (assumed F2).
            assert second.status == 400
        else:
            assert (second.json()["status_reason"], second.outcome) == ("approved", ORDINARY)


def test_an_armed_outcome_waits_for_its_operation_on_its_payment(sandbox):
    id, other = (sandbox.ready_for("capture", amount) for amount in (900201, 1000))

    answers = [
        sandbox.operate(id, "incremental_auth"),
        sandbox.operate(other, "capture"),
        sandbox.operate(id, "capture", outcome="general_error"),
        sandbox.operate(id, "capture"),
    ]

    assert [answer.outcome for answer in answers] == [
        *(ORDINARY, ORDINARY, "general_error; source=header; rule=header"),
        by_amount(900201, "capture_declined"),
    ]


@pytest.mark.proves("assumed 6.2")
def test_switched_off_an_amount_is_ordinary_arms_nothing_and_is_noted(sandbox):
    sandbox.set_switch("triggers.enabled", False)

    for amount in (900005, 900101, 900114, 900201, 900303, 900308, 900401):
        answer = sandbox.pay(amount)
        assert (answer.json()["status"], answer.outcome) == ("captured", ORDINARY)
        near = [f"amount:{amount}: triggers.enabled is off"]
        assert sandbox.journal(answer)["near_misses"] == near
    forced = sandbox.pay(900005, outcome="lost_card")
    assert forced.outcome == "lost_card; source=header; rule=header"
    id = sandbox.ready_for("capture", 900201)
    sandbox.set_switch("triggers.enabled", True)
    assert sandbox.operate(id, "capture").outcome == ORDINARY


@pytest.mark.proves("assumed D3, D14")
def test_the_journal_names_the_outcome_of_what_was_asked_of_the_processor(sandbox):
    entry = sandbox.journal(sandbox.pay(900051))
    named = {"key": "insufficient_funds", "source": "amount", "rule": "amount:900051"}
    assert entry["outcome"] == named
    decided = [one for one in entry["decisions"] if one["step"] == "outcome"]
    assert [(one["verdict"], one["clause"]) for one in decided] == [(named["key"], "assumed D4")]
    id = sandbox.paid_id()

    too_late = sandbox.operate(id, "capture")
    looked_up = sandbox.get(f"/v1/transactions/{id}")

    # Decided by rule, before anybody asked the processor (assumed F32).
    assert (too_late.status, too_late.outcome, looked_up.outcome) == (400, None, None)
    assert sandbox.event_types(too_late) == ["transaction.capture"]


@pytest.mark.proves("assumed D4, 6.3")
def test_the_sources_of_a_sale_come_in_their_order(sandbox):
    world = sandbox.get_world()
    world.queue.add(Queued(outcome="stolen_card"))
    id = sandbox.terminal_id("merchant")
    world.put_state(terminal_outcomes={id: "pin_required"})

    answers = [
        sandbox.pay(900055, card="tok_expired", outcome="lost_card"),
        sandbox.pay(900055, card="tok_expired"),
        sandbox.pay(900055, card="tok_expired"),
        sandbox.pay(900055),
    ]
    world.put_state(terminal_outcomes={})
    answers += [sandbox.pay(900055), sandbox.pay(1000)]
    # The card comes before the amount of a later operation too.
    paid = sandbox.ready_for("refund", 2_000_000, card="tok_refund_fails")
    answers.append(sandbox.operate(paid, "refund", amount=900096))

    assert [answer.outcome for answer in answers] == [
        "lost_card; source=header; rule=header",
        "stolen_card; source=queue; rule=queue",
        "expired_card; source=card; rule=tok_expired",
        f"pin_required; source=terminal; rule={id}",
        "incorrect_pin; source=amount; rule=amount:900055",
        ORDINARY,
        "refund_declined; source=card; rule=tok_refund_fails",
    ]


@pytest.mark.proves("assumed I7, I10")
def test_attempts_without_a_cardholder_use_up_no_queued_outcome(sandbox):
    queue, id = sandbox.get_world().queue, sandbox.paid_id()
    queue.add(Queued(outcome="lost_card"))

    sandbox.refused(sandbox.operate(id, "capture"), error="invalid_capture_sequence")
    passed = sandbox.pay(at="passthrough_merchant")
    # One that the header names cannot happen there (assumed D41).
    forced = sandbox.pay(at="passthrough_merchant", outcome="lost_card")
    assert "no processor is asked" in sandbox.refused(forced)
    sandbox.set_status("terminal", "merchant")
    misconfigured = sandbox.pay(outcome="lost_card")

    # assumed I7, I10.
    assert (passed.json()["status"], passed.outcome) == ("pending", None)
    assert misconfigured.json()["status_reason"] == "invalid_terminal"
    assert misconfigured.outcome == (
        f"invalid_terminal; source=terminal; rule={sandbox.terminal_id('merchant')}"
    )
    assert [one.outcome for one in queue.entries] == ["lost_card"]


@pytest.mark.proves("assumed 5.3-anywhere")
@pytest.mark.parametrize("queued", [{"outcome": "lost_card"}, {"fault": "http_503"}])
def test_a_refused_attempt_uses_up_no_queued_outcome(sandbox, queued):
    queue, held = sandbox.get_world().queue, sandbox.held()["transaction_id"]
    queue.add(Queued(**queued))
    surcharged = {"subtotal": 970, "surcharge": {"amount": 30}}

    for answer, error in (
        (sandbox.pay(1000, breakdown={"subtotal": 1}), "validation_error"),
        (sandbox.pay(1000, card="tok_visa_debit", breakdown=surcharged), "validation_error"),
        (sandbox.operate(held, "capture", amount=1001), "exceeds_original_auth"),
        (sandbox.operate(held, "refund"), "invalid_transaction_state"),
    ):
        sandbox.refused(answer, error=error)

    assert len(queue.entries) == 1
    assert sandbox.pay().outcome.endswith("source=queue; rule=queue")
    assert list(queue.entries) == []


@pytest.mark.proves("assumed D4")
def test_an_entry_of_the_queue_waits_for_its_attempt_and_the_journal_says_so(sandbox):
    queue = sandbox.get_world().queue
    for entry, why in (
        (Queued(outcome="general_error", operation=Operation.CAPTURE), "waits for capture"),
        (Queued(outcome="lost_card", amount=1234), "waits for the amount 1234"),
        (Queued(outcome="refund_declined"), "refund_declined is not for sale"),
    ):
        queue.add(entry)
        queue.add(Queued(outcome="stolen_card"))

        answer = sandbox.pay(card="tok_declined")

        assert answer.outcome == "stolen_card; source=queue; rule=queue"
        assert sandbox.journal(answer)["near_misses"] == [f"queue: {why}"]
        (waiting,) = queue.entries
        assert replace(waiting, id="") == entry
        done = sandbox.pay(1234) if entry.amount else sandbox.operate(*fitting(sandbox, entry))
        assert done.outcome == f"{entry.outcome}; source=queue; rule=queue"
        assert list(queue.entries) == []


def fitting(sandbox, entry):
    operation = entry.operation or Operation.REFUND
    return sandbox.ready_for(operation, 1235), operation
