"""What becomes of a closed batch and of the payments in it; and which batches are listed."""

import pytest

NOW = "2026-03-01T12:00:00.000Z"


def said(result):
    """What a batch shows of its result."""
    return result["status"], result["closed_at"], result["response"]


def place_of(sandbox, tx):
    """Status and batch of a payment as it is now."""
    now = sandbox.read(tx)
    return now["status"], now["batch_id"]


@pytest.mark.proves(
    "spec 3.2-settled, 6.3-batch.accepted",
    "assumed B10, B9, B13, D21, F36, F37, 8.3, 8.4, 8.2-settlement",
)
def test_an_accepted_batch_settles_what_is_captured_and_nothing_else_fires(sandbox):
    tx, in_part, refunded = sandbox.sold(1000), sandbox.sold(700), sandbox.sold(500)
    in_part = sandbox.acted(in_part, "refund", amount=300)
    refunded = sandbox.acted(refunded, "refund")
    id, count = tx["batch_id"], len(sandbox.messages())

    closing = sandbox.close_batch(id).expect(200)

    result = sandbox.batch(id)
    assert said(closing) == ("submitted", None, None)
    assert said(result) == ("accepted", NOW, None)
    told = sandbox.messages()[count:]
    assert [one["event_type"] for one in told] == ["batch.submitted", "batch.accepted"]
    assert [one["body"] for one in told] == [closing, result]
    # The result is of no request and comes after the answer.
    assert [one["request_id"] is None for one in told] == [False, True]
    assert sandbox.sums(id) == (2200, 800, 5)
    for before, status in ((tx, "settled"), (in_part, "settled"), (refunded, "refunded")):
        # Only the status: settling is no attempt.
        assert sandbox.read(before) == before | {"status": status}
    empty = sandbox.opened_batch()["id"]
    assert said(sandbox.settled(empty)) == ("accepted", NOW, None)
    assert sandbox.sums(empty) == (0, 0, 0)


@pytest.mark.proves("assumed B2, B8, B14, D10")
def test_members_and_sums_of_a_submitted_batch_do_not_change(sandbox):
    tx = sandbox.sold(1000)
    sandbox.set_switch("batch.settlement", "manual")
    submitted = sandbox.close_batch(tx["batch_id"]).expect(200)

    # test_moves_follow_ups has the tip and the reversal that are refused meanwhile.
    refund = sandbox.acted(tx, "refund", amount=300)

    assert sandbox.batch(tx["batch_id"]) == submitted
    assert (refund["status"], refund["batch_id"]) == ("captured", tx["batch_id"])
    later = sandbox.batch(refund["history"][-1]["batch_id"])
    assert (later["status"], later["processor_batch_id"]) == ("open", "002")
    assert sandbox.sums(later["id"]) == (0, 300, 1)
    assert sandbox.sold()["batch_id"] == later["id"]


MISMATCH = "RB T09 - BATCH AMOUNT HASHING TOTAL MISMATCH"
REASONS = {
    900402: (MISMATCH, "rejected"),
    900403: ("QD - DUPLICATE BATCH", "rejected"),
    900404: ("RB K11 - TERMINAL NUMBER INCORRECT", "rejected"),
    900405: (MISMATCH, "accepted"),
}
"""What the amounts of $9,004 make of a batch, and of its next close: assumed 6.2-settlement."""


@pytest.mark.proves(
    "spec 2.5-response, 6.3-batch.rejected", "assumed B8, B11, 3.3, 6.2-settlement, 3.2"
)
@pytest.mark.parametrize("amount", REASONS)
def test_an_amount_has_the_whole_batch_rejected_once_or_until_the_payment_leaves(sandbox, amount):
    reason, then = REASONS[amount]
    bad, good = sandbox.sold(amount), sandbox.sold(500)
    id, count = bad["batch_id"], len(sandbox.messages())

    result = sandbox.settled(id)

    assert said(result) == ("rejected", None, {"rejection_reason": reason})
    assert sandbox.messages()[-1]["body"] == result
    assert [place_of(sandbox, one) for one in (bad, good)] == [("captured", id)] * 2
    assert sandbox.settled(id)["status"] == then
    events = ["batch.submitted", "batch.rejected", "batch.submitted", f"batch.{then}"]
    assert sandbox.fired(count) == events
    if then == "rejected":
        edited = sandbox.edit_batch(id, removed_transactions=[bad["transaction_id"]]).expect(200)
        assert (said(edited), edited["captured_amount"]) == (("open", None, None), 500)
        assert said(sandbox.settled(id)) == ("accepted", NOW, None)
        assert place_of(sandbox, bad) == ("captured", None)
    assert place_of(sandbox, good) == ("settled", id)


@pytest.mark.proves("assumed B7, B11, D10, M10")
def test_beside_a_rejected_batch_its_members_change_and_move_but_it_is_not_edited(sandbox):
    tx, other, good = (sandbox.sold(amount) for amount in (900405, 500, 250))
    id, seen = tx["batch_id"], []
    sandbox.settled(id)

    for payment, action, body in (
        (tx, "adjust", {"type": "fixed", "amount": 100}),
        (other, "reverse", {"amount": 200}),
        (other, "reverse", {}),
    ):
        sandbox.acted(payment, action, **body)
        seen.append(sandbox.sums(id))

    assert seen == [(901255, 0, 3), (901055, 0, 3), (900755, 0, 2)]
    assert (sandbox.batch(id)["status"], sandbox.read(other)["batch_id"]) == ("rejected", None)
    newer = sandbox.sold(300)["batch_id"]
    with sandbox.unchanged():
        sandbox.refused(sandbox.edit_batch(id), 409, "conflict", clause="assumed D10")
    # D10: what is in a rejected batch of the same terminal may be added to another.
    sandbox.edit_batch(newer, added_transactions=[good["transaction_id"]]).expect(200)
    assert (sandbox.sums(newer), sandbox.sums(id)) == ((550, 0, 2), (900505, 0, 1))
    assert sandbox.settled(id)["status"] == "accepted"
    assert sandbox.batch(newer)["status"] == "open"


@pytest.mark.proves(
    "spec 2.5-response, 6.3-batch.partially_accepted", "assumed B12, M11, 2.10, 6.2-settlement"
)
def test_a_partial_acceptance_frees_what_was_refused_for_the_next_batch(sandbox):
    bad, good, also = sandbox.sold(900401), sandbox.sold(500), sandbox.sold(250)
    sandbox.acted(good, "refund", amount=100)
    id, count, histories = bad["batch_id"], len(sandbox.messages()), [bad["history"]]

    result = sandbox.settled(id)

    # Four entries: three captures and one refund; n + m = transaction_count (assumed B12).
    assert said(result) == ("partially_accepted", NOW, {"accepted": 3, "rejected": 1})
    assert sandbox.sums(id) == (901151, 100, 4)
    assert sandbox.fired(count) == ["batch.submitted", "batch.partially_accepted"]
    assert sandbox.messages()[-1]["body"] == result
    assert place_of(sandbox, bad) == ("captured", None)
    assert [place_of(sandbox, one) for one in (good, also)] == [("settled", id)] * 2
    histories.append(sandbox.read(bad)["history"])
    following = sandbox.opened_batch()["id"]
    sandbox.edit_batch(following, added_transactions=[bad["transaction_id"]]).expect(200)
    histories.append(sandbox.read(bad)["history"])
    # An attempt says in which batch it settles, and never changes otherwise.
    assert [one[-1]["batch_id"] for one in histories] == [id, None, following]
    assert len({str([one | {"batch_id": 0} for one in history]) for history in histories}) == 1
    assert sandbox.sums(following) == (900401, 0, 1)
    assert sandbox.settled(following)["status"] == "accepted"
    assert place_of(sandbox, bad) == ("settled", following)
    assert sandbox.sums(id) == (901151, 100, 4)


@pytest.mark.proves("assumed 6.2, 6.2-settlement, B9")
def test_an_amount_keeps_the_result_away_and_switched_off_no_amount_does_anything(sandbox):
    tx = sandbox.sold(900409)
    count = len(sandbox.messages())

    assert said(sandbox.settled(tx["batch_id"])) == ("submitted", None, None)

    assert sandbox.fired(count) == ["batch.submitted"]
    assert sandbox.read(tx)["status"] == "captured"
    sandbox.set_switch("triggers.enabled", False)
    assert sandbox.settled(sandbox.sold(900402)["batch_id"])["status"] == "accepted"


@pytest.mark.proves("assumed B3, 1.4-delete, 2.10")
def test_a_refund_after_settlement_counts_in_a_batch_even_of_a_deleted_terminal(sandbox):
    used = sandbox.a_terminal()["terminal_id"]
    sale = sandbox.sold(1000, at=used)
    sandbox.settled(sale["batch_id"])
    sandbox.opened_batch(at=used)
    # An empty open batch and a settled one do not keep a terminal (assumed 1.4-delete).
    assert sandbox.delete(f"/v2/terminals/{used}", by="psp").status == 204

    refund = sandbox.acted(sale, "refund", amount=400)

    id = refund["history"][-1]["batch_id"]
    assert (refund["status"], refund["batch_id"]) == ("settled", sale["batch_id"])
    assert (sandbox.batch(id)["terminal_id"], sandbox.sums(id)) == (used, (0, 400, 1))
    assert sandbox.sums(sale["batch_id"]) == (1000, 0, 1)
    assert sandbox.settled(id)["status"] == "accepted"


@pytest.mark.proves("assumed 1.11-list")
def test_batches_are_listed_newest_first_by_account_terminal_status_and_processor(sandbox):
    first = sandbox.sold()["batch_id"]
    sandbox.settled(first)
    sandbox.set_clock("2026-03-01T12:10:00Z")
    second = sandbox.sold()["batch_id"]
    third = sandbox.sold(at="second_merchant")["batch_id"]
    passing = sandbox.opened_batch(at="passthrough_merchant")["id"]
    mine, terminal = sandbox.account_id("merchant"), sandbox.terminal_id("merchant")

    def listed(query):
        return sandbox.get("/v1/batches", query=query).expect(200)

    for query, expected in {
        "": [passing, third, second, first],
        f"account_id={mine}": [second, first],
        f"terminal_id={terminal}": [second, first],
        "statuses=accepted": [first],
        "statuses=accepted&statuses=open": [passing, third, second, first],
        "statuses=rejected": [],
        "processor_config_id=cfg-pass-001": [passing],
        "limit=2&offset=1": [third, second],
        f"account_id={mine}&statuses=open&statuses=submitted": [second],
    }.items():
        assert [one["id"] for one in listed(query)["batches"]] == expected, query
    page = {"batches": [], "total": 0, "limit": 500, "offset": 0, "page": 1}
    assert listed("limit=500&statuses=rejected") == page


@pytest.mark.proves("spec 5.6", "assumed 1.11-members, D31")
def test_the_members_are_shown_where_they_are_asked_for_to_a_key_that_may_read_payments(sandbox):
    tx, other = sandbox.sold(300), sandbox.sold(200)
    sandbox.held()
    path, plain = f"/v1/batches/{tx['batch_id']}", sandbox.batch(tx["batch_id"])
    full = plain | {"transactions": [sandbox.read(tx), sandbox.read(other)]}
    left_out = ["transactions are left out: the key does not hold payments:read"]

    for more, expected, notes in (
        ([], plain, left_out),
        (["payments:refund"], plain, left_out),
        (["payments:read"], full, []),
    ):
        key = sandbox.mint(["batches:read", *more], by="merchant")["key"]
        answer = sandbox.get(path, by=key, query="include_transactions=true")

        assert answer.expect(200) == expected
        decisions = sandbox.journal(answer)["decisions"]
        assert [one["reason"] for one in decisions if one["step"] == "render"] == notes


@pytest.mark.proves("assumed 3.3-repeated")
def test_a_batch_whose_number_was_used_within_five_days_is_a_duplicate(sandbox):
    first = sandbox.opened_batch(processor_batch_id="042")["id"]
    assert sandbox.settled(first)["status"] == "accepted"
    sandbox.set_clock("2026-03-06T11:59:59.999Z")
    second = sandbox.opened_batch(processor_batch_id="042")["id"]
    till = sandbox.a_terminal()["terminal_id"]
    elsewhere = sandbox.opened_batch(at=till, processor_batch_id="042")["id"]

    result = sandbox.settled(second)

    assert (result["status"], sandbox.settled(elsewhere)["status"]) == ("rejected", "accepted")
    assert result["response"] == {"rejection_reason": "QD - DUPLICATE BATCH"}
    sandbox.edit_batch(second, processor_batch_id="043").expect(200)
    assert sandbox.settled(second)["status"] == "accepted"
    sandbox.set_clock("2026-03-06T12:00:00Z")
    third = sandbox.opened_batch(processor_batch_id="042")["id"]
    assert sandbox.settled(third)["status"] == "accepted"
