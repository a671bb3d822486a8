"""Where accounts stand: parents, kinds, the key that comes along, and deletion. Assumed 1.3."""

import re

import pytest

from tests.directory.making import (
    ACCOUNT,
    LISTINGS,
    NOBODY,
    a_credential,
    a_location,
    a_terminal,
    account_id,
    an_account,
    delete,
    detail,
    events,
    get,
    location_id,
    messages,
    mint,
    post,
    shown,
    terminal_id,
)

BOTH = ["/v1/accounts", "/v2/accounts"]

# --- parents ----------------------------------------------------------------------------------


@pytest.mark.proves("assumed 1.3-create")
@pytest.mark.parametrize("path", BOTH)
def test_without_a_parent_an_account_stands_below_the_callers(sandbox, path):
    account = an_account(sandbox, path=path)

    assert account["parent_account_ids"] == [
        account_id(sandbox, "psp"),
        account_id(sandbox, "partner"),
    ]


@pytest.mark.proves("spec 1-kinds")
def test_an_account_can_stand_below_a_descendant_and_lists_its_ancestors_from_the_root(sandbox):
    branch = an_account(sandbox, type="partner", name="Branch")

    account = an_account(sandbox, parent_id=branch["id"], by="psp")

    assert account["parent_account_ids"] == [
        account_id(sandbox, "psp"),
        account_id(sandbox, "partner"),
        branch["id"],
    ]


@pytest.mark.proves("assumed 4.7-create")
@pytest.mark.parametrize("parent", ["other_partner", "psp", "admin", "deleted_merchant", NOBODY])
@pytest.mark.parametrize("path", BOTH)
def test_a_parent_outside_the_hierarchy_is_not_found(sandbox, path, parent):
    before = sandbox.state()

    answer = post(sandbox, path, ACCOUNT | {"parent_id": account_id(sandbox, parent)})

    detail(answer, 404, "not_found")
    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.3-parent")
@pytest.mark.parametrize("path", BOTH)
def test_a_merchant_cannot_be_a_parent(sandbox, path):
    before = sandbox.state()

    answer = post(sandbox, path, ACCOUNT | {"parent_id": account_id(sandbox, "merchant")})

    assert "parent_id" in detail(answer)
    assert sandbox.state() == before


# --- kinds ------------------------------------------------------------------------------------


@pytest.mark.proves("assumed 1.3-kinds")
@pytest.mark.parametrize("type", ["admin", "psp"])
@pytest.mark.parametrize("caller", ["psp", "partner"])
@pytest.mark.parametrize("path", BOTH)
def test_admin_and_psp_accounts_cannot_be_created_by_others_than_admins(
    sandbox, path, caller, type
):
    before = sandbox.state()

    answer = post(sandbox, path, ACCOUNT | {"type": type}, by=caller)

    assert type in detail(answer, 403, "forbidden")
    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.3-kinds")
@pytest.mark.parametrize("type", ["admin", "psp", "partner", "merchant"])
def test_an_admin_creates_accounts_of_every_kind(sandbox, type):
    account = an_account(sandbox, type=type, by="admin")

    assert account["type"] == type
    assert account["parent_account_ids"] == [account_id(sandbox, "admin")]


@pytest.mark.proves("spec 2.2-accounts", "assumed 1.3-create")
@pytest.mark.parametrize(
    ("held", "type", "status"),
    [
        ("accounts:create:merchant", "merchant", 201),
        ("accounts:create:merchant", "partner", 401),
        ("accounts:create:merchant", "psp", 401),
        ("accounts:create:partner", "partner", 201),
        ("accounts:create:partner", "merchant", 401),
        ("accounts:create:partner", "psp", 403),
        ("accounts:create:partner", "shop", 400),
        ("accounts:create:merchant", "shop", 400),
        ("accounts:edit", "merchant", 401),
    ],
)
@pytest.mark.parametrize("path", BOTH)
def test_the_type_decides_which_permission_a_creation_needs(sandbox, path, held, type, status):
    # spec 2.2: accounts have create:partner and create:merchant
    key = mint(sandbox, [held], by="psp", account="partner")["key"]

    answer = post(sandbox, path, ACCOUNT | {"type": type}, by=key)

    assert answer.status == status, answer.body


# --- the key that comes along -----------------------------------------------------------------

FOR_A_MERCHANT = [
    *("payments:tap-ios", "payments:tap-android", "payments:read", "payments:refund"),
    *("payments:tipadjust", "payments:capture", "payments:incremental-auth", "payments:void"),
    "payments:confirm",
    *("batches:read", "batches:open", "batches:edit", "batches:close"),
    *("terminals:read", "terminals:create", "terminals:edit", "terminals:delete"),
    *("locations:read", "locations:create", "locations:edit", "locations:delete"),
    *("accounts:read", "accounts:edit", "accounts:delete"),
    *("credentials:read", "credentials:create", "credentials:edit", "credentials:delete"),
    *("apikeys:read", "apikeys:create", "apikeys:edit", "apikeys:delete"),
]
FOR_A_PARTNER = [
    *FOR_A_MERCHANT[: FOR_A_MERCHANT.index("accounts:read") + 1],
    "accounts:create:merchant",
    *FOR_A_MERCHANT[FOR_A_MERCHANT.index("accounts:read") + 1 :],
    *("apikeys:read:sub", "apikeys:create:sub", "apikeys:edit:sub", "apikeys:delete:sub"),
]


@pytest.mark.proves("spec 4.4-paths-provisioning, 9.2", "assumed 1.3-provisioned, 1.3-api-key, Q27")
@pytest.mark.parametrize(
    ("type", "permissions"), [("merchant", FOR_A_MERCHANT), ("partner", FOR_A_PARTNER)]
)
@pytest.mark.parametrize("by", ["partner", "psp"])
def test_a_v2_account_comes_with_an_organization_and_a_key_of_what_its_creator_holds(
    sandbox, by, type, permissions
):
    # spec 4.4: creation under v2 provisions; what exactly is assumed 1.3.
    account = an_account(sandbox, by=by, path="/v2/accounts", type=type)

    key = account["api_key"]

    assert re.fullmatch(r"org_[A-Za-z0-9]{27}", account["organization_id"])
    assert re.fullmatch(r"svc_uat_[A-Za-z0-9]{12}_[A-Za-z0-9]{32}", key["key"])
    assert key == {
        "id": key["id"],
        "account_id": account["id"],
        "name": "Elm Street Bakery default key",
        "key": key["key"],
        "key_last4": key["key"][-4:],
        "permissions": permissions,
        "status": "active",
        "expires_at": "2126-03-01T12:00:00.000Z",
        "created_at": "2026-03-01T12:00:00.000Z",
        "last_used_at": None,
        "is_legacy": False,
        "always_retrievable": False,
    }
    assert events(sandbox)[-2:] == ["account.created", "api_key.created"]


@pytest.mark.proves("assumed 1.3-api-key")
def test_the_plaintext_of_the_key_that_comes_along_is_shown_once(sandbox):
    account = an_account(sandbox, path="/v2/accounts")

    read = shown(get(sandbox, f"/v5/apikeys/{account['api_key']['id']}"))
    again = shown(get(sandbox, f"/v2/accounts/{account['id']}"))

    assert read["key"] is None
    assert "api_key" not in again


@pytest.mark.proves("assumed 1.3-provisioned")
@pytest.mark.parametrize(
    ("held", "permissions"),
    [
        (["accounts:create:merchant", "payments:read"], ["payments:read"]),
        (["accounts:create:merchant", "apikeys:create:sub", "batches:open"], ["batches:open"]),
        (
            ["terminals:read", "accounts:create:merchant", "terminals:create"],
            ["terminals:read", "terminals:create"],
        ),
    ],
)
def test_the_key_that_comes_along_never_holds_more_than_its_creator(sandbox, held, permissions):
    # spec 5.8
    creator = mint(sandbox, held, by="partner")["key"]

    account = an_account(sandbox, by=creator, path="/v2/accounts")

    assert account["api_key"]["permissions"] == permissions


@pytest.mark.proves("assumed 1.3-provisioned")
def test_a_psp_that_holds_webhooks_permissions_does_not_pass_them_on(sandbox):
    held = ["webhooks:read", "accounts:create:partner", "accounts:create:merchant", "batches:read"]
    creator = mint(sandbox, held, by="psp")["key"]

    account = an_account(sandbox, by=creator, path="/v2/accounts", type="partner")

    assert account["api_key"]["permissions"] == ["batches:read", "accounts:create:merchant"]


@pytest.mark.proves("assumed D19")
@pytest.mark.parametrize(
    ("held", "type"),
    [
        (["accounts:create:merchant"], "merchant"),
        (["accounts:create:merchant", "apikeys:create:sub"], "merchant"),
        (["accounts:create:partner"], "partner"),
    ],
)
def test_a_creator_with_nothing_to_grant_gets_an_account_without_a_key(sandbox, held, type):
    # assumed D19
    creator = mint(sandbox, held, by="psp", account="partner")["key"]
    known = len(events(sandbox))

    account = an_account(sandbox, by=creator, path="/v2/accounts", type=type)

    assert account["api_key"] is None
    assert account["organization_id"].startswith("org_")
    assert events(sandbox)[known:] == ["account.created"]
    assert (
        sandbox.ask("GET", "/v5/apikeys", key="partner", query=f"account_id={account['id']}").json()
        == []
    )


@pytest.mark.proves("spec 9.2", "assumed 1.3-v1")
def test_an_account_created_under_v1_gets_neither_organization_nor_key(sandbox):
    account = an_account(sandbox)

    listed = sandbox.ask("GET", "/v5/apikeys", key="partner", query=f"account_id={account['id']}")

    assert account["organization_id"] is None
    assert "api_key" not in account
    assert listed.json() == []
    assert events(sandbox) == ["account.created"]


def test_a_refused_v2_creation_leaves_no_key_behind(sandbox):
    before = sandbox.ask("GET", "/v5/apikeys", key="admin").json()

    post(sandbox, "/v2/accounts", ACCOUNT | {"mcc": "x"}, by="psp")

    after = sandbox.ask("GET", "/v5/apikeys", key="admin").json()
    assert [key["id"] for key in after] == [key["id"] for key in before]


# --- blocking ---------------------------------------------------------------------------------


@pytest.mark.proves("assumed 4.7-blocked-key, 4.7-blocked-account")
def test_a_blocked_account_is_managed_as_before_and_its_key_authenticates(sandbox):
    account = an_account(sandbox, path="/v2/accounts")
    path, key = f"/v1/accounts/{account['id']}", account["api_key"]["key"]
    shown(sandbox.ask("POST", f"{path}/block", key="partner"))

    read = shown(get(sandbox, path, by=key))
    terminal = a_terminal(sandbox, account["id"], by=key)

    assert read["status"] == "blocked"
    assert terminal["status"] == "active"


# --- deletion ---------------------------------------------------------------------------------


@pytest.mark.proves("assumed 1.3-delete")
@pytest.mark.parametrize("by", ["merchant", "partner", "psp", "admin"])
def test_an_account_cannot_delete_itself(sandbox, by):
    before = sandbox.state()

    answer = delete(sandbox, f"/v1/accounts/{account_id(sandbox, by)}", by=by)

    detail(answer, 409, "conflict")
    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.3-delete")
def test_an_account_with_live_descendants_is_deleted_only_after_them(sandbox):
    branch = an_account(sandbox, type="partner", name="Branch")
    leaf = an_account(sandbox, parent_id=branch["id"])

    early = delete(sandbox, f"/v1/accounts/{branch['id']}")
    delete(sandbox, f"/v1/accounts/{leaf['id']}")
    late = delete(sandbox, f"/v1/accounts/{branch['id']}")

    detail(early, 409, "conflict")
    assert late.status == 204


@pytest.mark.proves("assumed 1.3-delete")
def test_a_grandchild_keeps_its_grandparent_alive(sandbox):
    branch = an_account(sandbox, type="partner", name="Branch")
    an_account(sandbox, parent_id=branch["id"], by="psp")

    answer = delete(sandbox, f"/v1/accounts/{account_id(sandbox, 'partner')}", by="psp")

    detail(answer, 409, "conflict")


@pytest.mark.proves("assumed 4.7-deleted-account")
def test_what_belongs_to_a_deleted_account_is_gone_with_it_and_announced_with_it_alone(sandbox):
    shop = an_account(sandbox, path="/v2/accounts")
    id, key = shop["id"], shop["api_key"]
    paths = [
        f"/v2/terminals/{a_terminal(sandbox, id)['terminal_id']}",
        f"/v1/locations/{a_location(sandbox, id)['id']}",
        f"/v1/accounts/credentials/{a_credential(sandbox, id)['id']}",
        f"/v5/apikeys/{key['id']}",
    ]
    known = len(messages(sandbox))

    delete(sandbox, f"/v1/accounts/{id}")

    assert [get(sandbox, path).status for path in paths] == [404, 404, 404, 404]
    listings = [get(sandbox, path, query="limit=200").body for path in LISTINGS.values()]
    assert not any(id.encode() in listing for listing in listings)
    assert [m["event_type"] for m in messages(sandbox)[known:]] == ["account.deleted"]
    assert messages(sandbox)[-1]["body"] == {"id": id}
    stopped = get(sandbox, "/v2/terminals", by=key["key"])
    assert (stopped.status, stopped.json()["error"]) == (401, "authentication_failed")


def test_the_deletion_of_an_account_touches_nothing_of_another(sandbox):
    delete(sandbox, f"/v1/accounts/{account_id(sandbox, 'second_merchant')}")

    terminal = get(sandbox, f"/v2/terminals/{terminal_id(sandbox, 'merchant')}", by="merchant")
    location = get(sandbox, f"/v1/locations/{location_id(sandbox, 'merchant')}", by="merchant")

    assert (terminal.status, location.status) == (200, 200)


def test_the_terminal_numbers_of_a_deleted_account_are_free_again(sandbox):
    shop = an_account(sandbox)
    a_terminal(sandbox, shop["id"])
    delete(sandbox, f"/v1/accounts/{shop['id']}")

    again = a_terminal(sandbox, "merchant")

    assert again["status"] == "active"


@pytest.mark.proves("assumed D38")
def test_the_key_that_comes_with_a_partner_boards_merchants(sandbox):
    partner = an_account(sandbox, by="psp", path="/v2/accounts", type="partner")
    key = partner["api_key"]["key"]

    merchant = an_account(
        sandbox, by=key, path="/v2/accounts", type="merchant", parent_id=partner["id"]
    )

    assert merchant["parent_account_ids"][-1] == partner["id"]
    assert "accounts:create:merchant" not in merchant["api_key"]["permissions"]
