"""Where an account, a terminal or a location is blocked. Assumed 4.7-blocked-account, I10."""

import pytest

from tests.directory.making import (
    NOBODY,
    a_terminal,
    account_id,
    location_id,
    mint,
    shown,
    terminal_id,
)
from tests.support.payments import (
    OPERATIONS,
    act,
    drop,
    edit_batch,
    edited,
    held,
    opened_batch,
    operate,
    pay,
    read,
    ready_for,
    refused,
    set_status,
    settled,
    sums,
    unchanged,
)


@pytest.mark.proves("assumed 4.7-blocked-account, Q26, 0.5-http")
def test_a_blocked_account_takes_no_payment_wherever_it_is_asked_for_and_is_told_outcomes(sandbox):
    # tests/readings/test_blocking has all that a block stops, and what it does not.
    told = shown(pay(sandbox, at="passthrough_merchant"))
    for name in ("merchant", "passthrough_merchant"):
        set_status(sandbox, "account", name)

    with unchanged(sandbox):
        for places in (
            {"terminal_id": terminal_id(sandbox, "merchant")},
            {"location_id": location_id(sandbox, "merchant")},
            {"account_id": account_id(sandbox, "merchant")},
        ):
            answer = pay(sandbox, by="merchant", **places)
            clause = "assumed 4.7-blocked-account"
            refused(sandbox, answer, 423, "account_blocked", clause=clause)
    # Told, not asked for: the edit is neither an initiation nor an action (assumed 4.7).
    assert edited(sandbox, told["transaction_id"], status="captured")["status"] == "captured"


@pytest.mark.proves("assumed C5")
def test_the_permission_and_the_target_come_before_the_block_and_the_body_after_it(sandbox):
    tx = held(sandbox)
    set_status(sandbox, "account", "merchant")
    narrow = mint(sandbox, ["payments:read"], by="psp")["key"]

    refused(sandbox, act(sandbox, tx, "capture", by=narrow), 401, "permission_denied")
    refused(sandbox, act(sandbox, tx, "capture", by="other_partner"), 404, "not_found")
    refused(sandbox, act(sandbox, NOBODY, "capture"), 404, "not_found")
    refused(sandbox, act(sandbox, tx, "capture", amount="x"), 423, "account_blocked")
    refused(sandbox, pay(sandbox, "x", by="merchant"), 423, "account_blocked")


@pytest.mark.proves("assumed 4.7-blocked-terminal")
def test_payments_that_were_taken_before_are_followed_up_and_settled(sandbox):
    ready = {name: ready_for(sandbox, name) for name in list(OPERATIONS)[2:]}
    batch_id = read(sandbox, ready["refund"])["batch_id"]
    set_status(sandbox, "terminal", "merchant")
    set_status(sandbox, "location", "merchant")

    for name, id in ready.items():
        assert operate(sandbox, id, name).status == 200, name

    # Its batches are opened, edited and closed as well.
    shown(edit_batch(sandbox, batch_id, removed_transactions=[ready["tip_adjust"]]))
    assert settled(sandbox, batch_id)["status"] == "accepted"
    assert read(sandbox, ready["capture"])["status"] == "settled"
    following = opened_batch(sandbox)["id"]
    shown(edit_batch(sandbox, following, added_transactions=[ready["tip_adjust"]]))
    assert sums(sandbox, following) == (1200, 0, 1)


@pytest.mark.proves("assumed 1.8-where")
def test_a_blocked_terminal_beside_an_active_one_leaves_one_that_an_account_stands_for(sandbox):
    other = a_terminal(sandbox)["terminal_id"]
    merchant = account_id(sandbox, "merchant")
    two = pay(sandbox, account_id=merchant)

    set_status(sandbox, "terminal", "merchant")
    one = pay(sandbox, account_id=merchant)

    assert "terminal_id" in refused(sandbox, two, clause="assumed 1.8-where")
    assert (shown(one)["tid"], shown(one)["status"]) == (other, "captured")


@pytest.mark.proves("assumed 4.7-deleted")
def test_no_payment_is_taken_at_a_deleted_place_and_those_before_keep_it(sandbox):
    terminal, location = (id_of(sandbox, "merchant") for id_of in (terminal_id, location_id))
    tx = held(sandbox)
    for kind, id in (("location", location), ("terminal", terminal)):
        drop(sandbox, kind, "merchant")
        with unchanged(sandbox):
            answer = pay(sandbox, **{f"{kind}_id": id})
            refused(sandbox, answer, 404, "not_found", clause="spec 7-404")
    assert read(sandbox, tx) == tx
