"""What a key may hand on to a new one: steps 8 to 10 of assumed 4.4-order."""

import pytest

from sandbox.domain.profile import PermissionRules, Profile, parse_profile
from tests.directory.making import an_account
from tests.platform.minting import CONCRETE, messages, mint, refused_by, sandbox_with


def create(sandbox, *, key, body):
    return sandbox.ask("POST", "/v5/apikeys", key=key, json_body=body)


def verdict(answer):
    return answer.status, answer.json()["error"]


WEBHOOKS = ["webhooks:read", "webhooks:create", "webhooks:edit", "webhooks:delete"]
ADMIN_ONLY = "accounts:create:partner"
FOR_EVERYBODY = [one for one in CONCRETE if one not in (*WEBHOOKS, ADMIN_ONLY)]


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


@pytest.mark.proves("spec 2.2-webhooks, 5.8, 7-403", "assumed 4.4-grants, Q10")
@pytest.mark.parametrize(
    ("caller", "status"), [("merchant", 403), ("partner", 403), ("admin", 403), ("psp", 201)]
)
def test_webhook_permissions_are_granted_by_psp_accounts_alone(sandbox, caller, status):
    for permission in WEBHOOKS:
        body = {"name": "x", "permissions": ["payments:read", permission]}
        assert create(sandbox, key=caller, body=body).status == status, permission


@pytest.mark.proves("spec 4.1.5, 7-403", "assumed 4.4-grants, 4.4-admin-only, Q14")
@pytest.mark.parametrize(
    ("caller", "status"), [("merchant", 403), ("partner", 403), ("admin", 201), ("psp", 201)]
)
def test_admin_only_permissions_are_granted_by_admin_and_psp_accounts(sandbox, caller, status):
    body = {"name": "x", "permissions": ["payments:read", ADMIN_ONLY]}

    answer = create(sandbox, key=caller, body=body)

    assert answer.status == status
    if status == 403:
        assert answer.json()["error"] == "forbidden"
        assert refused_by(sandbox, answer) == ("grant", "403", "spec 4.1.5")


@pytest.mark.proves("assumed Q14")
def test_the_profile_lists_the_admin_only_permissions():
    rules = PermissionRules(admin_only=("terminals:delete", "all"))
    sandbox = sandbox_with(Profile(permissions=rules))

    def granted(*permissions, by="merchant"):
        body = {"name": "x", "permissions": list(permissions)}
        return create(sandbox, key=by, body=body).status

    assert [granted(one) for one in rules.admin_only] == [403, 403]
    assert granted(ADMIN_ONLY) == 201
    assert [granted(one, by="admin") for one in rules.admin_only] == [201, 201]


@pytest.mark.proves("assumed 1.3-provisioned")
@pytest.mark.parametrize(("creator", "is_given"), [("partner", False), ("psp", True)])
def test_the_key_of_a_v2_account_has_nothing_that_its_creator_may_not_grant(creator, is_given):
    rules = PermissionRules(admin_only=("terminals:delete",))
    sandbox = sandbox_with(Profile(permissions=rules))

    account = an_account(sandbox, by=creator, path="/v2/accounts")

    given = account["api_key"]["permissions"]
    assert ("terminals:delete" in given, "terminals:edit" in given) == (is_given, True)


@pytest.mark.proves("assumed Q14")
@pytest.mark.parametrize("name", ["legacy_all", "terminals:deletes", ""])
def test_a_profile_that_reserves_an_unknown_permission_is_refused(name):
    with pytest.raises(ValueError, match="admin_only: ") as caught:
        parse_profile({"permissions": {"admin_only": [name]}})

    assert name != "terminals:deletes" or "terminals:delete" in str(caught.value)


@pytest.mark.proves("spec 5.8", "assumed 4.4-grants")
def test_a_merchant_that_was_given_webhook_permissions_cannot_hand_them_on(sandbox):
    given = mint(sandbox, ["apikeys:create", "webhooks:read"], by="psp", account="merchant")

    answer = create(sandbox, key=given.key, body={"name": "x", "permissions": ["webhooks:read"]})

    assert verdict(answer) == (403, "forbidden")
    assert refused_by(sandbox, answer) == ("grant", "403", "spec 5.8")


@pytest.mark.proves("spec 2.2-all", "assumed 4.4-all, Q11")
@pytest.mark.parametrize("caller", ["admin", "psp", "partner", "merchant", "legacy"])
def test_a_holder_of_a_macro_can_grant_all_and_every_unreserved_permission(sandbox, caller):
    for_all = create(sandbox, key=caller, body={"name": "x", "permissions": ["all"]})
    for_each = create(sandbox, key=caller, body={"name": "x", "permissions": FOR_EVERYBODY})

    assert (for_all.status, for_each.status) == (201, 201)


@pytest.mark.proves("assumed 4.4-all, Q11")
def test_a_holder_of_every_permission_can_grant_all_of_them_as_one(sandbox):
    # assumed 4.4-all: sets are compared after the macros are expanded.
    key = mint(sandbox, CONCRETE, by="psp", account="merchant").key

    answer = create(sandbox, key=key, body={"name": "x", "permissions": ["all"]})

    assert answer.status == 201


@pytest.mark.proves("assumed 4.4-all")
def test_a_caller_who_lacks_a_single_permission_cannot_grant_all(sandbox):
    for lacking in CONCRETE:
        held = [permission for permission in CONCRETE if permission != lacking]
        key = mint(sandbox, held, by="psp").key
        # Without the base form it can only create below its own account.
        account = "merchant" if lacking == "apikeys:create" else "psp"
        body = {"name": "x", "permissions": ["all"], "account_id": sandbox.account(account)}

        assert verdict(create(sandbox, key=key, body=body)) == (403, "forbidden"), lacking


@pytest.mark.proves("assumed D36")
@pytest.mark.parametrize("by", ["merchant", "partner", "legacy"])
def test_all_grants_no_more_than_the_account_of_its_creator_may(sandbox, by):
    made = create(sandbox, key=by, body={"name": "x", "permissions": ["all"]})
    assert made.status == 201, made.body
    key = made.json()

    assert key["permissions"] == ["all"]
    left_out = [
        one["reason"]
        for one in sandbox.journal(made)["decisions"]
        if one["clause"] == "assumed D36"
    ]
    assert len(left_out) == 1
    assert "accounts:create:partner" in left_out[0]
    assert "webhooks:read" in left_out[0]
    partner = {"type": "partner", "name": "Sub", "parent_id": key["account_id"]}
    refused = sandbox.ask("POST", "/v1/accounts", key=key["key"], json_body=partner)
    assert refused.status == 401
    # What it does not have it cannot hand on either, not even under the name of all.
    again = create(sandbox, key=key["key"], body={"name": "y", "permissions": ["all"]})
    assert again.status == 201
    named = {"name": "z", "permissions": ["accounts:create:partner"]}
    assert create(sandbox, key=key["key"], body=named).status == 403


@pytest.mark.proves("assumed D36")
def test_all_of_a_psp_has_everything_and_of_an_admin_everything_but_webhooks(sandbox):
    by_psp = create(sandbox, key="psp", body={"name": "x", "permissions": ["all"]})
    by_admin = create(sandbox, key="admin", body={"name": "x", "permissions": ["all"]})

    for made, reads_webhooks in ((by_psp, 201), (by_admin, 403)):
        body = {"name": "y", "permissions": ["webhooks:read"]}
        assert create(sandbox, key=made.json()["key"], body=body).status == reads_webhooks
        body = {"name": "y", "permissions": ["accounts:create:partner"]}
        assert create(sandbox, key=made.json()["key"], body=body).status == 201
