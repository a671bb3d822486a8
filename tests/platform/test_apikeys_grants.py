"""What a key may hand on to a new one: steps 8 to 10 of assumed 4.4-order."""

import pytest

from tests.platform.minting import CONCRETE, messages, mint, refused_by


def create(sandbox, *, key, body):
    return sandbox.ask("POST", "/v5/apikeys", key=key, json_body=body)


def verdict(answer):
    return answer.status, answer.json()["error"]


WEBHOOKS = ["webhooks:read", "webhooks:create", "webhooks:edit", "webhooks:delete"]
BUT_WEBHOOKS = [permission for permission in CONCRETE if permission not in WEBHOOKS]


@pytest.mark.proves("spec 4.1.4, 5.8, 7-403")
@pytest.mark.parametrize(
    "asked",
    [
        ["payments:refund"],
        ["payments:read", "payments:refund"],
        ["apikeys:create:sub"],
        ["apikeys:read"],
        ["terminals:read"],
        ["webhooks:read"],
        ["all"],
    ],
    ids="+".join,
)
def test_a_key_cannot_hand_on_what_it_does_not_hold(sandbox, asked):
    key = mint(sandbox, ["apikeys:create", "payments:read"], by="merchant").key

    answer = create(sandbox, key=key, body={"name": "x", "permissions": asked})

    assert verdict(answer) == (403, "forbidden")
    assert refused_by(sandbox, answer) == ("grant", "403", "spec 4.1.4")
    assert len(messages(sandbox)) == 1


def test_a_key_can_hand_on_all_that_it_holds(sandbox):
    held = ["payments:read", "apikeys:create", "accounts:create:merchant"]
    key = mint(sandbox, held, by="merchant").key

    answer = create(sandbox, key=key, body={"name": "x", "permissions": held})

    assert answer.status == 201


@pytest.mark.proves("spec 5.7, 4.1.4")
def test_the_sub_form_is_not_handed_on_by_the_base_form_nor_the_other_way_round(sandbox):
    base = mint(sandbox, ["apikeys:create", "apikeys:read"], by="partner").key
    sub = mint(sandbox, ["apikeys:create", "apikeys:read:sub"], by="partner").key

    up = create(sandbox, key=base, body={"name": "x", "permissions": ["apikeys:read:sub"]})
    down = create(sandbox, key=sub, body={"name": "x", "permissions": ["apikeys:read"]})

    assert (up.status, down.status) == (403, 403)


@pytest.mark.proves(
    "spec 2.2-webhooks, 4.1.5, 5.8, 7-403", "assumed 4.4-grants, 4.4-admin-only, Q10, Q14"
)
@pytest.mark.parametrize("permission", WEBHOOKS)
@pytest.mark.parametrize(
    ("caller", "status"), [("merchant", 403), ("partner", 403), ("admin", 403), ("psp", 201)]
)
def test_webhook_permissions_are_granted_by_psp_accounts_alone(sandbox, caller, status, permission):
    body = {"name": "x", "permissions": ["payments:read", permission]}

    answer = create(sandbox, key=caller, body=body)

    assert answer.status == status


@pytest.mark.proves("spec 5.8", "assumed 4.4-grants")
def test_a_merchant_that_was_given_webhook_permissions_cannot_hand_them_on(sandbox):
    given = mint(sandbox, ["apikeys:create", "webhooks:read"], by="psp", account="merchant")

    answer = create(sandbox, key=given.key, body={"name": "x", "permissions": ["webhooks:read"]})

    assert verdict(answer) == (403, "forbidden")
    assert refused_by(sandbox, answer) == ("grant", "403", "spec 5.8")


@pytest.mark.proves("spec 2.2-all", "assumed 4.4-all, Q11")
@pytest.mark.parametrize("caller", ["admin", "psp", "partner", "merchant", "legacy"])
def test_whoever_holds_a_macro_can_grant_all_and_every_permission_but_webhooks(sandbox, caller):
    for_all = create(sandbox, key=caller, body={"name": "x", "permissions": ["all"]})
    for_each = create(sandbox, key=caller, body={"name": "x", "permissions": BUT_WEBHOOKS})

    assert (for_all.status, for_each.status) == (201, 201)


@pytest.mark.proves("assumed 4.4-all, Q11")
def test_whoever_holds_every_permission_can_grant_all_of_them_as_one(sandbox):
    # assumed 4.4-all: sets are compared after the macros are expanded.
    key = mint(sandbox, CONCRETE, by="psp", account="merchant").key

    answer = create(sandbox, key=key, body={"name": "x", "permissions": ["all"]})

    assert answer.status == 201


@pytest.mark.proves("assumed 4.4-all")
@pytest.mark.parametrize("lacking", CONCRETE)
def test_whoever_lacks_a_single_permission_cannot_grant_all(sandbox, lacking):
    held = [permission for permission in CONCRETE if permission != lacking]
    key = mint(sandbox, held, by="psp").key
    # Without the base form it can only create below its own account.
    account = "merchant" if lacking == "apikeys:create" else "psp"
    body = {"name": "x", "permissions": ["all"], "account_id": sandbox.account(account)}

    answer = create(sandbox, key=key, body=body)

    assert verdict(answer) == (403, "forbidden")
