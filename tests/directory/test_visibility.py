"""Who sees and may do what, for every row of the route table: spec 5.9, assumed C5 and 4.7."""

from dataclasses import dataclass
from typing import Any

import pytest

from sandbox.api.routes import OPERATIONS
from tests.directory.making import (
    ACCOUNT,
    NOBODY,
    a_credential,
    account_id,
    delete,
    events,
    location_id,
    mint,
    put,
    set_clock,
    terminal_id,
)
from tests.driving import InProcess, Response

# Any permission of its type opens the reserved edit: tests/api/test_reserved.py.
RESERVED = "transactions.edit"
SERVED = {row.name: row for row in OPERATIONS if row.run is not None and row.name != RESERVED}


@dataclass(frozen=True)
class Case:
    """One row of the route table: what it needs, another action of its type, what is sent.

    `needs` is asked for on a descendant account, `needs_own` on the caller's own where that is
    another permission. `status` is the answer when all is well.
    """

    needs: str
    other: str
    status: int = 200
    body: dict[str, Any] | None = None
    needs_own: str = ""
    keeps: str = "merchant"
    query: str = "account_id"


READ = "accounts:read"
_CREATE_ACCOUNT = Case(
    "accounts:create:merchant", READ, 201, {"parent_id": "", **ACCOUNT}, keeps="partner"
)
_TERMINAL = {
    "account_id": "",
    "processor_config_id": "cfg-tsys-001",
    "name": "bar",
    "mid": "886000002000",
    "tid": "00000042",
}

CASES = {
    "accounts.list": Case(READ, "accounts:edit", query="parent_id"),
    "accounts.list_v2": Case(READ, "accounts:edit", query="parent_id"),
    "accounts.read": Case(READ, "accounts:delete"),
    "accounts.read_v2": Case(READ, "accounts:create:merchant"),
    "accounts.update": Case("accounts:edit", READ, body={"description": "x"}),
    "accounts.update_v2": Case("accounts:edit", READ, body={"description": "x"}),
    "accounts.delete": Case("accounts:delete", "accounts:edit", 204),
    "accounts.delete_v2": Case("accounts:delete", "accounts:edit", 204),
    "accounts.block": Case("accounts:edit", "accounts:delete"),
    "accounts.unblock": Case("accounts:edit", READ),
    "accounts.create": _CREATE_ACCOUNT,
    "accounts.create_v2": _CREATE_ACCOUNT,
    "credentials.create": Case("credentials:create", "credentials:read", 201, {"account_id": ""}),
    "credentials.list": Case("credentials:read", "credentials:edit"),
    "credentials.read": Case("credentials:read", "credentials:create"),
    "credentials.update": Case("credentials:edit", "credentials:read", body={"is_active": False}),
    "credentials.delete": Case("credentials:delete", "credentials:edit"),
    "credentials.block": Case("credentials:edit", "credentials:delete"),
    "credentials.unblock": Case("credentials:edit", "credentials:read"),
    "terminals.create": Case("terminals:create", "terminals:edit", 201, _TERMINAL),
    "terminals.list": Case("terminals:read", "terminals:create"),
    "terminals.read": Case("terminals:read", "terminals:edit"),
    "terminals.update": Case("terminals:edit", "terminals:read", body={"name": "x"}),
    "terminals.delete": Case("terminals:delete", "terminals:edit", 204),
    "terminals.block": Case("terminals:edit", "terminals:delete"),
    "terminals.unblock": Case("terminals:edit", "terminals:read"),
    "locations.create": Case(
        "locations:create", "locations:edit", 201, {"account_id": "", "name": "Patio"}
    ),
    "locations.list": Case("locations:read", "locations:delete"),
    "locations.read": Case("locations:read", "locations:edit"),
    "locations.update": Case("locations:edit", "locations:create", body={"name": "x"}),
    "locations.delete": Case("locations:delete", "locations:read", 204),
    "locations.block": Case("locations:edit", "locations:read"),
    "locations.unblock": Case("locations:edit", "locations:delete"),
    "apikeys.create": Case(
        "apikeys:create:sub",
        "apikeys:edit",
        201,
        {"account_id": "", "name": "x", "permissions": ["?"]},
        needs_own="apikeys:create",
    ),
    "apikeys.list": Case("apikeys:read:sub", "apikeys:edit", needs_own="apikeys:read"),
    "apikeys.read": Case("apikeys:read:sub", "apikeys:delete:sub", needs_own="apikeys:read"),
    "apikeys.update": Case(
        "apikeys:edit:sub", "apikeys:read:sub", body={"name": "x"}, needs_own="apikeys:edit"
    ),
    "apikeys.delete": Case("apikeys:delete:sub", "apikeys:edit", needs_own="apikeys:delete"),
}
"""What each row of the route table asks for: spec 2.2, 5.6, 5.7."""


def test_every_served_row_of_the_route_table_has_a_case_here_and_no_case_is_left_over():
    assert set(SERVED) == set(CASES)


# --- asking -----------------------------------------------------------------------------------


def target_of(sandbox: InProcess, name: str, holder: str) -> str:
    """The id of what the row is about: a record of the holder's, or the holder's account."""
    path = SERVED[name].path
    if "{terminal_id}" in path:
        return terminal_id(sandbox, holder)
    if "{location_id}" in path:
        return location_id(sandbox, holder)
    if "{credential_id}" in path:
        return str(a_credential(sandbox, holder, by="psp")["id"])
    if "{key_id}" in path:
        return str(mint(sandbox, ["payments:read"], by="psp", account=holder)["id"])
    return account_id(sandbox, holder)


def gone_target_of(sandbox: InProcess, name: str) -> str:
    """The id of a record of the partner's tree that was deleted."""
    path = SERVED[name].path
    if "{" not in path:
        return account_id(sandbox, "deleted_merchant")
    id = target_of(sandbox, name, "second_merchant")
    item = path[: path.index("}") + 1]
    answer = delete(sandbox, _filled(item, id), by="psp")
    assert answer.status in (200, 204), answer.body
    return id


def ask(sandbox: InProcess, name: str, id: str, *, key: str | None, granted: str = "") -> Response:
    """The row's request, aimed at this id."""
    row, case = SERVED[name], CASES[name]
    body: Any = ...
    if case.body is not None:
        body = {one: id if value == "" else value for one, value in case.body.items()}
        if body.get("permissions") == ["?"]:
            body["permissions"] = [granted or "apikeys:create"]
    query = f"{case.query}={id}" if "{" not in row.path and row.method == "GET" else ""
    return sandbox.ask(row.method, _filled(row.path, id), key=key, json_body=body, query=query)


def _filled(path: str, id: str) -> str:
    return path if "{" not in path else path[: path.index("{")] + id + path[path.index("}") + 1 :]


def verdict(answer: Response) -> tuple[int, str | None]:
    """Status and code of an answer; no code where nothing was refused."""
    if answer.status < 400:
        return answer.status, None
    return answer.status, answer.json()["error"]


UNUSABLE = (401, "authentication_failed")
DENIED = (401, "permission_denied")
HIDDEN = (404, "not_found")


# --- the matrix -------------------------------------------------------------------------------


def no_key(sandbox, case):
    return None


def unknown_key(sandbox, case):
    return f"svc_uat_{'a' * 12}_{'b' * 32}"


def revoked_key(sandbox, case):
    minted = mint(sandbox, ["all"], by="partner")
    assert put(sandbox, f"/v5/apikeys/{minted['id']}", {"status": "revoked"}).status == 200
    return minted["key"]


def expired_key(sandbox, case):
    minted = mint(sandbox, ["all"], by="partner", expires_at="2026-03-01T12:00:01Z")
    set_clock(sandbox, "2026-03-01T12:00:01Z")
    return minted["key"]


def key_with_another_type_only(sandbox, case):
    return mint(sandbox, ["payments:read", "batches:read"], by="partner")["key"]


def key_with_another_action(sandbox, case):
    return mint(sandbox, [case.other], by="partner")["key"]


def key_with_exactly_what_is_needed(sandbox, case):
    return mint(sandbox, [case.needs], by="partner")["key"]


def key_with_all(sandbox, case):
    return mint(sandbox, ["all"], by="partner")["key"]


CALLERS = {
    no_key: UNUSABLE,
    unknown_key: UNUSABLE,
    revoked_key: UNUSABLE,
    expired_key: UNUSABLE,
    key_with_another_type_only: HIDDEN,
    key_with_another_action: DENIED,
    key_with_exactly_what_is_needed: None,
    key_with_all: None,
}
"""Caller to the refusal that it gets; None where it is served."""

HOLDING = [key_with_exactly_what_is_needed, key_with_all]


@pytest.mark.parametrize("caller", CALLERS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", SERVED)
def test_a_real_target_is_served_denied_or_hidden_as_the_key_holds_it(sandbox, name, caller):
    case = CASES[name]
    key, id = caller(sandbox, case), target_of(sandbox, name, case.keeps)
    before = events(sandbox)

    answer = ask(sandbox, name, id, key=key, granted=case.needs)

    assert verdict(answer) == (CALLERS[caller] or (case.status, None)), answer.body
    if CALLERS[caller]:
        assert events(sandbox) == before


@pytest.mark.parametrize("caller", HOLDING, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", SERVED)
def test_with_the_permission_what_is_outside_deleted_or_missing_is_one_and_the_same_404(
    sandbox, name, caller
):
    case = CASES[name]
    key = caller(sandbox, case)
    ids = {
        "outside": target_of(sandbox, name, "other_merchant"),
        "missing": NOBODY,
        "deleted": gone_target_of(sandbox, name),
    }
    if name == "apikeys.delete":
        # The one exception: repeating a deletion answers the same again (spec 4.4-delete).
        assert ask(sandbox, name, ids.pop("deleted"), key=key).status == 200
    before = events(sandbox)

    answers = {at: ask(sandbox, name, id, key=key, granted=case.needs) for at, id in ids.items()}

    assert {at: verdict(one) for at, one in answers.items()} == dict.fromkeys(ids, HIDDEN)
    assert len({one.body for one in answers.values()}) == 1
    assert events(sandbox) == before


@pytest.mark.parametrize("name", SERVED)
def test_without_the_permission_no_target_is_told_from_another(sandbox, name):
    case = CASES[name]
    blind = key_with_another_type_only(sandbox, case)
    denied = key_with_another_action(sandbox, case)
    ids = [
        target_of(sandbox, name, case.keeps),
        target_of(sandbox, name, "other_merchant"),
        gone_target_of(sandbox, name),
        NOBODY,
    ]

    hidden = [ask(sandbox, name, id, key=blind) for id in ids]
    refused = [ask(sandbox, name, id, key=denied) for id in ids]

    assert {verdict(answer) for answer in hidden} == {HIDDEN}
    assert {verdict(answer) for answer in refused} == {DENIED}
    assert len({answer.body for answer in hidden}) == 1
    assert len({answer.body for answer in refused}) == 1


MERCHANT_ITSELF = {
    # A merchant cannot be a parent, nor delete itself: it is told so, nothing is hidden from it.
    "accounts.create": (400, "validation_error"),
    "accounts.create_v2": (400, "validation_error"),
    "accounts.delete": (409, "conflict"),
    "accounts.delete_v2": (409, "conflict"),
}


@pytest.mark.parametrize("name", SERVED)
def test_a_merchants_key_reaches_its_own_account_and_nothing_else(sandbox, name):
    case = CASES[name]
    granted = case.needs_own or case.needs
    keys = [
        mint(sandbox, [granted], by="merchant")["key"],
        mint(sandbox, ["all"], by="merchant")["key"],
    ]
    own = [target_of(sandbox, name, "merchant") for _ in keys]
    others = [target_of(sandbox, name, other) for other in ("second_merchant", "other_merchant")]
    others += [account_id(sandbox, above) for above in ("partner", "psp", "admin")]

    outside = [ask(sandbox, name, id, key=key) for key in keys for id in others]
    inside = ask(sandbox, name, own[0], key=keys[0], granted=granted)

    assert {verdict(answer) for answer in outside} == {HIDDEN}
    assert verdict(inside) == MERCHANT_ITSELF.get(name, (case.status, None)), inside.body


@pytest.mark.parametrize("holder", ["psp", "admin", "other_partner"])
@pytest.mark.parametrize(
    "name", [name for name in SERVED if name.startswith(("accounts.", "apikeys."))]
)
def test_a_partners_key_reaches_neither_what_is_above_it_nor_what_is_beside_it(
    sandbox, name, holder
):
    key = mint(sandbox, ["all"], by="partner")["key"]
    by = "admin" if holder == "admin" else "psp"
    id = account_id(sandbox, holder)
    if "{key_id}" in SERVED[name].path:
        id = mint(sandbox, ["payments:read"], by=by, account=holder)["id"]

    answer = ask(sandbox, name, id, key=key)

    assert verdict(answer) == HIDDEN


@pytest.mark.parametrize("name", SERVED)
def test_an_admin_reads_whatever_is_named_and_changes_only_its_own_tree(sandbox, name):
    # API keys are all within an admin's reach (spec 4.2); for the rest see assumed 4.7-admin.
    case = CASES[name]
    id = target_of(sandbox, name, "merchant")

    answer = ask(sandbox, name, id, key="admin", granted="payments:read")

    reaches = SERVED[name].method == "GET" or name.startswith("apikeys.")
    assert verdict(answer) == ((case.status, None) if reaches else HIDDEN), answer.body


@pytest.mark.parametrize("name", ["accounts.create", "accounts.create_v2"])
@pytest.mark.parametrize(
    ("held", "wanted"),
    [("accounts:create:merchant", "partner"), ("accounts:create:partner", "merchant")],
)
def test_creating_a_type_that_the_key_may_not_create_is_denied_whatever_the_parent(
    sandbox, name, held, wanted
):
    # assumed C5: the permission is asked for before the target is looked up; see also 4.7.
    key = mint(sandbox, [held], by="partner")["key"]
    body = ACCOUNT | {"type": wanted}
    parents = ["partner", "merchant", "other_merchant", "admin", "deleted_merchant", NOBODY]

    answers = {
        parent: sandbox.ask(
            "POST",
            SERVED[name].path,
            key=key,
            json_body=body | {"parent_id": account_id(sandbox, parent)},
        )
        for parent in parents
    }

    assert {at: verdict(one) for at, one in answers.items()} == dict.fromkeys(parents, DENIED)
