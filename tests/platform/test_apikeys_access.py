"""Who may do what to whose keys: assumed 4.2, 4.3 and 4.5, every cell.

Rows of a table are what the caller's key holds for the operation, columns what it is aimed at:

    own          the caller's account, named in full; `null`: as null; `absent`: not at all
    descendant   below the caller's account. A merchant has none, so that it has no such cells
    outside      beside or above the caller's account. For an admin nothing is
    elsewhere    for an admin: neither its own account nor below it in the hierarchy
    missing      an id that nothing has
    deleted      an account that was deleted
    deleted_own, deleted_descendant, deleted_outside, deleted_elsewhere: a deleted key there
    orphaned     a key that is not deleted, of an account that is
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox.platform.routes import OPERATIONS
from tests.driving import InProcess
from tests.support.directory import NOBODY

CREATE = """
           own  null  absent  descendant  outside  elsewhere  missing  deleted
none       404  404   404     404         404      404        404      404
another    401  401   401     401         401      401        401      401
others     401  401   401     401         401      401        401      401
base       201  201   201     401         404      401        404      404
sub        401  401   401     201         404      201        404      404
both       201  201   201     201         404      201        404      404
all        201  201   201     201         404      201        404      404
"""

LIST = """
           own  absent  descendant  outside  elsewhere  missing  deleted
none       404  404     404         404      404        404      404
another    401  401     401         401      401        401      401
others     401  401     401         401      401        401      401
base       200  200     401         404      401        404      404
sub        401  200     200         404      200        404      404
both       200  200     200         404      200        404      404
all        200  200     200         404      200        404      404
"""

ON_KEYS = """
           own  descendant  outside  elsewhere  missing  orphaned
none       404  404         404      404        404      404
another    401  401         401      401        401      401
others     401  401         401      401        401      401
base       200  401         404      401        404      404
sub        401  200         404      200        404      404
both       200  200         404      200        404      404
all        200  200         404      200        404      404
"""

READ_AND_UPDATE = f"""{ON_KEYS}
           deleted_own  deleted_descendant  deleted_outside  deleted_elsewhere
none       404          404                 404              404
another    401          401                 401              401
others     401          401                 401              401
base       404          404                 404              404
sub        404          404                 404              404
both       404          404                 404              404
all        404          404                 404              404
"""

# Deleting a deleted key again is the one exception to "deleted is 404": spec 4.4-delete.
DELETE = f"""{ON_KEYS}
           deleted_own  deleted_descendant  deleted_outside  deleted_elsewhere
none       404          404                 404              404
another    401          401                 401              401
others     401          401                 401              401
base       200          401                 404              401
sub        401          200                 404              200
both       200          200                 404              200
all        200          200                 404              200
"""

TABLES = {
    "create": CREATE,
    "list": LIST,
    "read": READ_AND_UPDATE,
    "update": READ_AND_UPDATE,
    "delete": DELETE,
}

ACTION = {one: one for one in TABLES} | {"list": "read", "update": "edit"}
"""What permissions call each operation."""

ACCOUNTS = {
    "merchant": {
        "own": ["merchant"],
        "descendant": [],
        "outside": ["second_merchant", "other_merchant", "partner"],
        "elsewhere": [],
    },
    "partner": {
        "own": ["partner"],
        "descendant": ["merchant"],
        "outside": ["other_merchant", "other_partner", "psp"],
        "elsewhere": [],
    },
    "psp": {
        "own": ["psp"],
        "descendant": ["partner", "merchant"],
        "outside": ["admin", "admin_partner"],
        "elsewhere": [],
    },
    "admin": {
        "own": ["admin"],
        "descendant": ["admin_partner"],
        "outside": [],
        "elsewhere": ["psp", "merchant"],
    },
}

FAULTY = {"name": "", "permissions": ["payments:fly"], "colour": "red", "expires_at": "soon"}
"""What is sent where it may not be: that is told before the faults of the body."""

ERRORS = {200: None, 201: None, 401: "permission_denied", 404: "not_found"}


def permissions_of(holds: str, action: str) -> list[str]:
    """The permissions of a key that holds this for the action: spec 2.2-apikeys."""
    every = [f"apikeys:{one}{form}" for one in ACTION.values() for form in ("", ":sub")]
    others = sorted({one for one in every if one.split(":")[1] != action})
    base = f"apikeys:{action}"
    return {
        "none": ["payments:read", "accounts:edit"],
        "another": others[:1],
        "others": [*others, "payments:read"],
        "base": [base],
        "sub": [f"{base}:sub"],
        "both": [base, f"{base}:sub"],
        "all": ["all"],
    }[holds]


@dataclass(frozen=True)
class Cell:
    """One cell of one table, for one kind of caller and one account in the column."""

    kind: str
    operation: str
    holds: str
    column: str
    account: str
    status: int


def cells(kind: str, operation: str) -> Iterator[Cell]:
    for block in TABLES[operation].strip("\n").split("\n\n"):
        columns, *rows = [line.split() for line in block.splitlines()]
        for holds, *statuses in rows:
            for column, status in zip(columns, statuses, strict=True):
                relation = column.removeprefix("deleted_")
                for account in ACCOUNTS[kind].get(relation, [""]):
                    yield Cell(kind, operation, holds, column, account, int(status))


@dataclass
class Walk:
    """Asks cell after cell. The keys it needs are minted once; a deletion gets one of its own."""

    sandbox: InProcess
    minted: dict[Any, tuple[str, str]] = field(default_factory=dict)
    hidden: set[bytes] = field(default_factory=set)

    def wrong(self, cell: Cell) -> str | None:
        """What is wrong with the answer to the cell's request; None when it is as it should be."""
        caller = permissions_of(cell.holds, ACTION[cell.operation])
        _, key = self.key_on(cell.kind, caller)
        method, path, body = getattr(self, cell.operation)(cell, caller)
        path, _, query = path.partition("?")
        answer = self.sandbox.ask(method, path, key=key, json_body=body, query=query)
        if answer.status == 404:
            self.hidden.add(answer.body)
        if cell.status == 201:
            # Without a name it is the caller's.
            owner = self.sandbox.account_id(cell.account or cell.kind)
            assert answer.expect(201)["account_id"] == owner, cell
        if answer.error() == (cell.status, ERRORS[cell.status]):
            return None
        return f"{cell}: {answer.error()}"

    def create(self, cell: Cell, caller: list[str]) -> tuple[str, str, Any]:
        body = {"name": "made", "permissions": caller} if cell.status == 201 else FAULTY
        if cell.column != "absent":
            body = body | {"account_id": self.account_id(cell)}
        return "POST", "/v5/apikeys", body

    def list(self, cell: Cell, _: Any) -> tuple[str, str, Any]:
        narrowed = "" if cell.column == "absent" else f"?account_id={self.account_id(cell)}"
        return "GET", f"/v5/apikeys{narrowed}", ...

    def read(self, cell: Cell, _: Any) -> tuple[str, str, Any]:
        return "GET", f"/v5/apikeys/{self.key_id(cell)}", ...

    def update(self, cell: Cell, _: Any) -> tuple[str, str, Any]:
        body = {"name": "renamed"} if cell.status == 200 else FAULTY
        return "PUT", f"/v5/apikeys/{self.key_id(cell)}", body

    def delete(self, cell: Cell, _: Any) -> tuple[str, str, Any]:
        return "DELETE", f"/v5/apikeys/{self.key_id(cell)}", ...

    def account_id(self, cell: Cell) -> str | None:
        if cell.column == "null":
            return None
        if cell.column == "missing":
            return NOBODY
        return self.sandbox.account_id(
            "deleted_merchant" if cell.column == "deleted" else cell.account
        )

    def key_id(self, cell: Cell) -> str:
        if cell.column == "missing":
            return NOBODY
        if cell.column == "orphaned":
            return self.sandbox.key_id("orphan")
        if cell.column.startswith("deleted_"):
            return self.deleted_key_on(cell.account)
        is_used_up = cell.operation == "delete" and cell.status == 200
        id, _ = self.key_on(cell.account, ["payments:void"], cell if is_used_up else "shared")
        return id

    def key_on(self, account: str, permissions: Any, purpose: Any = "caller") -> tuple[str, str]:
        """Id and plaintext of a key of the account, made by the admin once per purpose."""
        known = (account, tuple(permissions), purpose)
        if known not in self.minted:
            made = self.sandbox.mint(permissions, by="admin", account=account)
            self.minted[known] = made["id"], made["key"]
        return self.minted[known]

    def deleted_key_on(self, account: str) -> str:
        id, _ = self.key_on(account, ["payments:void"], "deleted")
        assert self.sandbox.delete_key(id, by="admin").status == 200
        return id


def test_every_operation_on_keys_has_its_table():
    served = [row.name for row in OPERATIONS if row.name.startswith("apikeys.")]

    assert sorted(served) == sorted(f"apikeys.{operation}" for operation in TABLES)


@pytest.mark.proves(
    "spec 4.2-own, 4.2-sub, 4.2-all, 4.2-admin, 4.2-account, 4.1-account, 4.3-keys-rights",
    "spec 4.4-delete-rights, 4.4-delete-repeat, 5.7, 5.9, 3.1-gone, 7-401, 7-404",
    "spec 4.4-paths-apikeys",
    "assumed 4.1, 4.1-gone, 4.2, 4.2-denied, 4.2-descendant, 4.3-read, 4.3-repeat",
    "assumed 4.5-admin, Q9, Q13, 0.5-hidden, 4.3, 4.5, 4.6",
)
@pytest.mark.parametrize("operation", TABLES)
@pytest.mark.parametrize("kind", ACCOUNTS)
def test_every_cell_of_the_access_tables_is_answered_as_it_says(wider, kind, operation):
    walk = Walk(wider)

    wrong = [text for cell in cells(kind, operation) if (text := walk.wrong(cell))]

    assert wrong == []
    # What is hidden is told apart by nothing.
    assert len(walk.hidden) == 1
