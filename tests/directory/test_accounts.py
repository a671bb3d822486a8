"""Accounts: parents, kinds, the key that comes along, and deletion. Spec 2.6, assumed 1.3."""

import re

import pytest

from sandbox.domain.permissions import CONCRETE
from tests.directory.contract import ACCOUNTS
from tests.support.directory import ACCOUNT, ADDRESS, LISTINGS, NOBODY

BOTH = ("/v1/accounts", "/v2/accounts")


def path_of(account):
    return f"/v1/accounts/{account['id']}"


def ids_of(sandbox, *names):
    return [sandbox.account_id(name) for name in names]


# --- fields -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.3", "assumed C8, D20")
def test_a_new_account_has_the_fields_that_it_may_choose_and_no_others(sandbox):
    admins = {"admin_email": "a@b.example", "admin_first_name": "A", "admin_last_name": 7}
    decided = {"id": "x", "status": "blocked", "created_at": "x", "organization_id": "x"}
    answer = sandbox.post("/v1/accounts", ACCOUNT | admins | {"address": {"city": "Austin"}})
    account = answer.expect(201)
    chosen = sandbox.an_account(**decided)

    address = dict.fromkeys(ADDRESS) | {"city": "Austin"}
    assert account == ACCOUNTS.expected(sandbox, account) | {"address": address}
    assert sandbox.journal(answer)["notes"] == []
    assert chosen == ACCOUNTS.expected(sandbox, chosen)


# --- parents and kinds ------------------------------------------------------------------------


@pytest.mark.proves("spec 1-kinds", "assumed 1.3-create, 1.3-kinds")
def test_an_account_is_below_its_creator_or_a_descendant_and_lists_its_ancestors(sandbox):
    branch = sandbox.an_account(type="partner", name="Branch")
    for path in BOTH:
        account = sandbox.an_account(path=path)
        assert account["parent_account_ids"] == ids_of(sandbox, "psp", "partner")

    leaf = sandbox.an_account(parent_id=branch["id"], by="psp")

    assert leaf["parent_account_ids"] == [*ids_of(sandbox, "psp", "partner"), branch["id"]]
    for type in ("admin", "psp", "partner", "merchant"):
        account = sandbox.an_account(type=type, by="admin")
        assert (account["type"], account["parent_account_ids"]) == (type, ids_of(sandbox, "admin"))


@pytest.mark.proves("assumed 1.3-kinds, 1.3-parent, 4.7-create")
def test_a_merchant_as_parent_and_reserved_kinds_are_refused(sandbox):
    with sandbox.unchanged():
        for path in BOTH:
            merchant = {"parent_id": sandbox.account_id("merchant")}
            assert "parent_id" in sandbox.post(path, ACCOUNT | merchant).detail()
            for type in ("admin", "psp"):
                for caller in ("psp", "partner"):
                    answer = sandbox.post(path, ACCOUNT | {"type": type}, by=caller)
                    assert f"create it. type: {type}" in answer.detail(403, "forbidden")


CREATIONS = {
    "accounts:create:merchant": {"merchant": 201, "partner": 401, "psp": 401, "shop": 400},
    "accounts:create:partner": {"merchant": 401, "partner": 201, "psp": 403, "shop": 400},
    "accounts:edit": {"merchant": 401},
}


PARENTS = ["partner", "merchant", "other_merchant", "admin", "deleted_merchant", NOBODY]


@pytest.mark.proves("spec 2.2-accounts", "assumed 1.3-create, 4.7-create")
def test_the_type_decides_which_permission_a_creation_needs(sandbox):
    # spec 2.2: accounts have create:partner and create:merchant
    for held, statuses in CREATIONS.items():
        key = sandbox.mint([held], by="psp", account="partner")["key"]
        for path in BOTH:
            for type, status in statuses.items():
                answer = sandbox.post(path, ACCOUNT | {"type": type}, by=key)
                assert answer.status == status, (held, type, answer.body)
                # What is denied is denied whatever the parent.
                for parent in PARENTS if status == 401 else ():
                    body = ACCOUNT | {"type": type, "parent_id": sandbox.account_id(parent)}
                    sandbox.post(path, body, by=key).detail(401, "permission_denied")


# --- the key that comes along -----------------------------------------------------------------

FOR_A_PARTNER = [
    one for one in CONCRETE if not one.startswith(("webhooks:", "accounts:create:partner"))
]
FOR_A_MERCHANT = [
    one for one in FOR_A_PARTNER if not one.startswith("accounts:create") and ":sub" not in one
]


@pytest.mark.proves(
    "spec 4.4-paths-provisioning, 9.2", "assumed 1.3-provisioned, 1.3-api-key, Q27, D38"
)
def test_a_v2_account_comes_with_an_organization_and_a_key_that_is_shown_once(sandbox):
    # spec 4.4: creation under v2 provisions; what exactly is assumed 1.3.
    for type, permissions in (("merchant", FOR_A_MERCHANT), ("partner", FOR_A_PARTNER)):
        for by in ("partner", "psp"):
            account = sandbox.an_account(by=by, path="/v2/accounts", type=type)
            key = account["api_key"]
            assert re.fullmatch(r"org_[A-Za-z0-9]{27}", account["organization_id"])
            assert re.fullmatch(r"svc_uat_[A-Za-z0-9]{12}_[A-Za-z0-9]{32}", key["key"])
            assert key["name"] == f"{ACCOUNT['name']} default key"
            assert key["permissions"] == permissions
            assert sandbox.fired()[-2:] == ["account.created", "api_key.created"]
            kept = sandbox.get(f"/v5/apikeys/{key['id']}", by=by).expect(200)
            assert kept == key | {"account_id": account["id"], "key": None}
            assert "api_key" not in sandbox.get(f"/v2/accounts/{account['id']}", by=by).expect(200)


MERCHANT, PARTNER = "accounts:create:merchant", "accounts:create:partner"
# Whose key creates an account, what else it holds besides creating, and what the new key holds.
PASSED_ON = [
    ("partner", "merchant", [MERCHANT, "payments:read"], ["payments:read"]),
    ("partner", "merchant", [MERCHANT, "apikeys:create:sub", "batches:open"], ["batches:open"]),
    (
        *("partner", "merchant", ["terminals:read", MERCHANT, "terminals:create"]),
        ["terminals:read", "terminals:create"],
    ),
    # Webhook permissions are not passed on.
    (
        *("psp", "partner", ["webhooks:read", PARTNER, MERCHANT, "batches:read"]),
        ["batches:read", MERCHANT],
    ),
    # assumed D19: a creator with nothing to grant.
    ("partner", "merchant", [MERCHANT], None),
    ("partner", "merchant", [MERCHANT, "apikeys:create:sub"], None),
    ("partner", "partner", [PARTNER], None),
]


@pytest.mark.proves("assumed 1.3-provisioned, D19")
def test_the_key_that_comes_along_never_holds_more_than_its_creator_and_may_be_missing(sandbox):
    for account, type, held, permissions in PASSED_ON:
        creator = sandbox.mint(held, by="psp", account=account)["key"]
        known = len(sandbox.fired())
        created = sandbox.an_account(by=creator, path="/v2/accounts", type=type)
        key = created["api_key"]
        assert created["organization_id"].startswith("org_")
        assert (key and key["permissions"]) == permissions, held
        query = f"account_id={created['id']}"
        listed = sandbox.get("/v5/apikeys", query=query).json()
        if permissions is None:
            assert sandbox.fired()[known:] == ["account.created"]
            assert listed == []


# --- deletion ---------------------------------------------------------------------------------


@pytest.mark.proves("assumed 1.3-delete")
def test_an_account_is_deleted_by_another_one_and_after_its_descendants(sandbox):
    branch = sandbox.an_account(type="partner", name="Branch")
    leaf = sandbox.an_account(parent_id=branch["id"], by="psp")

    with sandbox.unchanged():
        for by in ("merchant", "partner", "psp", "admin"):
            sandbox.delete(f"/v1/accounts/{sandbox.account_id(by)}", by=by).detail(409, "conflict")
        for above in (branch, {"id": sandbox.account_id("partner")}):
            answer = sandbox.delete(path_of(above), by="psp")
            sandbox.refused(answer, 409, "conflict", clause="assumed 1.3-delete")
    assert sandbox.delete(path_of(leaf)).status == 204
    assert sandbox.delete(path_of(branch)).status == 204


@pytest.mark.proves("assumed 4.7-deleted-account")
def test_records_of_a_deleted_account_are_deleted_with_it_unannounced(sandbox):
    shop = sandbox.an_account(path="/v2/accounts")
    id, key = shop["id"], shop["api_key"]
    paths = [
        f"/v2/terminals/{sandbox.a_terminal(id)['terminal_id']}",
        f"/v1/locations/{sandbox.a_location(id)['id']}",
        f"/v1/accounts/credentials/{sandbox.a_credential(id)['id']}",
        f"/v5/apikeys/{key['id']}",
    ]
    known = len(sandbox.messages())

    sandbox.delete(path_of(shop))

    (message,) = sandbox.messages()[known:]
    assert (message["event_type"], message["body"]) == ("account.deleted", {"id": id})
    agenda = sandbox.look("agenda")["agenda"]
    assert key["id"] not in [one["subject"]["id"] for one in agenda]
    assert [sandbox.get(path).status for path in paths] == [404, 404, 404, 404]
    listings = [sandbox.get(path, query="limit=200").body for path in LISTINGS.values()]
    assert not any(id.encode() in listing for listing in listings)
    stopped = sandbox.get("/v2/terminals", by=key["key"])
    assert stopped.error() == (401, "authentication_failed")
    # The numbers of its terminal are free again, and what belongs to others is as it was.
    assert sandbox.a_terminal("merchant")["status"] == "active"
    for path in (
        f"/v2/terminals/{sandbox.terminal_id('merchant')}",
        f"/v1/locations/{sandbox.location_id('merchant')}",
    ):
        assert sandbox.get(path, by="merchant").status == 200


@pytest.mark.proves("assumed D45")
@pytest.mark.parametrize(("result", "status"), [(None, 409), ("rejected", 409), ("accepted", 204)])
def test_a_merchant_is_deleted_once_its_batches_have_settled_or_are_empty(sandbox, result, status):
    sandbox.set_switch("batch.settlement", "manual")
    merchant = f"/v1/accounts/{sandbox.account_id('merchant')}"
    place = {"terminal_id": sandbox.terminal_id("merchant")}
    batch = sandbox.post("/v1/batches/open", place, by="merchant").expect(201)["id"]
    assert sandbox.post("/v3/payment", place | {"amount": 1}, by="merchant").json()
    if result is not None:
        sandbox.post(f"/v1/batches/{batch}/close", {}, by="merchant").expect(200)
        assert sandbox.delete(merchant).status == 409
        sandbox.answer_batch(batch, result)
        if result == "accepted":
            sandbox.post("/v1/batches/open", place, by="merchant").expect(201)

    assert sandbox.delete(merchant).status == status
