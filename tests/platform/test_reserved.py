"""The edit of a transaction is reserved for passthrough flows. Source: spec 4.3-search-edit."""

import pytest

from sandbox.domain.permissions import PAYMENT_WRITES
from tests.support.directory import NOBODY


def path_of(tx):
    return f"/v1/transactions/{tx if isinstance(tx, str) else tx['transaction_id']}"


def a_key_with(sandbox, *permissions):
    return sandbox.mint(list(permissions), by="partner")["key"]


def waiting(sandbox):
    """A payment whose outcome the processor tells later."""
    return sandbox.in_state("pending")


# --- the order of checks: assumed 1.7-edit-order ----------------------------------------------


@pytest.mark.proves("spec 5.1, 5.6, 5.9, 4.3-search-edit", "assumed 1.7-edit-order, D37")
def test_without_a_permission_to_write_payments_it_is_hidden_or_denied(sandbox):
    tx = waiting(sandbox)
    places = [tx, sandbox.sold(), NOBODY]
    before = sandbox.state()

    for key in (None, "revoked"):
        assert sandbox.put(path_of(tx), by=key).status == 401
    blind = a_key_with(sandbox, "terminals:read", "batches:edit")
    reader = a_key_with(sandbox, "payments:read")
    before = sandbox.state()
    for status in ("captured", "refunded", "declined", "no such"):
        for place in places:
            answer = sandbox.put(path_of(place), {"status": status}, by=blind)
            sandbox.refused(answer, 404, "not_found")
            assert sandbox.last_decision(answer) == ("visibility", "404", "spec 5.9")
        answer = sandbox.put(path_of(tx), {"status": status}, by=reader)
        sandbox.refused(answer, 401, "permission_denied", clause="spec 5.9")
    assert sandbox.state() == before


@pytest.mark.proves("spec 4.3-search-edit", "assumed 1.7-edit-order, D37")
def test_a_key_that_may_write_payments_sees_which_permission_it_lacks(sandbox):
    outside = sandbox.sold(at="other_merchant", by="psp")

    for permission in PAYMENT_WRITES:
        key = a_key_with(sandbox, permission)
        missing = [
            sandbox.put(path_of(one), {"status": "captured"}, by=key) for one in (NOBODY, outside)
        ]
        for answer in missing:
            sandbox.refused(answer, 404, "not_found", clause="spec 7-404")
        assert len({answer.body for answer in missing}) == 1
        for status in ("authorized", "declined", "error", "canceled"):
            answer = sandbox.put(path_of(waiting(sandbox)), {"status": status}, by=key)
            assert (answer.status, answer.json()["status"]) == (200, status)


# What was told before, what is told then, and the permissions that it needs.
REPORTS = [
    ({}, {"status": "captured"}, "payments:capture"),
    ({}, {"status": "refunded"}, "payments:refund"),
    ({}, {"status": "reversed"}, "payments:void"),
    ({}, {"status": "captured", "refunded": 100}, "payments:capture and payments:refund"),
    ({}, {"status": "captured", "reversed": 100}, "payments:capture and payments:void"),
    ({"status": "captured"}, {"refunded": 100}, "payments:refund"),
    ({"status": "captured"}, {"reversed": 100}, "payments:void"),
]


@pytest.mark.proves("spec 5.6, 2.2", "assumed D37")
@pytest.mark.parametrize(("told", "body", "wanted"), REPORTS)
def test_a_reported_action_needs_its_own_permission(sandbox, told, body, wanted):
    wanted = wanted.split(" and ")
    rest = [one for one in PAYMENT_WRITES if one not in wanted]
    tx = waiting(sandbox)
    if told:
        tx = sandbox.edited(tx["transaction_id"], **told)

    for missing in wanted:
        key = a_key_with(sandbox, *rest, *(one for one in wanted if one != missing))
        answer = sandbox.put(path_of(tx), body, by=key)
        sandbox.refused(answer, 401, "permission_denied", clause="assumed D37")
        assert f"requires {missing}" in answer.json()["detail"]
        assert sandbox.read(tx) == tx

    key = a_key_with(sandbox, *wanted)
    changed = sandbox.put(path_of(tx), body, by=key).expect(200)
    assert changed == changed | body


@pytest.mark.proves("spec 4.3-search-edit, 7-401", "assumed 1.7-edit-order")
def test_an_edit_of_a_directly_managed_payment_is_a_401_whatever_is_sent(sandbox):
    tx = sandbox.sold()

    with sandbox.unchanged():
        for body in ({"status": "captured"}, {"status": "no such"}, None, [], "x", {}):
            answer = sandbox.put(path_of(tx), body, by="merchant")
            sandbox.refused(answer, 401, "permission_denied", clause="spec 4.3-search-edit")


BAD_BODIES = [
    *([], None, "captured", {"status": "no such"}, {"status": 1}, {"status": ""}),
    *({"status": "settled"}, {"status": "surcharge_pending"}, {"status_reason": "why"}),
    *({"refunded": -1}, {"refunded": "1"}, {"reversed": 1.5}, {"authorized_amount": 0}),
    *({"authorized_amount": True}, {"breakdown": {}}, {"breakdown": {"subtotal": -1}}),
    *({"breakdown": []}, {"status": "captured", "refunded": 10**12}),
]


@pytest.mark.proves("assumed 1.7-edit, 1.7-edit-order")
def test_an_impossible_body_is_a_400_and_changes_nothing(sandbox):
    tx = waiting(sandbox)

    with sandbox.unchanged():
        for body in BAD_BODIES:
            sandbox.refused(sandbox.put(path_of(tx), body, by="partner"))


@pytest.mark.proves("assumed 4.7-admin, 4.7-deleted-account")
def test_an_admin_and_accounts_above_a_deleted_one_read_it_and_may_not_edit_it(sandbox):
    tx = waiting(sandbox)
    gone = sandbox.account_id("passthrough_merchant")

    for by in ("admin", "partner"):
        if by == "partner":
            assert sandbox.delete(f"/v1/accounts/{gone}", by="psp").status == 204
        answer = sandbox.put(path_of(tx), {"status": "captured"}, by=by)
        sandbox.refused(answer, 404, "not_found")
        assert sandbox.read(tx, by=by) == tx
