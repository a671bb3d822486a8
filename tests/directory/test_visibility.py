"""Who sees and may do what, for every row of the route table: spec 5.9, assumed C5 and 4.7."""

from dataclasses import dataclass
from typing import Any

import pytest

from sandbox.domain.batches import Batch
from sandbox.domain.directory import Terminal, relate_to_its_records
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.permissions import CONCRETE
from sandbox.platform.openapi.examples import OF_CAST
from sandbox.platform.operation import NOWHERE, Row
from sandbox.platform.routes import OPERATIONS
from tests.driving import InProcess, Response
from tests.support.directory import ACCOUNT, NOBODY, TERMINAL


@dataclass(frozen=True)
class Case:
    """One row of the route table: what it needs, another action of its type, what is sent.

    `also` is a second permission that it needs. `status` is the answer when all is well. `on` is
    the kind of record that the request is about, where the path does not tell.
    """

    needs: str
    other: str
    status: int = 200
    body: dict[str, Any] | None = None
    keeps: str = "merchant"
    query: str = "account_id"
    on: str = ""
    also: tuple[str, ...] = ()


READ = "accounts:read"
_CREATE_ACCOUNT = Case(
    "accounts:create:merchant", READ, 201, {"parent_id": "", **ACCOUNT}, keeps="partner"
)
_PAYMENT = {"amount": 1000, "terminal_id": ""}
_MORE = {"amount": 100}
_TIP = {"type": "fixed", "amount": 100}


def _under_v1_and_v3(action: str, case: Case) -> dict[str, Case]:
    return {f"payments.{action}": case, f"payments.{action}_v1": case}


WRITTEN = {
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
    "terminals.create": Case("terminals:create", "terminals:edit", 201, TERMINAL),
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
    # Which of the two permissions to tap it takes, the body decides: see the tests of 1.9.
    "payments.create": Case("payments:tap-ios", "payments:read", body=_PAYMENT, on="terminal"),
    "payments.preauth": Case("payments:tap-android", "payments:void", body=_PAYMENT, on="terminal"),
    **_under_v1_and_v3("capture", Case("payments:capture", "payments:void", body={}, on="auth")),
    **_under_v1_and_v3(
        "increment", Case("payments:incremental-auth", "payments:capture", body=_MORE, on="auth")
    ),
    **_under_v1_and_v3("reverse", Case("payments:void", "payments:refund", body={}, on="sale")),
    **_under_v1_and_v3(
        "adjust", Case("payments:tipadjust", "payments:tap-ios", body=_TIP, on="sale")
    ),
    **_under_v1_and_v3("refund", Case("payments:refund", "payments:void", body={}, on="sale")),
    **_under_v1_and_v3(
        "confirm", Case("payments:confirm", "payments:read", body={"confirm": True}, on="prompt")
    ),
    "refunds.create": Case(
        "payments:refund", "payments:capture", body={"transaction_id": ""}, on="sale"
    ),
    "transactions.search": Case("payments:read", "payments:refund"),
    "transactions.list": Case("payments:read", "payments:tap-ios"),
    "transactions.read": Case("payments:read", "payments:confirm", on="sale"),
    "transactions.history": Case("payments:read", "payments:void", on="sale"),
    "batches.list": Case("batches:read", "batches:open"),
    "batches.read": Case("batches:read", "batches:close", on="batch"),
    "batches.open": Case(
        "batches:open", "batches:read", 201, body={"terminal_id": ""}, on="terminal"
    ),
    "batches.edit": Case(
        "batches:edit", "batches:close", body={"processor_batch_id": "7"}, on="batch"
    ),
    "batches.close": Case("batches:close", "batches:edit", on="batch"),
}
"""What each row of the route table asks for, written a second time: spec 2.2, 5.6, 5.7."""

_ON = {
    ("path", Batch): "batch",
    ("path", Payment): "sale",
    ("body", Payment): "sale",
    ("body", Terminal): "terminal",
}


def case_of(row: Row) -> Case:
    """The case of a row that is not written here, by what the row says of itself."""
    assert row.need
    assert row.target
    needed = {*row.need.base, row.need.also}
    body = row.example.body
    if body is not None:
        body = {
            name: "" if value == NOWHERE or OF_CAST.fullmatch(str(value)) else value
            for name, value in body.items()
        }
    return Case(
        needs=row.need.base[0],
        other=next(
            one
            for one in CONCRETE
            if one.partition(":")[0] == row.need.resource and one not in needed
        ),
        status=row.status,
        body=body,
        query=row.target.name,
        on=_ON.get((row.target.where, row.target.kind), ""),
        also=() if row.need.also is None else (row.need.also,),
    )


SERVED = {
    row.name: row
    for row in OPERATIONS
    # Any permission of its type opens the reserved edit: tests/platform/test_reserved.py.
    if row.run is not None
    and row.name != "transactions.edit"
    # Two permissions to each action on keys: tests/platform/test_apikeys_access.py.
    and not row.name.startswith("apikeys.")
}
CASES = {name: WRITTEN.get(name) or case_of(row) for name, row in SERVED.items()}


def test_every_written_case_has_its_row_and_names_its_second_permission():
    assert set(WRITTEN) <= set(SERVED)
    needs = {name: row.need for name, row in SERVED.items() if row.need and name in WRITTEN}
    also = {name: (need.also,) for name, need in needs.items() if need.also}
    assert also == {name: case.also for name, case in WRITTEN.items() if case.also}


# --- asking -----------------------------------------------------------------------------------


def target_of(sandbox: InProcess, name: str, holder: str) -> str:
    """The id of what the row is about: a record of the holder's, or the holder's account.

    A payment is in the state that the row is about.
    """
    path, kind = SERVED[name].path, CASES[name].on
    if kind == "terminal" or "{terminal_id}" in path:
        return sandbox.terminal_id(holder)
    if "{location_id}" in path:
        return sandbox.location_id(holder)
    if "{credential_id}" in path:
        return str(sandbox.a_credential(holder, by="psp")["id"])
    if kind == "batch":
        return str(sandbox.sold(at=holder, by="psp")["batch_id"])
    if kind:
        outcome = "surcharge_prompt" if kind == "prompt" else None
        start = "auth" if kind == "auth" else "sale"
        return sandbox.paid_id(at=holder, by="psp", operation=start, outcome=outcome)
    return sandbox.account_id(holder)


def gone_target_of(sandbox: InProcess, name: str) -> str:
    """The id of a record of the partner's tree that was deleted, or whose account was."""
    path, kind = SERVED[name].path, CASES[name].on
    if not kind and "{" not in path:
        return sandbox.account_id("deleted_merchant")
    id = target_of(sandbox, name, "second_merchant")
    if kind == "terminal":
        sandbox.drop("terminal", "second_merchant")
    elif kind:
        # An account with an unsettled batch is not deleted (assumed D45).
        for batch in sandbox.batches(by="second_merchant"):
            sandbox.close_batch(batch["id"])
        sandbox.drop("account", "second_merchant")
    else:
        item = path[: path.index("}") + 1]
        answer = sandbox.delete(_filled(item, id), by="psp")
        assert answer.status in (200, 204), answer.body
    return id


def ask(sandbox: InProcess, name: str, id: str, *, key: str | None) -> Response:
    """The row's request, aimed at this id."""
    row, case = SERVED[name], CASES[name]
    body: Any = ...
    if case.body is not None:
        body = {one: id if value == "" else value for one, value in case.body.items()}
    query = f"{case.query}={id}" if "{" not in row.path and row.method == "GET" else ""
    return sandbox.ask(row.method, _filled(row.path, id), key=key, json_body=body, query=query)


def _filled(path: str, id: str) -> str:
    return path if "{" not in path else path[: path.index("{")] + id + path[path.index("}") + 1 :]


DENIED = (401, "permission_denied")
HIDDEN = (404, "not_found")


# --- the matrix -------------------------------------------------------------------------------


def keys_for(sandbox, case):
    """Keys that hold another type only, another action, exactly what is needed, and all."""
    is_of_payments = case.needs.startswith(("payments:", "batches:"))
    another_type = ["terminals:read"] if is_of_payments else ["payments:read", "batches:read"]
    held = (another_type, [case.other], [case.needs, *case.also], ["all"])
    return [sandbox.mint(permissions, by="partner")["key"] for permissions in held]


def outlives_its_account(row: Row) -> bool:
    """Whether the row says that it shows records of deleted accounts."""
    return row.target is not None and row.target.relate is relate_to_its_records


STILL_ANSWERED = {
    # What a deleted account was paid stays visible above it (assumed 4.7-deleted-account).
    "transactions.read",
    "transactions.history",
    "batches.read",
    *(name for name, row in SERVED.items() if name not in WRITTEN and outlives_its_account(row)),
}


@pytest.mark.proves(
    "spec 5.9, 4.4-paths, 4.4-paths-actions, 9.3, 9.4, 7-401, 7-404",
    "spec 2.2-directory, 2.2-payments, 2.2-batches, 5.6",
    "assumed 4.7, 4.7-types, 4.7-write-only, 0.5-hidden, C5, 1.8, C11",
)
@pytest.mark.parametrize("name", SERVED)
def test_hidden_is_one_404_denied_is_one_401_and_the_rest_is_served(sandbox, name):
    case = CASES[name]
    ids = {
        "real": target_of(sandbox, name, case.keeps),
        "outside": target_of(sandbox, name, "other_merchant"),
        "deleted": gone_target_of(sandbox, name),
        "missing": NOBODY,
    }
    if name.startswith("accounts."):
        ids |= {above: sandbox.account_id(above) for above in ("psp", "admin", "other_partner")}
    blind, denied, *holding = keys_for(sandbox, case)
    before = sandbox.fired()
    bodies = {HIDDEN: set(), DENIED: set()}

    for at, id in ids.items():
        expected = [(blind, HIDDEN), (denied, DENIED)]
        if at != "real":
            is_shown = at == "deleted" and name in STILL_ANSWERED
            expected += [(key, (200, None) if is_shown else HIDDEN) for key in holding]
        for key, seen in expected:
            answer = ask(sandbox, name, id, key=key)
            assert answer.error() == seen, at
            bodies.get(seen, set()).add(answer.body)

    assert [len(one) for one in bodies.values()] == [1, 1]
    assert sandbox.fired() == before
    served = ask(sandbox, name, ids["real"], key=holding[0])
    assert served.error() == (case.status, None), served.body


MERCHANT_ITSELF = {
    # A merchant cannot be a parent, nor delete itself: it is told so, nothing is hidden from it.
    "accounts.create": (400, "validation_error"),
    "accounts.create_v2": (400, "validation_error"),
    "accounts.delete": (409, "conflict"),
    "accounts.delete_v2": (409, "conflict"),
}


@pytest.mark.proves("spec 1-kinds, 5.2", "assumed 4.7")
@pytest.mark.parametrize("name", SERVED)
def test_a_merchants_key_reaches_its_own_account_and_nothing_else(sandbox, name):
    case = CASES[name]
    keys = [
        sandbox.mint([case.needs, *case.also], by="merchant")["key"],
        sandbox.mint(["all"], by="merchant")["key"],
    ]
    own = [target_of(sandbox, name, "merchant") for _ in keys]
    others = [target_of(sandbox, name, other) for other in ("second_merchant", "other_merchant")]
    others += [sandbox.account_id(above) for above in ("partner", "psp", "admin")]

    outside = [ask(sandbox, name, id, key=key) for key in keys for id in others]
    inside = ask(sandbox, name, own[0], key=keys[0])

    assert {answer.error() for answer in outside} == {HIDDEN}
    assert inside.error() == MERCHANT_ITSELF.get(name, (case.status, None)), inside.body


@pytest.mark.proves("assumed D6, 4.7-admin")
@pytest.mark.parametrize("name", SERVED)
def test_an_admin_reads_whatever_is_named_and_changes_only_its_own_tree(sandbox, name):
    case = CASES[name]
    id = target_of(sandbox, name, "merchant")

    answer = ask(sandbox, name, id, key="admin")

    reaches = SERVED[name].method == "GET"
    assert answer.error() == ((case.status, None) if reaches else HIDDEN), answer.body


# --- payments ---------------------------------------------------------------------------------

IOS, ANDROID = "payments:tap-ios", "payments:tap-android"
APPLE = {"apple_transaction_id": "9F1C"}


ENOUGH = [
    ({"platform": "ios"}, {IOS}),
    ({"platform": "android"}, {ANDROID}),
    (APPLE, {IOS}),
    ({"platform": "android", **APPLE}, {ANDROID}),
    ({}, {IOS, ANDROID}),
    ({"platform": None}, {IOS, ANDROID}),
    ({"apple_transaction_id": ""}, {IOS, ANDROID}),
]


@pytest.mark.proves("spec 2.2-payments", "assumed 1.9")
@pytest.mark.parametrize("name", ["payments.create", "payments.preauth"])
def test_the_platform_decides_which_permission_a_tap_needs_whatever_exists(sandbox, name):
    # assumed 1.9; before anything is looked up, so that nothing is told of what exists.
    places = [sandbox.terminal_id("merchant"), sandbox.terminal_id("other_merchant"), NOBODY]

    for tap in (IOS, ANDROID):
        key = sandbox.mint([tap, "payments:read"], by="partner")["key"]
        for sent, enough in ENOUGH:
            allowed = [(200, None), HIDDEN, HIDDEN] if tap in enough else [DENIED] * 3
            for place, expected in zip(places, allowed, strict=True):
                body = {"amount": 1000, "terminal_id": place, **sent}
                answer = sandbox.post(SERVED[name].path, body, by=key)
                assert answer.error() == expected, (tap, sent)


@pytest.mark.proves("assumed 4.7, 4.7-deleted")
def test_everything_that_a_payment_names_must_be_visible(sandbox):
    cast = sandbox.cast
    places = {
        "terminal_id": cast.terminals,
        "location_id": cast.locations,
        "account_id": cast.accounts,
    }
    body = {"amount": 1000} | {name: ids["merchant"] for name, ids in places.items()}
    key = sandbox.mint(["all"], by="partner")["key"]
    assert sandbox.post("/v3/preauth", body, by=key).status == 200
    fired = sandbox.fired()

    for field, ids in places.items():
        for id in (ids["other_merchant"], NOBODY):
            answer = sandbox.post("/v3/payment", body | {field: id}, by=key)
            assert answer.error() == HIDDEN, field
    assert sandbox.fired() == fired
    for kind in ("location", "terminal"):
        sandbox.drop(kind, "merchant")
        gone = {"amount": 1000, f"{kind}_id": body[f"{kind}_id"]}
        assert sandbox.post("/v3/payment", gone, by=key).error() == HIDDEN, kind
