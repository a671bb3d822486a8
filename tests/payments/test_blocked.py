"""Where an account, a terminal or a location is blocked. Assumed 4.7-blocked-account, I10."""

import pytest

from tests.support.directory import NOBODY
from tests.support.payments import ACTIONS


@pytest.mark.proves("assumed 4.7-blocked-account, Q26, 0.5-http")
def test_a_blocked_account_takes_no_payment_on_any_path_but_accepts_reported_outcomes(sandbox):
    # tests/readings/test_blocking has all that a block stops, and what it does not.
    told = sandbox.pay(at="passthrough_merchant").expect(200)
    for name in ("merchant", "passthrough_merchant"):
        sandbox.set_status("account", name)

    with sandbox.unchanged():
        for places in (
            {"terminal_id": sandbox.terminal_id("merchant")},
            {"location_id": sandbox.location_id("merchant")},
            {"account_id": sandbox.account_id("merchant")},
        ):
            answer = sandbox.pay(by="merchant", **places)
            clause = "assumed 4.7-blocked-account"
            sandbox.refused(answer, 423, "account_blocked", clause=clause)
    # Told, not asked for: the edit is neither an initiation nor an action (assumed 4.7).
    assert sandbox.edited(told["transaction_id"], status="captured")["status"] == "captured"


@pytest.mark.proves("assumed C5")
def test_the_permission_and_the_target_come_before_the_block_and_the_body_after_it(sandbox):
    tx = sandbox.held()
    sandbox.set_status("account", "merchant")
    narrow = sandbox.mint(["payments:read"], by="psp")["key"]

    sandbox.refused(sandbox.act(tx, "capture", by=narrow), 401, "permission_denied")
    sandbox.refused(sandbox.act(tx, "capture", by="other_partner"), 404, "not_found")
    sandbox.refused(sandbox.act(NOBODY, "capture"), 404, "not_found")
    sandbox.refused(sandbox.act(tx, "capture", amount="x"), 423, "account_blocked")
    sandbox.refused(sandbox.pay("x", by="merchant"), 423, "account_blocked")


@pytest.mark.proves("assumed 4.7-blocked-terminal")
def test_payments_that_were_taken_before_are_followed_up_and_settled(sandbox):
    ready = {name: sandbox.ready_for(name) for name in ACTIONS}
    batch_id = sandbox.read(ready["refund"])["batch_id"]
    sandbox.set_status("terminal", "merchant")
    sandbox.set_status("location", "merchant")

    for name, id in ready.items():
        assert sandbox.operate(id, name).status == 200, name

    # Its batches are opened, edited and closed as well.
    sandbox.edit_batch(batch_id, removed_transactions=[ready["tip_adjust"]]).expect(200)
    assert sandbox.settled(batch_id)["status"] == "accepted"
    assert sandbox.read(ready["capture"])["status"] == "settled"
    following = sandbox.opened_batch()["id"]
    sandbox.edit_batch(following, added_transactions=[ready["tip_adjust"]]).expect(200)
    assert sandbox.sums(following) == (1200, 0, 1)


@pytest.mark.proves("assumed 1.8-where")
def test_a_blocked_terminal_does_not_count_when_an_account_names_its_only_one(sandbox):
    other = sandbox.a_terminal()["terminal_id"]
    merchant = sandbox.account_id("merchant")
    two = sandbox.pay(account_id=merchant)

    sandbox.set_status("terminal", "merchant")
    one = sandbox.pay(account_id=merchant)

    assert "terminal_id" in sandbox.refused(two, clause="assumed 1.8-where")
    assert (one.expect(200)["tid"], one.expect(200)["status"]) == (other, "captured")
