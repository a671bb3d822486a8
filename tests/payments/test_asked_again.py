"""What was allowed once is asked again as soon as anything that decides it has changed."""

import pytest

from tests.directory.making import account_id, delete, location_id, mint, put, terminal_id
from tests.support.payments import block_account, pay, sold

CHANGES = {
    "the account is blocked": (lambda sandbox: block_account(sandbox, "merchant"), 423),
    "an account above is blocked": (lambda sandbox: block_account(sandbox, "partner"), 423),
    "the terminal is deleted": (
        lambda sandbox: [
            close_all(sandbox),
            delete(sandbox, f"/v2/terminals/{terminal_id(sandbox, 'merchant')}"),
        ],
        404,
    ),
}


def close_all(sandbox):
    """Settle the merchant's open batch, which keeps its terminal from being deleted."""
    listed = sandbox.ask("GET", "/v1/batches", key="partner", query="status=open").json()
    for batch in listed["batches"]:
        sandbox.ask("POST", f"/v1/batches/{batch['id']}/close", key="partner", json_body={})


@pytest.mark.parametrize("change", CHANGES)
def test_a_payment_like_the_one_before_is_refused_when_something_changed(sandbox, change):
    happen, status = CHANGES[change]
    sold(sandbox)

    happen(sandbox)

    assert pay(sandbox).status == status


@pytest.mark.proves("spec 3.1-revoke")
def test_a_key_that_was_revoked_no_longer_pays_until_it_is_reinstated(sandbox):
    key = mint(sandbox, ["payments:tap-ios"], by="merchant")
    statuses = []

    for status in ("active", "revoked", "active"):
        put(sandbox, f"/v5/apikeys/{key['id']}", {"status": status}, by="merchant")
        statuses.append(pay(sandbox, by=key["key"]).status)

    assert statuses == [200, 401, 200]


def test_what_one_key_may_another_may_not(sandbox):
    body = {"terminal_id": terminal_id(sandbox, "merchant")}
    first = pay(sandbox, by="merchant", **body)

    assert first.status == 200
    assert pay(sandbox, by="other_merchant", **body).status == 404


@pytest.mark.proves("assumed 1.9")
def test_what_is_allowed_for_one_platform_is_not_for_the_other(sandbox):
    key = mint(sandbox, ["payments:tap-ios"], by="merchant")["key"]

    statuses = [pay(sandbox, by=key, platform=name).status for name in ("ios", "android", "ios")]

    assert statuses == [200, 401, 200]


def test_a_name_that_was_out_of_reach_stays_so(sandbox):
    outside = {"location_id": location_id(sandbox, "other_merchant")}
    sold(sandbox)

    answers = [pay(sandbox, by="partner", **more) for more in (outside, {}, outside)]

    assert [answer.status for answer in answers] == [404, 200, 404]


def test_every_payment_has_all_its_decisions_in_the_journal(sandbox):
    first, second = pay(sandbox), pay(sandbox)

    steps = [
        [one["step"] for one in sandbox.journal(answer)["decisions"]] for answer in (first, second)
    ]

    assert steps[0] == steps[1] == ["route", "authenticate", "visibility", "target", "apply"]


@pytest.mark.proves("assumed 1.8-where")
def test_an_account_may_be_named_beside_its_terminal(sandbox):
    for _ in range(2):
        answer = pay(sandbox, account_id=account_id(sandbox, "merchant"))

        assert answer.status == 200
