"""What each row of the route table needs, and what is sent to it."""

from dataclasses import dataclass
from typing import Any

from sandbox.domain.batches import Batch
from sandbox.domain.directory import Terminal
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.permissions import CONCRETE
from sandbox.platform.openapi.examples import OF_CAST
from sandbox.platform.operation import NOWHERE, Row
from sandbox.platform.routes import OPERATIONS
from tests.support.directory import ACCOUNT, TERMINAL


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
