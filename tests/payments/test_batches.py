"""Batches until they are closed: who opens them, what is in them, what they add up to."""

from itertools import product

import pytest

from sandbox.domain.batches import BATCH_LIFE, BATCH_STATUSES
from sandbox.domain.states import NoSuchStep
from tests.driving import InProcess
from tests.support.directory import NOBODY

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


@pytest.mark.proves("spec 3.3, 3.3-transitions", "assumed 3.2, B15")
def test_the_life_of_a_batch_is_the_documented_one_and_every_other_pair_is_refused():
    seen = {}

    for pair in product(["-", *BATCH_STATUSES], {trigger for _, trigger in TABLE}):
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
        sandbox.set_switch("batch.settlement", "manual")
    first = sandbox.sold(amounts.get(status, 1000))
    sandbox.sold(700)
    if status != "open":
        sandbox.settled(first["batch_id"])
    assert sandbox.batch(first["batch_id"])["status"] == status
    return first["batch_id"]


@pytest.mark.proves("spec 4.4-paths-batches", "assumed 3.2, B7, B8, B14, B15")
@pytest.mark.parametrize("status", BATCH_STATUSES)
def test_edit_and_close_do_what_the_table_says_and_change_nothing_elsewhere(sandbox, status):
    for trigger, ask in (("edit", InProcess.edit_batch), ("close", InProcess.close_batch)):
        id = a_batch_that_is(sandbox, status)
        count = len(sandbox.messages())
        if (status, trigger) in TABLE:
            body = ask(sandbox, id).expect(200)
            assert (body["status"], sandbox.fired(count)[0]) == TABLE[status, trigger]
            assert (body["closed_at"], body["response"]) == (None, None)
        else:
            with sandbox.unchanged():
                answer = ask(sandbox, id)
                assert status in sandbox.refused(answer, clause="assumed 3.2")
            possible = ", ".join(one for state, one in TABLE if state == status) or "nothing"
            reason = f"batch: cannot {trigger} from {status}; possible: {possible}"
            assert sandbox.journal(answer)["decisions"][-1]["reason"] == reason


@pytest.mark.proves(
    "spec 2.5, 2.5-times, 6.3-batch.opened, 4.4-paths-batches", "assumed 1.11-open, B1, B6"
)
def test_a_batch_that_is_opened_is_empty_and_the_only_one_of_its_terminal(sandbox):
    opened = sandbox.opened_batch()

    # fixtures/events/batch.opened.json has every field.
    assert opened["account_id"] == sandbox.account_id("merchant")
    assert opened["terminal_id"] == sandbox.terminal_id("merchant")
    assert (opened["status"], opened["processor_batch_id"]) == ("open", "001")
    assert (opened["opened_at"], opened["closed_at"]) == ("2026-03-01T12:00:00.000Z", None)
    assert sandbox.sums(opened["id"]) == (0, 0, 0)
    assert [(one["event_type"], one["body"]) for one in sandbox.messages()] == [
        ("batch.opened", opened)
    ]
    assert sandbox.batch(opened["id"]) == opened
    with sandbox.unchanged():
        sandbox.refused(sandbox.open_batch(), 409, "conflict", clause="assumed B1")


@pytest.mark.proves("assumed B5, 3.3-repeated")
def test_numbers_run_from_001_to_999_and_begin_again_for_each_terminal(sandbox):
    first = sandbox.opened_batch(processor_batch_id="998")
    numbers = [first["processor_batch_id"]]
    sandbox.settled(first["id"])

    for _ in range(3):
        opened = sandbox.opened_batch()
        numbers.append(opened["processor_batch_id"])
        sandbox.settled(opened["id"])

    assert numbers == ["998", "999", "001", "002"]
    # Nor does a name of one's own lead back to a number that its processor would refuse.
    for name, following in (("B-17", "003"), ("997", "004")):
        sandbox.settled(sandbox.opened_batch(processor_batch_id=name)["id"])
        opened = sandbox.opened_batch()
        assert sandbox.settled(opened["id"])["status"] == "accepted"
        assert opened["processor_batch_id"] == following
    assert sandbox.opened_batch(at="second_merchant")["processor_batch_id"] == "001"


@pytest.mark.proves("spec 6.3-batch.edited", "assumed B7, M12")
def test_an_edit_frees_members_adds_them_again_and_gives_another_number(sandbox):
    tx, other = sandbox.sold(1000), sandbox.sold(500)
    id, count = tx["batch_id"], len(sandbox.messages())

    removed = sandbox.edit_batch(id, removed_transactions=[tx["transaction_id"]]).expect(200)
    free = sandbox.read(tx)
    added = sandbox.edit_batch(id, added_transactions=[tx["transaction_id"]]).expect(200)
    named = sandbox.edit_batch(id, processor_batch_id="night").expect(200)

    assert (removed["captured_amount"], removed["transaction_count"]) == (500, 1)
    assert (free["batch_id"], free["status"]) == (None, "captured")
    assert (added["captured_amount"], added["transaction_count"]) == (1500, 2)
    assert named == added | {"processor_batch_id": "night"}
    assert sandbox.read(tx)["batch_id"] == sandbox.read(other)["batch_id"] == id
    assert sandbox.fired(count) == ["batch.edited"] * 3
    assert sandbox.messages()[-1]["body"] == named
    # What was refunded has been captured all the same.
    sandbox.acted(other, "refund")
    sandbox.edit_batch(id, removed_transactions=[other["transaction_id"]]).expect(200)
    sandbox.edit_batch(id, added_transactions=[other["transaction_id"]]).expect(200)
    assert sandbox.sums(id) == (1500, 500, 3)


@pytest.mark.proves("assumed B7")
def test_one_bad_addition_or_removal_and_nothing_of_the_edit_is_applied(sandbox):
    good, member, gone = (sandbox.sold(amount) for amount in (300, 100, 200))
    sandbox.acted(gone, "reverse")
    bad = {
        "unknown": NOBODY,
        "a member already": member["transaction_id"],
        "of another terminal": sandbox.sold(at=sandbox.a_terminal()["terminal_id"]),
        "of another account": sandbox.sold(at="second_merchant"),
        "authorized": sandbox.held(100),
        "reversed": gone,
        "declined": sandbox.pay(outcome="do_not_honor").expect(200),
        "a batch": member["batch_id"],
    }
    bad = {why: one if isinstance(one, str) else one["transaction_id"] for why, one in bad.items()}
    id, free = member["batch_id"], good["transaction_id"]
    sandbox.edit_batch(id, removed_transactions=[free]).expect(200)

    with sandbox.unchanged():
        for why, one in bad.items():
            body = {"added_transactions": [free, one], "processor_batch_id": "777"}
            assert one in sandbox.refused(sandbox.edit_batch(id, **body), clause="assumed B7"), why
        for why in ("unknown", "authorized", "reversed"):
            body = {"removed_transactions": [member["transaction_id"], bad[why]]}
            assert bad[why] in sandbox.refused(sandbox.edit_batch(id, **body)), why


def test_a_batch_is_neither_opened_nor_edited_by_a_body_of_the_wrong_shape(sandbox):
    id, tx = (sandbox.sold()[name] for name in ("batch_id", "transaction_id"))

    with sandbox.unchanged():
        for number in ("", 7, True, [], {}, "9" * 65):
            answer = sandbox.open_batch("second_merchant", processor_batch_id=number)
            assert "processor_batch_id" in sandbox.refused(answer)
            sandbox.refused(sandbox.edit_batch(id, processor_batch_id=number))
        for value in ("x", [1], {}, [None], [""]):
            for name in ("added_transactions", "removed_transactions"):
                sandbox.refused(sandbox.edit_batch(id, **{name: value}))
        sandbox.refused(sandbox.edit_batch(id, removed_transactions=[tx] * 2))
