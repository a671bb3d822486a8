"""The ledger: every clause with the code that implements it and whether tests prove it.

The package carries the clauses without the names of their tests. In a checkout the names are
collected from the tests when they are first needed.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypedDict

from sandbox.control.rows import ControlRequest

if TYPE_CHECKING:
    from sandbox.control.shapes import LedgerQuery

FILE: Final = Path(__file__).with_name("ledger.json")
"""Written by `make golden`."""


class Clause(TypedDict):
    """A clause, the code that implements it, and its tests, which are null outside a checkout.

    `verified` is the day on which the real platform was last found to have what the profile says.
    """

    id: str
    title: str
    summary: str
    fills: list[str]
    code: list[str]
    rows: list[str]
    tests: list[str] | None
    parts: list[str]
    needs_no_proof: str | None
    proved: bool
    verified: str | None


class Ledger(TypedDict):
    """Every clause, or those that were searched for."""

    clauses: list[Clause]
    total: int


@cache
def _clauses() -> tuple[dict[str, Any], ...]:
    from sandbox.control.proofs import tests_by_clause

    tests = tests_by_clause()
    return tuple(
        clause | {"tests": None if tests is None else tests.get(clause["id"], [])}
        for clause in json.loads(FILE.read_text(encoding="utf-8"))
    )


def read_ledger(
    search: str | None = None, verified: Mapping[str, str] = MappingProxyType({})
) -> Ledger:
    """All clauses, the spec's first; with `search`, those whose id, title or summary has that text.

    Upper and lower case are the same. `code` lists files of the package, `rows` names of table
    rows, `parts` the clauses that prove one without tests of its own. `needs_no_proof` says why
    a clause needs no test. `tests` lists the ids of tests; it is None outside a checkout.
    `verified` has days by the ids of clauses, as a profile has.
    """
    wanted = (search or "").casefold()
    found: list[Any] = [
        {**clause, "verified": verified.get(clause["id"])}
        for clause in _clauses()
        if wanted in f"{clause['id']}\n{clause['title']}\n{clause['summary']}".casefold()
    ]
    return {"clauses": found, "total": len(found)}


def ledger(request: ControlRequest) -> Ledger:
    """The ledger, or the clauses that match a search."""
    query: LedgerQuery = request.query
    return read_ledger(query.search, request.services.worlds.profile.verified)
