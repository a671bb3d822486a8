"""What the processor of a passthrough payment tells afterwards. Source: assumed F8, D17, D37."""

import pytest

from tests.payments.driving_money import shown_sums, sums_of
from tests.support.payments import kind, ledger, parts

# operation; what was told before; what is told now; what it comes to; events; ledger
TABLE = """
sale;;status=captured;sale/captured/approved;sale;1000 1000 0 0
auth;;status=captured;capture/captured/approved;capture;1000 1000 0 0
auth;;status=authorized;auth/authorized/approved;authorize;1000 0 0 0
sale;;status=refunded;refund/refunded/approved;refund;1000 1000 1000 0
auth;;status=reversed;reverse/reversed/approved;reverse;1000 0 0 1000
sale;;status=canceled;sale/canceled/merchant_canceled;cancel;0 0 0 0
sale;;status=declined;sale/declined/declined;sale;0 0 0 0
auth;;status=declined;auth/declined/declined;authorize;0 0 0 0
sale;;status=error;sale/error/payment_failed;sale;0 0 0 0
sale;;status=captured status_reason=partial_approval authorized_amount=600;\
sale/captured/partial_approval;sale;600 600 0 0
auth;status=authorized;status=captured;capture/captured/approved;capture;1000 1000 0 0
sale;status=authorized;status=captured;capture/captured/approved;capture;1000 1000 0 0
auth;status=authorized;status=reversed;reverse/reversed/approved;reverse;1000 0 0 1000
auth;status=captured;status=refunded;refund/refunded/approved;refund;1000 1000 1000 0
auth;status=captured;status=reversed;reverse/reversed/approved;reverse;1000 1000 0 1000
auth;status=authorized;reversed=100;reverse/authorized/approved;reverse;1000 0 0 100
auth;status=authorized;reversed=1000;reverse/reversed/approved;reverse;1000 0 0 1000
sale;status=captured;reversed=100;reverse/captured/approved;reverse;1000 1000 0 100
sale;status=captured;reversed=1000;reverse/reversed/approved;reverse;1000 1000 0 1000
sale;status=captured;refunded=200;refund/captured/approved;refund;1000 1000 200 0
sale;status=captured;status=refunded refunded=1000;refund/refunded/approved;refund;1000 1000 1000 0
sale;status=captured,refunded=200;refunded=1000;refund/refunded/approved;refund;1000 1000 1000 0
sale;status=captured,refunded=200;status=refunded;refund/refunded/approved;refund;1000 1000 1000 0
sale;;status=captured refunded=200;refund/captured/approved;sale refund;1000 1000 200 0
auth;status=authorized,reversed=300;status=captured;capture/captured/approved;capture;1000 700 0 300
auth;status=authorized,reversed=300;status=refunded;refund/refunded/approved;refund;1000 700 700 300
auth;status=authorized,reversed=300;status=canceled;auth/canceled/merchant_canceled;cancel;0 0 0 300
sale;;status=pending;sale/pending/pending;;0 0 0 0
sale;;authorized_amount=800;sale/pending/pending;;800 0 0 0
sale;authorized_amount=800;status=captured;sale/captured/partial_approval;sale;800 800 0 0
sale;status=captured,refunded=200;status=captured status_reason=approved refunded=200 reversed=0;\
refund/captured/approved;;1000 1000 200 0
"""


def fields(text):
    pairs = [one.split("=") for one in text.split()]
    return {name: int(value) if value.isdigit() else value for name, value in pairs}


def told(sandbox, before, operation="sale"):
    """A passthrough payment of which this was told, one edit after the other."""
    tx = sandbox.paid(at="passthrough_merchant", operation=operation)
    for edit in filter(None, before.split(",")):
        sandbox.edited(tx["transaction_id"], **fields(edit))
    return sandbox.read(tx)


@pytest.mark.proves("spec 3.2-pending", "assumed F8, 1.7-edit, D17, D37")
@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_a_reported_outcome_fires_its_events_and_enters_history_and_batch(sandbox, line):
    operation, before, edit, expected, events, money = line.split(";")
    tx = told(sandbox, before, operation)
    seen = sandbox.message_count()

    answer = sandbox.edited(tx["transaction_id"], **fields(edit))

    after = sandbox.read(tx)
    assert after == answer
    assert (kind(after), ledger(after)) == (expected, tuple(map(int, money.split())))
    fired = [one for one in sandbox.messages(offset=seen) if one["event_type"] != "batch.opened"]
    assert [one["event_type"] for one in fired] == [f"transaction.{one}" for one in events.split()]
    new = after["history"][len(tx["history"]) :]
    assert after["history"] == tx["history"] + new
    assert list(map(kind, new)) == [kind(one["body"]) for one in fired]
    if fired:
        assert fired[-1]["body"] == after
        was, now = ledger(tx), ledger(after)
        if now[2:] != was[2:]:
            assert new[-1]["amount"] == max(now[2] - was[2], now[3] - was[3])
    for one in sandbox.batches():
        assert shown_sums(one) == sums_of(one["id"], [after])
    assert (after["batch_id"] is not None) == (after["status"] in ("captured", "refunded"))


@pytest.mark.proves("assumed 1.7-edit")
def test_a_breakdown_replaces_the_old_one_and_the_reported_amount(sandbox):
    for status in (None, "captured"):
        id = told(sandbox, "authorized_amount=800")["transaction_id"]
        sandbox.edited(id, status=status, breakdown={"subtotal": 700})
        assert ledger(sandbox.edited(id, status="captured")) == (700, 700, 0, 0)
    waiting = sandbox.paid(at="passthrough_merchant")
    breakdown = {"subtotal": 1500, "taxAmount": 100, "tipAmount": 300}

    after = sandbox.edited(waiting["transaction_id"], status="captured", breakdown=breakdown)

    assert (parts(after), ledger(after)) == ((1500, 100, 300, 0, 1900), (1900, 1900, 0, 0))
    part = {"status_reason": "partial_approval", "authorized_amount": 600}
    other = sandbox.paid(at="passthrough_merchant")
    in_part = sandbox.edited(other["transaction_id"], status="captured", **part)
    assert in_part["additional_details"]["remaining_amount"] == 400
    sandbox.choose(total_of_partial_approval="approved")
    other = sandbox.paid(at="passthrough_merchant")
    in_part = sandbox.edited(other["transaction_id"], status="captured", **part)
    assert (parts(in_part)[4], in_part["additional_details"]["remaining_amount"]) == (600, 400)
    # With its rates, as in the bodies of other operations.
    other = sandbox.paid(at="passthrough_merchant")
    rates = {"subtotal": 1000, "taxRate": 8, "tipRate": 18}
    after = sandbox.edited(other["transaction_id"], status="captured", breakdown=rates)
    assert (parts(after), after["tip_type"]) == ((1000, 80, 180, 0, 1260), "percentage")
    assert (after["tax_rate"], after["tax_source"]) == (8, "transaction")


@pytest.mark.proves("assumed F8, F9, I7, 8.2-pending, D17")
def test_a_reported_payment_is_captured_and_an_unreported_one_keeps_waiting(sandbox):
    tx, waiting = told(sandbox, "status=authorized", "auth"), told(sandbox, "")

    captured = sandbox.acted(tx, "capture", amount=900)
    sandbox.close_batch(captured["batch_id"]).expect(200)

    assert (sandbox.read(tx)["status"], ledger(captured)) == ("settled", (1000, 900, 0, 0))
    other = told(sandbox, "status=authorized", "auth")
    sandbox.acted(other, "capture", amount=900)
    after = sandbox.edited(other["transaction_id"], status="refunded")
    assert (kind(after), ledger(after)) == ("refund/refunded/approved", (1000, 900, 900, 0))
    sale = told(sandbox, "status=captured")
    sandbox.set_switch("batch.settlement", "manual")
    sandbox.close_batch(sale["batch_id"]).expect(200)
    refused = sandbox.put(f"/v1/transactions/{sale['transaction_id']}", {"refunded": 1})
    assert sandbox.journal(refused)["decisions"][-1]["reason"].endswith(": its batch was closed")
    sandbox.set_clock("2030-01-01T00:00:00.000Z")
    assert sandbox.read(waiting) == waiting


OPEN = ("approved", "partial_approval", "pending")
CONTRADICTIONS = {
    **dict.fromkeys(("declined", "error", "canceled"), OPEN),
    "captured": ("declined", "pending", "payment_failed", "partial_approval"),
    "refunded": ("declined", "pending", "timed_out"),
    "reversed": ("declined", "pending", "invalid_card"),
    "pending": ("approved",),
}


@pytest.mark.proves("assumed D37, M6")
def test_an_edit_that_cannot_have_happened_is_refused_and_changes_nothing(sandbox):
    waiting, sale = told(sandbox, ""), told(sandbox, "status=captured")
    refunded, returned = (told(sandbox, f"status=captured,{one}=200") for one in BACK)

    with sandbox.unchanged():
        for tx, body, said in (
            *(
                (waiting, f"status={status} status_reason={reason}", f"the status {status}")
                for status, reasons in CONTRADICTIONS.items()
                for reason in reasons
            ),
            (waiting, "authorized_amount=1001", "is more than the total"),
            (sale, "status_reason=declined", "declined contradicts the status captured"),
            (sale, "status=refunded refunded=300", "300 is a part of 1000"),
            (sale, "status=pending", "does not become pending again"),
            (refunded, "reversed=100", "a refunded payment is not reversed"),
            (refunded, "refunded=100", "refunded: 100 is less than the 200 reported before"),
            (returned, "reversed=100", "reversed: 100 is less than the 200 reported before"),
        ):
            path = f"/v1/transactions/{tx['transaction_id']}"
            assert said in sandbox.refused(sandbox.put(path, fields(body))), body


BACK = ("refunded", "reversed")


@pytest.mark.proves("assumed D35-partial-refund")
def test_a_payment_shown_as_refunded_after_a_part_can_get_reports_of_more_refunds(sandbox):
    sandbox.choose(status_after_partial_refund="refunded")
    tx = told(sandbox, "status=captured,refunded=300,refunded=600")
    assert (kind(tx), ledger(tx)) == ("refund/refunded/approved", (1000, 1000, 600, 0))
    path = f"/v1/transactions/{tx['transaction_id']}"
    answer = sandbox.put(path, {"status": "captured"})
    sandbox.refused(answer, error="invalid_transaction_state")
