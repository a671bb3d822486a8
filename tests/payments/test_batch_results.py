"""What becomes of a closed batch and of the payments in it; and which batches are listed."""

import pytest

from tests.directory.making import (
    a_terminal,
    delete,
    messages,
    mint,
    set_clock,
    shown,
    terminal_id,
)
from tests.support.payments import (
    acted,
    ask,
    batch,
    close_batch,
    edit_batch,
    fired,
    held,
    opened_batch,
    read,
    refused,
    set_switch,
    settled,
    sold,
    sums,
    unchanged,
)

NOW = "2026-03-01T12:00:00.000Z"


def said(result):
    """What a batch shows of its result."""
    return result["status"], result["closed_at"], result["response"]


def place_of(sandbox, tx):
    """Status and batch of a payment as it is now."""
    now = read(sandbox, tx)
    return now["status"], now["batch_id"]


@pytest.mark.proves(
    "spec 3.2-settled, 6.3-batch.accepted",
    "assumed B10, B9, B13, D21, F36, F37, 8.3, 8.4, 8.2-settlement",
)
def test_an_accepted_batch_settles_what_is_captured_and_nothing_else_fires(sandbox):
    tx, in_part, refunded = sold(sandbox, 1000), sold(sandbox, 700), sold(sandbox, 500)
    in_part = acted(sandbox, in_part, "refund", amount=300)
    refunded = acted(sandbox, refunded, "refund")
    id, count = tx["batch_id"], len(messages(sandbox))

    closing = shown(close_batch(sandbox, id))

    result = batch(sandbox, id)
    assert said(closing) == ("submitted", None, None)
    assert said(result) == ("accepted", NOW, None)
    told = messages(sandbox)[count:]
    assert [one["event_type"] for one in told] == ["batch.submitted", "batch.accepted"]
    assert [one["body"] for one in told] == [closing, result]
    # The result is of no request and comes after the answer.
    assert [one["request_id"] is None for one in told] == [False, True]
    assert sums(sandbox, id) == (2200, 800, 5)
    for before, status in ((tx, "settled"), (in_part, "settled"), (refunded, "refunded")):
        # Only the status: settling is no attempt.
        assert read(sandbox, before) == before | {"status": status}
    empty = opened_batch(sandbox)["id"]
    assert said(settled(sandbox, empty)) == ("accepted", NOW, None)
    assert sums(sandbox, empty) == (0, 0, 0)


@pytest.mark.proves("assumed B2, B8, B14, D10")
def test_while_a_batch_is_submitted_its_members_and_sums_stand_still(sandbox):
    tx = sold(sandbox, 1000)
    set_switch(sandbox, "batch.settlement", "manual")
    submitted = shown(close_batch(sandbox, tx["batch_id"]))

    # test_moves_follow_ups has the tip and the reversal that are refused meanwhile.
    refund = acted(sandbox, tx, "refund", amount=300)

    assert batch(sandbox, tx["batch_id"]) == submitted
    assert (refund["status"], refund["batch_id"]) == ("captured", tx["batch_id"])
    later = batch(sandbox, refund["history"][-1]["batch_id"])
    assert (later["status"], later["processor_batch_id"]) == ("open", "002")
    assert sums(sandbox, later["id"]) == (0, 300, 1)
    assert sold(sandbox)["batch_id"] == later["id"]


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
    bad, good = sold(sandbox, amount), sold(sandbox, 500)
    id, count = bad["batch_id"], len(messages(sandbox))

    result = settled(sandbox, id)

    assert said(result) == ("rejected", None, {"rejection_reason": reason})
    assert messages(sandbox)[-1]["body"] == result
    assert [place_of(sandbox, one) for one in (bad, good)] == [("captured", id)] * 2
    assert settled(sandbox, id)["status"] == then
    events = ["batch.submitted", "batch.rejected", "batch.submitted", f"batch.{then}"]
    assert fired(sandbox, count) == events
    if then == "rejected":
        edited = shown(edit_batch(sandbox, id, removed_transactions=[bad["transaction_id"]]))
        assert (said(edited), edited["captured_amount"]) == (("open", None, None), 500)
        assert said(settled(sandbox, id)) == ("accepted", NOW, None)
        assert place_of(sandbox, bad) == ("captured", None)
    assert place_of(sandbox, good) == ("settled", id)


@pytest.mark.proves("assumed B7, B11, D10, M10")
def test_beside_a_rejected_batch_its_members_change_and_move_but_it_is_not_edited(sandbox):
    tx, other, good = (sold(sandbox, amount) for amount in (900405, 500, 250))
    id, seen = tx["batch_id"], []
    settled(sandbox, id)

    for payment, action, body in (
        (tx, "adjust", {"type": "fixed", "amount": 100}),
        (other, "reverse", {"amount": 200}),
        (other, "reverse", {}),
    ):
        acted(sandbox, payment, action, **body)
        seen.append(sums(sandbox, id))

    assert seen == [(901255, 0, 3), (901055, 0, 3), (900755, 0, 2)]
    assert (batch(sandbox, id)["status"], read(sandbox, other)["batch_id"]) == ("rejected", None)
    newer = sold(sandbox, 300)["batch_id"]
    with unchanged(sandbox):
        refused(sandbox, edit_batch(sandbox, id), 409, "conflict", clause="assumed D10")
    # D10: what is in a rejected batch of the same terminal may be added to another.
    shown(edit_batch(sandbox, newer, added_transactions=[good["transaction_id"]]))
    assert (sums(sandbox, newer), sums(sandbox, id)) == ((550, 0, 2), (900505, 0, 1))
    assert settled(sandbox, id)["status"] == "accepted"
    assert batch(sandbox, newer)["status"] == "open"


@pytest.mark.proves(
    "spec 2.5-response, 6.3-batch.partially_accepted", "assumed B12, M11, 2.10, 6.2-settlement"
)
def test_a_partial_acceptance_frees_what_was_refused_for_the_next_batch(sandbox):
    bad, good, also = sold(sandbox, 900401), sold(sandbox, 500), sold(sandbox, 250)
    acted(sandbox, good, "refund", amount=100)
    id, count, histories = bad["batch_id"], len(messages(sandbox)), [bad["history"]]

    result = settled(sandbox, id)

    # Four entries: three captures and one refund; n + m = transaction_count (assumed B12).
    assert said(result) == ("partially_accepted", NOW, {"accepted": 3, "rejected": 1})
    assert sums(sandbox, id) == (901151, 100, 4)
    assert fired(sandbox, count) == ["batch.submitted", "batch.partially_accepted"]
    assert messages(sandbox)[-1]["body"] == result
    assert place_of(sandbox, bad) == ("captured", None)
    assert [place_of(sandbox, one) for one in (good, also)] == [("settled", id)] * 2
    histories.append(read(sandbox, bad)["history"])
    following = opened_batch(sandbox)["id"]
    shown(edit_batch(sandbox, following, added_transactions=[bad["transaction_id"]]))
    histories.append(read(sandbox, bad)["history"])
    # An attempt says in which batch it settles, and never changes otherwise.
    assert [one[-1]["batch_id"] for one in histories] == [id, None, following]
    assert len({str([one | {"batch_id": 0} for one in history]) for history in histories}) == 1
    assert sums(sandbox, following) == (900401, 0, 1)
    assert settled(sandbox, following)["status"] == "accepted"
    assert place_of(sandbox, bad) == ("settled", following)
    assert sums(sandbox, id) == (901151, 100, 4)


@pytest.mark.proves("assumed 6.2, 6.2-settlement, B9")
def test_an_amount_keeps_the_result_away_and_switched_off_no_amount_does_anything(sandbox):
    tx = sold(sandbox, 900409)
    count = len(messages(sandbox))

    assert said(settled(sandbox, tx["batch_id"])) == ("submitted", None, None)

    assert fired(sandbox, count) == ["batch.submitted"]
    assert read(sandbox, tx)["status"] == "captured"
    set_switch(sandbox, "triggers.enabled", False)
    assert settled(sandbox, sold(sandbox, 900402)["batch_id"])["status"] == "accepted"


@pytest.mark.proves("assumed B3, 1.4-delete, 2.10")
def test_a_refund_after_settlement_counts_in_a_batch_even_of_a_deleted_terminal(sandbox):
    used = a_terminal(sandbox)["terminal_id"]
    sale = sold(sandbox, 1000, at=used)
    settled(sandbox, sale["batch_id"])
    opened_batch(sandbox, at=used)
    # An empty open batch and a settled one do not keep a terminal (assumed 1.4-delete).
    assert delete(sandbox, f"/v2/terminals/{used}", by="psp").status == 204

    refund = acted(sandbox, sale, "refund", amount=400)

    id = refund["history"][-1]["batch_id"]
    assert (refund["status"], refund["batch_id"]) == ("settled", sale["batch_id"])
    assert (batch(sandbox, id)["terminal_id"], sums(sandbox, id)) == (used, (0, 400, 1))
    assert sums(sandbox, sale["batch_id"]) == (1000, 0, 1)
    assert settled(sandbox, id)["status"] == "accepted"


@pytest.mark.proves("assumed 1.11-list")
def test_batches_are_listed_newest_first_by_account_terminal_status_and_processor(sandbox):
    first = sold(sandbox)["batch_id"]
    settled(sandbox, first)
    set_clock(sandbox, "2026-03-01T12:10:00Z")
    second = sold(sandbox)["batch_id"]
    third = sold(sandbox, at="second_merchant")["batch_id"]
    passing = opened_batch(sandbox, at="passthrough_merchant")["id"]
    mine, terminal = sandbox.account("merchant"), terminal_id(sandbox, "merchant")

    def listed(query):
        return shown(ask(sandbox, "GET", "/v1/batches", query=query))

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
    tx, other = sold(sandbox, 300), sold(sandbox, 200)
    held(sandbox)
    path, plain = f"/v1/batches/{tx['batch_id']}", batch(sandbox, tx["batch_id"])
    full = plain | {"transactions": [read(sandbox, tx), read(sandbox, other)]}
    left_out = ["transactions are left out: the key does not hold payments:read"]

    for more, expected, notes in (
        ([], plain, left_out),
        (["payments:refund"], plain, left_out),
        (["payments:read"], full, []),
    ):
        key = mint(sandbox, ["batches:read", *more], by="merchant")["key"]
        answer = ask(sandbox, "GET", path, by=key, query="include_transactions=true")

        assert shown(answer) == expected
        decisions = sandbox.journal(answer)["decisions"]
        assert [one["reason"] for one in decisions if one["step"] == "render"] == notes


@pytest.mark.proves("assumed 3.3-repeated")
def test_a_batch_whose_number_was_used_within_five_days_is_a_duplicate(sandbox):
    first = opened_batch(sandbox, processor_batch_id="042")["id"]
    assert settled(sandbox, first)["status"] == "accepted"
    set_clock(sandbox, "2026-03-06T11:59:59.999Z")
    second = opened_batch(sandbox, processor_batch_id="042")["id"]
    till = a_terminal(sandbox)["terminal_id"]
    elsewhere = opened_batch(sandbox, at=till, processor_batch_id="042")["id"]

    result = settled(sandbox, second)

    assert (result["status"], settled(sandbox, elsewhere)["status"]) == ("rejected", "accepted")
    assert result["response"] == {"rejection_reason": "QD - DUPLICATE BATCH"}
    shown(edit_batch(sandbox, second, processor_batch_id="043"))
    assert settled(sandbox, second)["status"] == "accepted"
    set_clock(sandbox, "2026-03-06T12:00:00Z")
    third = opened_batch(sandbox, processor_batch_id="042")["id"]
    assert settled(sandbox, third)["status"] == "accepted"
