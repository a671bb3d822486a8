"""Batches until they are closed: who opens them, what is in them, what they add up to."""

from itertools import product

import pytest

from sandbox.domain.batches import BATCH_LIFE, BATCH_STATUSES
from sandbox.domain.states import NoSuchStep
from tests.directory.making import NOBODY, a_terminal, messages, set_clock, shown, terminal_id
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
    pay,
    read,
    refused,
    set_switch,
    settled,
    sold,
    sums,
)

TABLE = {
    ("-", "open"): ("open", "batch.opened"),
    ("open", "edit"): ("open", "batch.edited"),
    ("open", "close"): ("submitted", "batch.submitted"),
    ("submitted", "accept"): ("accepted", "batch.accepted"),
    ("submitted", "reject"): ("rejected", "batch.rejected"),
    ("submitted", "accept in part"): ("partially_accepted", "batch.partially_accepted"),
    ("rejected", "edit"): ("open", "batch.edited"),
    ("rejected", "close"): ("submitted", "batch.submitted"),
}
"""Assumed 3.2, every row of it."""

TRIGGERS = sorted({trigger for _, trigger in TABLE})
STATES = ["-", *BATCH_STATUSES]


# --- the life of a batch ----------------------------------------------------------------------


@pytest.mark.proves("spec 3.3, 3.3-transitions", "assumed 3.2, B15")
def test_the_life_of_a_batch_is_the_documented_one_and_every_other_pair_is_refused():
    seen = {}

    for pair in product(STATES, TRIGGERS):
        try:
            step = BATCH_LIFE.step(*pair)
        except NoSuchStep:
            continue
        seen[pair] = (step.target, step.event)

    assert seen == TABLE


def a_batch_that_is(sandbox, status):
    """A batch of the merchant's with two payments that came to be in this state."""
    amounts = {"rejected": 900402, "partially_accepted": 900401}
    if status == "submitted":
        set_switch(sandbox, "batch.settlement", "manual")
    first = sold(sandbox, amounts.get(status, 1000))
    sold(sandbox, 700)
    if status != "open":
        assert shown(close_batch(sandbox, first["batch_id"]))["status"] == "submitted"
    assert batch(sandbox, first["batch_id"])["status"] == status
    return first["batch_id"]


@pytest.mark.proves("spec 4.4-paths-batches", "assumed 3.2, B7, B8, B14, B15")
@pytest.mark.parametrize("trigger", ["edit", "close"])
@pytest.mark.parametrize("status", BATCH_STATUSES)
def test_edit_and_close_do_what_the_table_says_and_change_nothing_elsewhere(
    sandbox, status, trigger
):
    id = a_batch_that_is(sandbox, status)
    before, count = sandbox.state(), len(messages(sandbox))

    answer = edit_batch(sandbox, id) if trigger == "edit" else close_batch(sandbox, id)

    if (status, trigger) in TABLE:
        target, event = TABLE[status, trigger]
        assert shown(answer)["status"] == target
        assert (shown(answer)["closed_at"], shown(answer)["response"]) == (None, None)
        assert fired(sandbox, count)[0] == event
    else:
        assert status in refused(sandbox, answer, clause="assumed 3.2")
        assert sandbox.state() == before


# --- opening: B1, B2, B5, B6 ------------------------------------------------------------------


@pytest.mark.proves(
    "spec 2.5, 2.5-times, 6.3-batch.opened, 4.4-paths-batches", "assumed 1.11-open, B6"
)
def test_a_batch_that_is_opened_shows_its_terminals_processor_and_nothing_in_it(sandbox):
    opened = opened_batch(sandbox)

    assert opened == {
        "id": opened["id"],
        "account_id": sandbox.account("merchant"),
        "terminal_id": terminal_id(sandbox, "merchant"),
        "processor_name": "tsys",
        "processor_config_id": "cfg-tsys-001",
        "status": "open",
        "captured_amount": 0,
        "refunded_amount": 0,
        "transaction_count": 0,
        "processor_batch_id": "001",
        "opened_at": "2026-03-01T12:00:00.000Z",
        "closed_at": None,
        "response": None,
        "batch_metadata": {},
    }
    assert [(one["event_type"], one["body"]) for one in messages(sandbox)] == [
        ("batch.opened", opened)
    ]
    assert batch(sandbox, opened["id"]) == opened


@pytest.mark.proves("assumed 1.11-open, B1")
def test_a_terminal_has_one_open_batch_and_a_second_is_a_conflict(sandbox):
    opened_batch(sandbox)
    before = sandbox.state()

    answer = ask(
        sandbox, "POST", "/v1/batches/open", {"terminal_id": terminal_id(sandbox, "merchant")}
    )

    refused(sandbox, answer, 409, "conflict", clause="assumed B1")
    assert sandbox.state() == before


@pytest.mark.proves("assumed B1")
def test_each_terminal_has_a_batch_of_its_own(sandbox):
    other = a_terminal(sandbox)["terminal_id"]

    ids = {sold(sandbox, at=at)["batch_id"] for at in ("merchant", other, "second_merchant")}

    assert len(ids) == 3


@pytest.mark.proves("assumed B2, 8.3-order")
def test_a_first_sale_opens_the_batch_between_its_creation_and_its_outcome(sandbox):
    tx = sold(sandbox)

    assert fired(sandbox) == ["transaction.create", "batch.opened", "transaction.sale"]
    created, opened, outcome = (one["body"] for one in messages(sandbox))
    assert (created["batch_id"], outcome["batch_id"]) == (None, opened["id"])
    # spec 6.3-batch.opened: counts 0, whatever opened it.
    assert (opened["status"], opened["transaction_count"], opened["captured_amount"]) == (
        "open",
        0,
        0,
    )
    assert tx["batch_id"] == opened["id"]


@pytest.mark.proves("assumed B2")
def test_a_second_sale_joins_the_batch_that_is_open(sandbox):
    opened = opened_batch(sandbox)
    count = len(messages(sandbox))

    tx = sold(sandbox)

    assert tx["batch_id"] == opened["id"]
    assert fired(sandbox, count) == ["transaction.create", "transaction.sale"]


@pytest.mark.proves("assumed B5")
def test_numbers_run_from_001_to_999_and_begin_again(sandbox):
    first = opened_batch(sandbox, processor_batch_id="998")
    settled(sandbox, first["id"])

    numbers = []
    for _ in range(3):
        opened = opened_batch(sandbox)
        numbers.append(opened["processor_batch_id"])
        settled(sandbox, opened["id"])

    assert (first["processor_batch_id"], numbers) == ("998", ["999", "001", "002"])


@pytest.mark.proves("assumed B5")
def test_numbers_are_counted_for_each_terminal(sandbox):
    settled(sandbox, opened_batch(sandbox)["id"])

    opened = [opened_batch(sandbox, at=at) for at in ("merchant", "second_merchant")]

    assert [one["processor_batch_id"] for one in opened] == ["002", "001"]


@pytest.mark.parametrize("number", ["", 7, True, [], {}, "9" * 65])
def test_a_batch_number_that_is_not_text_is_refused(sandbox, number):
    body = {"terminal_id": terminal_id(sandbox, "merchant"), "processor_batch_id": number}
    before = sandbox.state()

    answer = ask(sandbox, "POST", "/v1/batches/open", body)

    assert "processor_batch_id" in refused(sandbox, answer)
    assert sandbox.state() == before


# --- sums: B3, B4, M10 ------------------------------------------------------------------------


@pytest.mark.proves("spec 2.5-sums", "assumed B4, M10, F26")
def test_the_sums_follow_every_change_of_a_payment_in_the_batch(sandbox):
    tx = sold(sandbox, 1000)
    other = sold(sandbox, 500)
    id, seen = tx["batch_id"], []

    for action, body in (
        ("adjust", {"type": "fixed", "amount": 200}),
        ("adjust", {"type": "fixed", "amount": 50}),
        ("reverse", {"amount": 150}),
        ("refund", {"amount": 100}),
        ("refund", {}),
    ):
        acted(sandbox, tx, action, **body)
        seen.append(sums(sandbox, id))
    acted(sandbox, other, "reverse")
    seen.append(sums(sandbox, id))

    # captured 1050 - 150 reversed = 900, of which two refunds of 100 and 800 are given back.
    assert seen == [
        (1700, 0, 2),
        (1550, 0, 2),
        (1400, 0, 2),
        (1400, 100, 3),
        (1400, 900, 4),
        (900, 900, 3),
    ]
    assert read(sandbox, other)["batch_id"] is None
    assert not [one for one in fired(sandbox) if one == "batch.edited"]


@pytest.mark.proves("assumed M9")
def test_a_refused_or_declined_follow_up_leaves_the_sums_as_they_were(sandbox):
    tx = sold(sandbox, 1000)

    act(sandbox, tx, "refund", amount=1001)
    act(sandbox, tx, "refund", outcome="refund_declined")
    act(sandbox, tx, "reverse", outcome="already_reversed")
    act(sandbox, tx, "adjust", type="fixed", amount=99_999)

    assert sums(sandbox, tx["batch_id"]) == (1000, 0, 1)


# --- editing: B7 ------------------------------------------------------------------------------


@pytest.mark.proves("spec 6.3-batch.edited", "assumed B7, M12")
def test_removed_members_are_free_and_can_be_added_again(sandbox):
    tx, other = sold(sandbox, 1000), sold(sandbox, 500)
    id, count = tx["batch_id"], len(messages(sandbox))

    removed = shown(edit_batch(sandbox, id, removed_transactions=[tx["transaction_id"]]))
    free = read(sandbox, tx)
    added = shown(edit_batch(sandbox, id, added_transactions=[tx["transaction_id"]]))

    assert (removed["captured_amount"], removed["transaction_count"]) == (500, 1)
    assert (free["batch_id"], free["status"]) == (None, "captured")
    assert (added["captured_amount"], added["transaction_count"]) == (1500, 2)
    assert read(sandbox, tx)["batch_id"] == read(sandbox, other)["batch_id"] == id
    assert fired(sandbox, count) == ["batch.edited", "batch.edited"]
    assert messages(sandbox)[-1]["body"] == added


@pytest.mark.proves("assumed B7")
def test_an_edit_can_give_the_batch_another_number(sandbox):
    id = opened_batch(sandbox)["id"]

    edited = shown(edit_batch(sandbox, id, processor_batch_id="night"))

    assert (edited["processor_batch_id"], edited["status"]) == ("night", "open")


def bad_additions(sandbox):
    """What can be wrong with an id that is to be added, in a world where each is wrong."""
    mine = sold(sandbox, 100)
    elsewhere = a_terminal(sandbox)["terminal_id"]
    gone = sold(sandbox, 100)
    acted(sandbox, gone, "reverse")
    return {
        "unknown": NOBODY,
        "a member already": mine["transaction_id"],
        "of another terminal": sold(sandbox, 100, at=elsewhere)["transaction_id"],
        "of another account": sold(sandbox, 100, at="second_merchant")["transaction_id"],
        "authorized": held(sandbox, 100)["transaction_id"],
        "reversed": gone["transaction_id"],
        "declined": shown(pay(sandbox, outcome="do_not_honor"))["transaction_id"],
        "a batch": mine["batch_id"],
    }


@pytest.mark.proves("assumed B7")
def test_one_bad_addition_and_nothing_of_the_edit_is_applied(sandbox):
    good = sold(sandbox, 300)
    id = good["batch_id"]
    bad = bad_additions(sandbox)
    shown(edit_batch(sandbox, id, removed_transactions=[good["transaction_id"]]))
    before = sandbox.state()

    for why, one in bad.items():
        answer = edit_batch(
            sandbox,
            id,
            added_transactions=[good["transaction_id"], one],
            processor_batch_id="777",
        )

        assert one in refused(sandbox, answer, clause="assumed B7"), why
        assert sandbox.state() == before, why


@pytest.mark.proves("assumed B7")
def test_one_bad_removal_and_nothing_of_the_edit_is_applied(sandbox):
    member, free = sold(sandbox, 300), sold(sandbox, 200)
    id = member["batch_id"]
    shown(edit_batch(sandbox, id, removed_transactions=[free["transaction_id"]]))

    for one in (NOBODY, free["transaction_id"], held(sandbox)["transaction_id"]):
        before = sandbox.state()
        answer = edit_batch(sandbox, id, removed_transactions=[member["transaction_id"], one])

        assert one in refused(sandbox, answer, clause="assumed B7")
        assert sandbox.state() == before


@pytest.mark.parametrize(
    "body",
    [
        {"added_transactions": "x"},
        {"added_transactions": [1]},
        {"added_transactions": {}},
        {"removed_transactions": [None]},
        {"removed_transactions": [""]},
        {"processor_batch_id": 12},
        {"processor_batch_id": ""},
    ],
)
def test_an_edit_of_the_wrong_shape_is_refused(sandbox, body):
    id = sold(sandbox)["batch_id"]
    before = sandbox.state()

    refused(sandbox, edit_batch(sandbox, id, **body))

    assert sandbox.state() == before


def test_a_payment_named_twice_in_one_edit_is_refused(sandbox):
    tx = sold(sandbox)
    twice = [tx["transaction_id"]] * 2
    before = sandbox.state()

    refused(sandbox, edit_batch(sandbox, tx["batch_id"], removed_transactions=twice))

    assert sandbox.state() == before


@pytest.mark.proves("assumed B16, 8.2-cut-off")
def test_an_open_batch_stays_open_however_many_days_pass(sandbox):
    sale = sold(sandbox)
    seen = len(fired(sandbox))

    set_clock(sandbox, "2026-03-09T12:00:00.000Z")

    assert batch(sandbox, sale["batch_id"])["status"] == "open"
    assert fired(sandbox, seen) == []
