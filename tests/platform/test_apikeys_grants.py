"""What a key may hand on to a new one: steps 8 to 10 of assumed 4.4-order."""

import pytest

from sandbox.domain.permissions import CONCRETE
from sandbox.domain.profile import PermissionRules, Profile, parse_profile
from tests.driving import fresh

WEBHOOKS = ["webhooks:read", "webhooks:create", "webhooks:edit", "webhooks:delete"]
ADMIN_ONLY = "accounts:create:partner"
FOR_EVERYBODY = [one for one in CONCRETE if one not in (*WEBHOOKS, ADMIN_ONLY)]


def grant(sandbox, key, *permissions, **more):
    """The answer to the creation of a key with these permissions."""
    body = {"name": "x", "permissions": list(permissions), **more}
    return sandbox.post("/v5/apikeys", body, by=key)


def statuses(sandbox, key, *permissions):
    """The status of the creation of a key with each of them."""
    return [grant(sandbox, key, one).status for one in permissions]


# What the caller of the grant holds, what it asks for, and the answer.
HANDED_ON = """
apikeys:create payments:read;            payments:refund;               403
apikeys:create payments:read;            payments:read payments:refund; 403
apikeys:create payments:read;            apikeys:create:sub;            403
apikeys:create payments:read;            webhooks:read;                 403
apikeys:create payments:read;            all;                           403
apikeys:create payments:read;            payments:read apikeys:create;  201
apikeys:create apikeys:read;             apikeys:read:sub;              403
apikeys:create apikeys:read:sub;         apikeys:read;                  403
apikeys:create accounts:create:merchant; accounts:create:merchant;      201
"""


@pytest.mark.proves("spec 4.1.4, 5.7, 5.8, 7-403")
def test_a_key_can_hand_on_what_it_holds_and_nothing_else(sandbox):
    for line in HANDED_ON.strip().splitlines():
        held, asked, status = (one.split() for one in line.split(";"))
        key = sandbox.mint(held, by="partner")["key"]
        before = len(sandbox.messages())

        answer = grant(sandbox, key, *asked)

        assert answer.status == int(status[0]), line
        if answer.status == 403:
            assert answer.json()["error"] == "forbidden"
            assert sandbox.last_decision(answer) == ("grant", "403", "spec 4.1.4"), line
            assert len(sandbox.messages()) == before


@pytest.mark.proves(
    "spec 2.2-webhooks, 4.1.5, 5.8, 7-403", "assumed 4.4-grants, 4.4-admin-only, Q10, Q14"
)
def test_a_psp_grants_webhook_permissions_and_an_admin_too_those_for_admins(sandbox):
    for caller, webhooks, admin_only in (
        *(("merchant", 403, 403), ("partner", 403, 403)),
        *(("admin", 403, 201), ("psp", 201, 201)),
    ):
        for permission, status, clause in (
            *((one, webhooks, "spec 5.8") for one in WEBHOOKS),
            (ADMIN_ONLY, admin_only, "spec 4.1.5"),
        ):
            answer = grant(sandbox, caller, "payments:read", permission)
            assert answer.status == status, (caller, permission)
            if status == 403:
                assert sandbox.last_decision(answer) == ("grant", "403", clause)
    given = sandbox.mint(["apikeys:create", "webhooks:read"], by="psp", account="merchant")
    answer = grant(sandbox, given["key"], "webhooks:read")
    assert sandbox.last_decision(answer) == ("grant", "403", "spec 5.8")


@pytest.mark.proves("assumed Q14, 1.3-provisioned")
def test_the_profile_lists_the_admin_only_permissions():
    rules = PermissionRules(admin_only=("terminals:delete", "all"))
    sandbox = fresh(profile=Profile(permissions=rules))

    assert statuses(sandbox, "merchant", *rules.admin_only, ADMIN_ONLY) == [403, 403, 201]
    assert statuses(sandbox, "admin", *rules.admin_only) == [201, 201]
    for creator, is_given in (("partner", False), ("psp", True)):
        account = sandbox.an_account(by=creator, path="/v2/accounts")
        given = account["api_key"]["permissions"]
        assert ("terminals:delete" in given, "terminals:edit" in given) == (is_given, True)


@pytest.mark.proves("assumed Q14")
def test_a_profile_that_reserves_an_unknown_permission_is_refused():
    for name, said in (("legacy_all", ""), ("terminals:deletes", "terminals:delete"), ("", "")):
        with pytest.raises(ValueError, match=rf"admin_only\.0(.|\n)*{said}"):
            parse_profile({"permissions": {"admin_only": [name]}})


@pytest.mark.proves("spec 2.2-all", "assumed 4.4-all, Q11")
def test_a_holder_of_a_macro_or_of_every_permission_can_grant_all(sandbox):
    # assumed 4.4-all: sets are compared after the macros are expanded.
    every = sandbox.mint(CONCRETE, by="psp", account="merchant")["key"]

    for caller in ("admin", "psp", "partner", "merchant", "legacy", every):
        assert grant(sandbox, caller, "all").status == 201
        assert grant(sandbox, caller, *FOR_EVERYBODY).status == 201


@pytest.mark.proves("assumed 4.4-all")
def test_a_caller_who_lacks_a_single_permission_cannot_grant_all(sandbox):
    for lacking in CONCRETE:
        held = [permission for permission in CONCRETE if permission != lacking]
        key = sandbox.mint(held, by="psp")["key"]
        # Without the base form it can only create below its own account.
        account = "merchant" if lacking == "apikeys:create" else "psp"

        answer = grant(sandbox, key, "all", account_id=sandbox.account_id(account))

        assert answer.error() == (403, "forbidden"), lacking


@pytest.mark.proves("assumed D36")
def test_all_grants_no_more_than_the_account_of_its_creator_may(sandbox):
    for by in ("merchant", "partner", "legacy"):
        made = grant(sandbox, by, "all")
        key = made.json()
        assert key["permissions"] == ["all"]
        decisions = sandbox.journal(made)["decisions"]
        (left_out,) = [one["reason"] for one in decisions if one["clause"] == "assumed D36"]
        assert ADMIN_ONLY in left_out
        assert "webhooks:read" in left_out
        partner = {"type": "partner", "name": "Sub", "parent_id": key["account_id"]}
        refused = sandbox.post("/v1/accounts", partner, by=key["key"])
        assert refused.status == 401
        # What it does not have it cannot hand on either, not even under the name of all.
        assert statuses(sandbox, key["key"], "all", ADMIN_ONLY) == [201, 403]
    for by, expected in (("psp", [201, 201]), ("admin", [403, 201])):
        key = grant(sandbox, by, "all").json()["key"]
        assert statuses(sandbox, key, "webhooks:read", ADMIN_ONLY) == expected
