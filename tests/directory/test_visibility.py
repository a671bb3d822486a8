"""Who sees and may do what, for every row of the route table: spec 5.9, assumed C5 and 4.7."""

from typing import Any

import pytest

from sandbox.domain.directory import relate_to_its_records
from sandbox.platform.operation import Row
from tests.directory.cases import CASES, SERVED, WRITTEN
from tests.driving import InProcess, Response
from tests.support.directory import NOBODY


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
