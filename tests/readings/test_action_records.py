"""The reading `record_of_an_action`: captures, refunds and reversals with a record of their own."""

from collections import Counter

import pytest

from tests.driving import InProcess

DONE = {"capture": "captured", "refund": "refunded", "reverse": "reversed"}
BEGINS = {"capture": InProcess.held, "refund": InProcess.sold, "reverse": InProcess.sold}


@pytest.fixture
def own(sandbox):
    sandbox.choose(record_of_an_action="own")
    return sandbox


@pytest.mark.proves("assumed D35-action")
@pytest.mark.parametrize("operation", DONE)
def test_an_action_has_a_record_of_its_own(own, operation):
    sandbox, before = own, BEGINS[operation](own)

    answered = sandbox.acted(before, operation, amount=400)

    payment = sandbox.read(before)
    assert answered["transaction_type"] == operation
    assert answered["transaction_id"] != before["transaction_id"]
    assert answered["additional_details"] == {"original_transaction_id": before["transaction_id"]}
    assert (answered["total_amount"], answered["status"]) == (400, DONE[operation])
    assert answered["refunded"] == (400 if operation == "refund" else 0)
    assert answered["reversed"] == (400 if operation == "reverse" else 0)
    assert sandbox.read(answered) == answered
    # The payment keeps what it began with, and has the money.
    for field in ("transaction_id", "event_id", "transaction_type", "created_at"):
        assert payment[field] == before[field]
    assert payment["refunded"] == answered["refunded"]
    assert payment["reversed"] == answered["reversed"]
    assert payment["history"][-1]["event_id"] == answered["event_id"]
    told = sandbox.messages()[-1]
    assert (told["event_type"], told["body"]) == (f"transaction.{operation}", answered)
    found = sandbox.search(f"transaction_type={operation}")
    assert [one["transaction_id"] for one in found["transactions"]] == [answered["transaction_id"]]
    assert sandbox.search()["total"] == 2


def test_a_part_of_a_settled_payment_is_refunded_in_a_record_of_its_own(own):
    sale = own.sold()
    own.settled(sale["batch_id"])

    refund = own.acted(sale, "refund", amount=400)

    assert (refund["status"], refund["refunded"]) == ("refunded", 400)
    assert own.read(sale)["status"] == "settled"


@pytest.mark.parametrize(
    ("operation", "outcome"),
    [("capture", "capture_declined"), ("refund", "refund_declined"), ("refund", "timed_out")],
)
def test_a_failed_action_has_a_record_too(own, operation, outcome):
    before = BEGINS[operation](own)

    failed = own.acted(before, operation, amount=400, outcome=outcome)

    assert failed["status"] in ("declined", "error")
    assert (failed["refunded"], failed["batch_id"]) == (0, None)
    assert own.read(failed) == failed
    after = own.read(before)
    assert after.pop("history")[:-1] == before.pop("history")
    assert after == before


@pytest.mark.parametrize("named", ["the payment", "the record"])
def test_a_late_answer_changes_the_record_of_its_action(own, named):
    sale = own.sold()
    lost = own.acted(sale, "refund", amount=400, outcome="processor_timeout")
    # The record is no payment that timed out.
    own.choose(reversal_of_a_timeout="allowed")
    assert own.act(lost, "reverse").status == 400

    asked = sale if named == "the payment" else lost
    own.answer_payment(asked, outcome="approved").expect(200)

    late = own.read(lost)
    assert (late["status"], late["refunded"], late["total_amount"]) == ("refunded", 400, 400)
    assert [one["status"] for one in late["history"]] == ["error", "refunded"]
    assert late["created_at"] == lost["created_at"]
    assert own.read(sale)["refunded"] == 400
    assert own.messages()[-1]["body"] == late
    assert own.search()["total"] == 2


def test_the_record_of_a_capture_stands_for_its_payment_and_has_its_moves(own):
    hold = own.held()
    # Increments and tips still change the payment.
    assert own.acted(hold, "increment", amount=100)["transaction_id"] == hold["transaction_id"]
    capture = own.acted(hold, "capture", amount=900)
    tipped = own.acted(hold, "adjust", type="fixed", amount=50)
    assert (tipped["transaction_id"], tipped["total_amount"]) == (hold["transaction_id"], 950)

    refund = own.acted(capture, "refund", amount=300)

    assert refund["additional_details"]["original_transaction_id"] == hold["transaction_id"]
    by_id = {"transaction_id": capture["transaction_id"], "amount": 100}
    assert own.post("/v3/refund", by_id).json()["refunded"] == 100
    assert own.read(hold)["refunded"] == 400
    assert own.act(capture, "refund", amount=551).status == 400
    # Those of refunds and reversals are final.
    total = own.search()["total"]
    for reading in ("named_rules", "all"):
        own.choose(refused_attempts=reading)
        for operation in ("refund", "reverse", "capture"):
            assert own.act(refund, operation, amount=5).status == 400
    assert (own.search()["total"], own.read(refund)) == (total, refund)
    moves, of_payment = (
        own.look(f"payments/{one['transaction_id']}/moves") for one in (capture, hold)
    )
    assert (moves["state"], moves) == ("captured", of_payment)
    steps = own.look(f"payments/{hold['transaction_id']}")["story"]
    says = [step["says"].split(":")[0] for step in steps if step["kind"] == "message"]
    assert says[-2:] == ["transaction.refund"] * 2


def test_a_repeated_event_id_gets_the_record_of_its_action(own):
    own.choose(duplicate_event_id="replay")
    sale = own.sold(event_id="first")

    refund = own.acted(sale, "refund", amount=400, event_id="once")

    assert own.acted(sale, "refund", amount=400, event_id="once") == refund
    assert own.read(sale)["refunded"] == 400
    own.choose(duplicate_event_id="reject")
    assert own.act(sale, "refund", amount=400, event_id="once").status == 400


def test_the_records_move_and_settle_with_the_batch_of_their_payment(own):
    hold, sale = own.held(), own.sold()
    capture = own.acted(hold, "capture")
    whole = own.acted(sale, "refund")
    id, moved = sale["batch_id"], [capture["transaction_id"]]
    listed = [one["transaction_id"] for one in own.batch(id, members=True)["transactions"]]
    assert Counter(listed) == Counter(one["transaction_id"] for one in (sale, capture, whole))
    assert own.edit_batch(id, removed_transactions=moved).json()["captured_amount"] == 1000
    assert own.read(capture)["batch_id"] is None
    refused = own.edit_batch(id, added_transactions=[whole["transaction_id"]])
    assert f"is the record of an action on {sale['transaction_id']}" in refused.json()["detail"]
    twice = own.edit_batch(id, added_transactions=[*moved, hold["transaction_id"]])
    assert "named twice" in twice.json()["detail"]
    own.edit_batch(id, added_transactions=moved)
    assert own.read(capture)["batch_id"] == id

    own.settled(id)

    statuses = [own.read(one)["status"] for one in (hold, capture, sale, whole)]
    assert statuses == ["settled", "settled", "refunded", "refunded"]
    # They come back with a snapshot, and the payment goes on.
    saved = own.saved()
    before = own.read(capture)
    own.acted(hold, "refund")
    own.load(saved).expect(200)
    assert (own.read(capture), own.search()["total"]) == (before, 4)
    own.acted(capture, "refund")
    assert (own.read(capture)["status"], own.read(hold)["status"]) == ("settled", "refunded")


@pytest.mark.proves("assumed B7, D35-action")
@pytest.mark.parametrize("operation", ["refund", "reverse"])
def test_the_record_of_a_refund_or_a_reversal_is_not_moved_out_of_its_batch(own, operation):
    sale = own.sold()
    record = own.acted(sale, operation, amount=400)
    before = own.batch(sale["batch_id"])

    removed = own.edit_batch(sale["batch_id"], removed_transactions=[record["transaction_id"]])

    assert "is not a member of this batch" in own.refused(removed)
    assert (own.batch(sale["batch_id"]), own.read(record)) == (before, record)


def test_the_processor_can_send_a_capture_back_by_its_record(own):
    own.set_switch("batch.settlement", "manual")
    hold, sale = own.held(), own.sold()
    capture = own.acted(hold, "capture")
    refund = own.acted(sale, "refund", amount=400)
    own.close_batch(sale["batch_id"])

    def send_back(*payments):
        ids = [one["transaction_id"] for one in payments]
        return own.answer_batch(sale["batch_id"], "partially_accepted", rejected=ids)

    assert send_back(refund).status == 400
    assert send_back(capture, hold).json()["response"] == {"accepted": 2, "rejected": 1}
    assert own.read(sale)["status"] == "settled"
    for one in (hold, capture):
        left = own.read(one)
        assert (left["status"], left["batch_id"]) == ("captured", None)
