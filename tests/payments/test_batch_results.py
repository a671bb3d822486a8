"""What becomes of a closed batch and of the payments in it; and which batches are listed."""

import pytest

from tests.directory.making import (
    a_terminal,
    delete,
    made,
    messages,
    mint,
    set_clock,
    shown,
    terminal_id,
)
from tests.support.payments import (
    act,
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
)

NOW = "2026-03-01T12:00:00.000Z"

# --- accepted: B8 to B10, B13, B14, B15, F36, F37 ---------------------------------------------


@pytest.mark.proves("spec 3.2-settled, 6.3-batch.accepted", "assumed B10, B9, 8.4")
def test_an_accepted_batch_settles_what_is_captured_and_nothing_else_fires(sandbox):
    tx, refunded = sold(sandbox, 1000), sold(sandbox, 500)
    acted(sandbox, refunded, "refund")
    id, count = tx["batch_id"], len(messages(sandbox))

    closing = shown(close_batch(sandbox, id))

    assert (closing["status"], closing["closed_at"], closing["response"]) == (
        "submitted",
        None,
        None,
    )
    result = batch(sandbox, id)
    assert (result["status"], result["closed_at"], result["response"]) == ("accepted", NOW, None)
    assert fired(sandbox, count) == ["batch.submitted", "batch.accepted"]
    assert [one["body"] for one in messages(sandbox)[count:]] == [closing, result]
    assert sums(sandbox, id) == (1500, 500, 3)
    # What was refunded in full before stays refunded (assumed F37).
    assert [read(sandbox, one)["status"] for one in (tx, refunded)] == ["settled", "refunded"]
    assert [read(sandbox, one)["batch_id"] for one in (tx, refunded)] == [id, id]


@pytest.mark.proves("assumed B13")
def test_an_empty_batch_is_accepted_with_nothing_in_it(sandbox):
    id = opened_batch(sandbox)["id"]

    result = settled(sandbox, id)

    assert (result["status"], result["closed_at"], result["response"]) == ("accepted", NOW, None)
    assert sums(sandbox, id) == (0, 0, 0)


@pytest.mark.proves("assumed B8, B14, D10")
def test_while_a_batch_is_submitted_its_members_and_sums_stand_still(sandbox):
    tx = sold(sandbox, 1000)
    set_switch(sandbox, "batch.settlement", "manual")
    submitted = shown(close_batch(sandbox, tx["batch_id"]))

    answers = {
        "adjust": act(sandbox, tx, "adjust", type="fixed", amount=100),
        "reverse": act(sandbox, tx, "reverse"),
        "partial reverse": act(sandbox, tx, "reverse", amount=1),
    }
    refund = acted(sandbox, tx, "refund", amount=300)

    # assumed F24, F27, B14
    assert {name: refused_code(answer) for name, answer in answers.items()} == {
        "adjust": (400, "invalid_tip_adjustment"),
        "reverse": (400, "invalid_transaction_state"),
        "partial reverse": (400, "invalid_transaction_state"),
    }
    assert batch(sandbox, tx["batch_id"]) == submitted
    assert (refund["status"], refund["batch_id"]) == ("captured", tx["batch_id"])
    later = refund["history"][-1]["batch_id"]
    assert later != tx["batch_id"]
    assert (batch(sandbox, later)["status"], sums(sandbox, later)) == ("open", (0, 300, 1))


def refused_code(answer):
    return answer.status, answer.json()["error"]


@pytest.mark.proves("assumed B2")
def test_a_sale_after_the_close_opens_the_next_batch(sandbox):
    first = sold(sandbox)["batch_id"]
    set_switch(sandbox, "batch.settlement", "manual")
    shown(close_batch(sandbox, first))
    count = len(messages(sandbox))

    second = sold(sandbox)["batch_id"]

    assert second != first
    assert fired(sandbox, count) == ["transaction.create", "batch.opened", "transaction.sale"]
    assert batch(sandbox, second)["processor_batch_id"] == "002"


# --- rejected: B11, D10 -----------------------------------------------------------------------

REASONS = {
    900402: "RB T09 - BATCH AMOUNT HASHING TOTAL MISMATCH",
    900403: "QD - DUPLICATE BATCH",
    900404: "RB K11 - TERMINAL NUMBER INCORRECT",
}
"""What the amounts of $9,004 make of a batch: assumed 6.2-settlement, 3.3."""


@pytest.mark.proves(
    "spec 2.5-response, 6.3-batch.rejected", "assumed B11, 3.3, 6.2-settlement, 3.2"
)
@pytest.mark.parametrize(("amount", "reason"), REASONS.items())
def test_an_amount_has_the_whole_batch_rejected_for_its_reason(sandbox, amount, reason):
    tx, other = sold(sandbox, amount), sold(sandbox, 500)
    id, count = tx["batch_id"], len(messages(sandbox))

    result = settled(sandbox, id)

    assert (result["status"], result["closed_at"]) == ("rejected", None)
    assert result["response"] == {"rejection_reason": reason}
    assert fired(sandbox, count) == ["batch.submitted", "batch.rejected"]
    assert messages(sandbox)[-1]["body"] == result
    for one in (tx, other):
        assert (read(sandbox, one)["status"], read(sandbox, one)["batch_id"]) == ("captured", id)


@pytest.mark.proves("assumed B11")
def test_a_batch_that_was_rejected_for_good_is_rejected_each_time_until_the_payment_leaves(sandbox):
    bad, good = sold(sandbox, 900402), sold(sandbox, 500)
    id = bad["batch_id"]

    outcomes = [settled(sandbox, id)["status"] for _ in range(2)]
    edited = shown(edit_batch(sandbox, id, removed_transactions=[bad["transaction_id"]]))

    assert outcomes == ["rejected", "rejected"]
    assert (edited["status"], edited["response"], edited["captured_amount"]) == ("open", None, 500)
    assert settled(sandbox, id)["status"] == "accepted"
    assert [read(sandbox, one)["status"] for one in (good, bad)] == ["settled", "captured"]


@pytest.mark.proves("assumed B8, 6.2-settlement")
def test_a_batch_that_is_rejected_once_is_accepted_at_the_next_close(sandbox):
    tx = sold(sandbox, 900405)
    id, count = tx["batch_id"], len(messages(sandbox))

    results = [settled(sandbox, id) for _ in range(2)]

    assert [one["status"] for one in results] == ["rejected", "accepted"]
    assert [one["response"] for one in results] == [
        {"rejection_reason": "RB T09 - BATCH AMOUNT HASHING TOTAL MISMATCH"},
        None,
    ]
    assert fired(sandbox, count) == [
        *("batch.submitted", "batch.rejected"),
        *("batch.submitted", "batch.accepted"),
    ]
    assert read(sandbox, tx)["status"] == "settled"


@pytest.mark.proves("assumed D10, B11, M10")
def test_members_of_a_rejected_batch_can_be_adjusted_and_reversed_and_its_sums_follow(sandbox):
    tx, other = sold(sandbox, 900402), sold(sandbox, 500)
    id = tx["batch_id"]
    settled(sandbox, id)

    acted(sandbox, tx, "adjust", type="fixed", amount=100)
    after_tip = sums(sandbox, id)
    acted(sandbox, other, "reverse", amount=200)
    after_part = sums(sandbox, id)
    acted(sandbox, other, "reverse")

    assert [after_tip, after_part, sums(sandbox, id)] == [
        (901002, 0, 2),
        (900802, 0, 2),
        (900502, 0, 1),
    ]
    assert batch(sandbox, id)["status"] == "rejected"
    assert read(sandbox, other)["batch_id"] is None


@pytest.mark.proves("assumed D10")
def test_beside_an_open_batch_a_rejected_one_can_be_closed_again_but_not_edited(sandbox):
    tx = sold(sandbox, 900405)
    settled(sandbox, tx["batch_id"])
    newer = sold(sandbox, 300)
    before = sandbox.state()

    editing = edit_batch(sandbox, tx["batch_id"])

    refused(sandbox, editing, 409, "conflict", clause="assumed D10")
    assert sandbox.state() == before
    assert newer["batch_id"] != tx["batch_id"]
    assert settled(sandbox, tx["batch_id"])["status"] == "accepted"
    assert batch(sandbox, newer["batch_id"])["status"] == "open"


@pytest.mark.proves("assumed B7")
def test_a_member_of_a_rejected_batch_can_be_moved_to_the_open_one(sandbox):
    bad, good = sold(sandbox, 900402), sold(sandbox, 500)
    settled(sandbox, bad["batch_id"])
    newer = sold(sandbox, 300)

    moved = shown(
        edit_batch(sandbox, newer["batch_id"], added_transactions=[good["transaction_id"]])
    )

    # D10: an id may be added that is in a rejected batch of the same terminal; M10: both sums.
    assert (moved["captured_amount"], moved["transaction_count"]) == (800, 2)
    assert sums(sandbox, bad["batch_id"]) == (900402, 0, 1)
    assert read(sandbox, good)["batch_id"] == newer["batch_id"]


# --- accepted in part, and no result: B12 -----------------------------------------------------


@pytest.mark.proves(
    "spec 2.5-response, 6.3-batch.partially_accepted", "assumed B12, 6.2-settlement"
)
def test_a_partial_acceptance_settles_the_rest_and_frees_what_was_refused(sandbox):
    bad, good, also = sold(sandbox, 900401), sold(sandbox, 500), sold(sandbox, 250)
    acted(sandbox, good, "refund", amount=100)
    id, count = bad["batch_id"], len(messages(sandbox))

    result = settled(sandbox, id)

    # Four entries: three captures and one refund; n + m = transaction_count (assumed B12).
    assert (result["status"], result["closed_at"]) == ("partially_accepted", NOW)
    assert result["response"] == {"accepted": 3, "rejected": 1}
    assert sums(sandbox, id) == (901151, 100, 4)
    assert fired(sandbox, count) == ["batch.submitted", "batch.partially_accepted"]
    assert messages(sandbox)[-1]["body"] == result
    assert [(read(sandbox, one)["status"], read(sandbox, one)["batch_id"]) for one in (bad,)] == [
        ("captured", None)
    ]
    assert [read(sandbox, one)["status"] for one in (good, also)] == ["settled", "settled"]


@pytest.mark.proves("assumed B12")
def test_what_was_refused_can_be_added_to_the_next_batch_and_settles_there(sandbox):
    bad = sold(sandbox, 900401)
    sold(sandbox, 500)
    settled(sandbox, bad["batch_id"])
    following = opened_batch(sandbox)["id"]

    shown(edit_batch(sandbox, following, added_transactions=[bad["transaction_id"]]))

    assert sums(sandbox, following) == (900401, 0, 1)
    assert settled(sandbox, following)["status"] == "accepted"
    assert (read(sandbox, bad)["status"], read(sandbox, bad)["batch_id"]) == ("settled", following)
    assert sums(sandbox, bad["batch_id"]) == (900901, 0, 2)


@pytest.mark.proves("assumed M11, 2.10")
def test_an_attempt_says_in_which_batch_it_settles_and_never_changes_otherwise(sandbox):
    bad = sold(sandbox, 900401)
    sold(sandbox, 500)
    refused_by = bad["batch_id"]
    before = read(sandbox, bad)["history"]

    settled(sandbox, refused_by)
    freed = read(sandbox, bad)["history"]
    following = opened_batch(sandbox)["id"]
    shown(edit_batch(sandbox, following, added_transactions=[bad["transaction_id"]]))
    moved = read(sandbox, bad)["history"]

    assert [one[-1]["batch_id"] for one in (before, freed, moved)] == [refused_by, None, following]
    assert [[one | {"batch_id": None} for one in history] for history in (freed, moved)] == [
        [one | {"batch_id": None} for one in before]
    ] * 2


@pytest.mark.proves("assumed 6.2-settlement, B9")
def test_an_amount_keeps_the_result_away(sandbox):
    tx = sold(sandbox, 900409)
    count = len(messages(sandbox))

    result = settled(sandbox, tx["batch_id"])

    assert (result["status"], result["closed_at"], result["response"]) == ("submitted", None, None)
    assert fired(sandbox, count) == ["batch.submitted"]
    assert read(sandbox, tx)["status"] == "captured"


@pytest.mark.proves("assumed 6.2")
def test_with_amounts_switched_off_every_batch_is_accepted(sandbox):
    set_switch(sandbox, "triggers.enabled", False)
    tx = sold(sandbox, 900402)

    assert settled(sandbox, tx["batch_id"])["status"] == "accepted"


# --- refunds in later batches, and deleted terminals: B3, D10 ---------------------------------


@pytest.mark.proves("assumed B3, 2.10")
def test_a_refund_after_settlement_counts_in_the_next_batch_and_says_so_in_the_history(sandbox):
    tx = sold(sandbox, 1000)
    settled(sandbox, tx["batch_id"])
    count = len(messages(sandbox))

    refund = acted(sandbox, tx, "refund", amount=400)

    entry = refund["history"][-1]
    assert (refund["status"], refund["batch_id"]) == ("settled", tx["batch_id"])
    assert (entry["transaction_type"], entry["amount"]) == ("refund", 400)
    assert entry["batch_id"] not in (None, tx["batch_id"])
    assert fired(sandbox, count) == ["batch.opened", "transaction.refund"]
    assert sums(sandbox, entry["batch_id"]) == (0, 400, 1)
    assert sums(sandbox, tx["batch_id"]) == (1000, 0, 1)
    assert settled(sandbox, entry["batch_id"])["status"] == "accepted"


@pytest.mark.proves("assumed 1.4-delete, D10")
@pytest.mark.parametrize("status", ["open", "submitted", "rejected"])
def test_a_terminal_with_a_batch_that_still_has_to_settle_is_not_deleted(sandbox, status):
    tx = sold(sandbox, 900402 if status == "rejected" else 100)
    if status != "open":
        set_switch(sandbox, "batch.settlement", "auto" if status == "rejected" else "manual")
        settled(sandbox, tx["batch_id"])
    assert batch(sandbox, tx["batch_id"])["status"] == status
    before = sandbox.state()

    answer = delete(sandbox, f"/v2/terminals/{tx['tid']}", by="psp")

    refused(sandbox, answer, 409, "conflict", clause="assumed D10")
    assert sandbox.state() == before
    assert ask(sandbox, "GET", f"/v2/terminals/{tx['tid']}").status == 200


@pytest.mark.proves("assumed 1.4-delete")
def test_a_terminal_with_an_empty_open_batch_or_a_settled_one_is_deleted(sandbox):
    used = a_terminal(sandbox)["terminal_id"]
    settled(sandbox, sold(sandbox, at=used)["batch_id"])
    opened_batch(sandbox, at=used)

    assert delete(sandbox, f"/v2/terminals/{used}", by="psp").status == 204


@pytest.mark.proves("assumed B3")
def test_a_refund_for_a_deleted_terminal_opens_that_terminals_next_batch(sandbox):
    used = a_terminal(sandbox)["terminal_id"]
    tx = sold(sandbox, 1000, at=used)
    settled(sandbox, tx["batch_id"])
    assert delete(sandbox, f"/v2/terminals/{used}", by="psp").status == 204

    refund = acted(sandbox, tx, "refund")

    opened = batch(sandbox, refund["history"][-1]["batch_id"])
    assert refund["status"] == "refunded"
    assert (opened["terminal_id"], opened["status"], opened["refunded_amount"]) == (
        used,
        "open",
        1000,
    )


# --- lists ------------------------------------------------------------------------------------


@pytest.mark.proves("assumed 1.11-list")
def test_batches_are_listed_newest_first_by_account_terminal_status_and_processor(sandbox):
    first = sold(sandbox)["batch_id"]
    settled(sandbox, first)
    set_clock(sandbox, "2026-03-01T12:10:00Z")
    second = sold(sandbox)["batch_id"]
    third = sold(sandbox, at="second_merchant")["batch_id"]
    passing = opened_batch(sandbox, at="passthrough_merchant")["id"]
    mine, terminal = sandbox.account("merchant"), terminal_id(sandbox, "merchant")

    def ids(query):
        page = shown(sandbox.ask("GET", "/v1/batches", key="partner", query=query))
        return [one["id"] for one in page["batches"]]

    assert ids("") == [passing, third, second, first]
    assert ids(f"account_id={mine}") == ids(f"terminal_id={terminal}") == [second, first]
    assert ids("statuses=accepted") == [first]
    assert ids("statuses=accepted&statuses=open") == [passing, third, second, first]
    assert ids("statuses=rejected") == []
    assert ids("processor_config_id=cfg-pass-001") == [passing]
    assert ids("limit=2&offset=1") == [third, second]
    assert ids(f"account_id={mine}&statuses=open&statuses=submitted") == [second]


@pytest.mark.proves("assumed 1.11-list, C12")
@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=501", "limit=", "limit=null", "offset=-1", "offset="),
        *("statuses=", "statuses=null", "statuses=settled", "statuses=open&statuses=x"),
        *("terminal_id=a&terminal_id=b",),
    ],
)
def test_a_filter_of_batches_that_cannot_be_is_refused_and_named(sandbox, query):
    answer = ask(sandbox, "GET", "/v1/batches", query=query)

    assert query.partition("=")[0] in refused(sandbox, answer)


@pytest.mark.proves("assumed 1.11-list")
def test_a_page_of_batches_may_have_500(sandbox):
    page = shown(ask(sandbox, "GET", "/v1/batches", query="limit=500"))

    assert page == {"batches": [], "total": 0, "limit": 500, "offset": 0, "page": 1}


@pytest.mark.proves("assumed 1.11-members")
def test_the_members_are_shown_only_where_they_are_asked_for(sandbox):
    tx, other = sold(sandbox, 300), sold(sandbox, 200)
    held(sandbox)

    plain, full = batch(sandbox, tx["batch_id"]), batch(sandbox, tx["batch_id"], members=True)

    assert "transactions" not in plain
    assert full == plain | {"transactions": [read(sandbox, tx), read(sandbox, other)]}


@pytest.mark.proves("spec 5.6", "assumed D31")
@pytest.mark.parametrize(
    ("held", "are_shown"),
    [
        (["batches:read"], False),
        (["batches:read", "payments:refund"], False),
        (["batches:read", "payments:read"], True),
    ],
    ids=lambda held: "+".join(held) if isinstance(held, list) else None,
)
def test_the_members_are_shown_only_to_a_key_that_may_read_payments(sandbox, held, are_shown):
    tx = sold(sandbox, 300)
    key = mint(sandbox, held, by="merchant")["key"]
    path = f"/v1/batches/{tx['batch_id']}"

    answer = sandbox.ask("GET", path, key=key, query="include_transactions=true")

    assert answer.status == 200
    assert ("transactions" in answer.json()) is are_shown
    decisions = sandbox.journal(answer)["decisions"]
    said = [one["reason"] for one in decisions if one["step"] == "render"]
    left_out = ["transactions are left out: the key does not hold payments:read"]
    assert said == ([] if are_shown else left_out)


# --- numbers ----------------------------------------------------------------------------------


@pytest.mark.proves("assumed 3.3-repeated")
@pytest.mark.parametrize(
    ("now", "status"),
    [("2026-03-06T11:59:59.999Z", "rejected"), ("2026-03-06T12:00:00Z", "accepted")],
)
def test_a_batch_whose_number_was_used_within_five_days_is_a_duplicate(sandbox, now, status):
    first = opened_batch(sandbox, processor_batch_id="042")["id"]
    assert settled(sandbox, first)["status"] == "accepted"
    set_clock(sandbox, now)
    second = opened_batch(sandbox, processor_batch_id="042")["id"]

    result = settled(sandbox, second)

    assert result["status"] == status
    if status == "rejected":
        assert result["response"] == {"rejection_reason": "QD - DUPLICATE BATCH"}
        shown(edit_batch(sandbox, second, processor_batch_id="043"))
        assert settled(sandbox, second)["status"] == "accepted"


@pytest.mark.proves("assumed 3.3-repeated")
def test_another_terminal_may_use_the_same_number(sandbox):
    settled(sandbox, opened_batch(sandbox, processor_batch_id="042")["id"])
    till = a_terminal(sandbox)["terminal_id"]
    body = {"terminal_id": till, "processor_batch_id": "042"}
    other = made(ask(sandbox, "POST", "/v1/batches/open", body))

    assert settled(sandbox, other["id"])["status"] == "accepted"
