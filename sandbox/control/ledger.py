"""The ledger: for every clause who implements it and which tests prove it, as shipped."""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sandbox.control.rows import ControlRequest

if TYPE_CHECKING:
    from sandbox.control.shapes import LedgerQuery

FILE: Final = Path(__file__).with_name("ledger.json")
"""Written by `make golden`."""


@cache
def _clauses() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(FILE.read_text(encoding="utf-8")))


def read_ledger(search: str | None = None) -> dict[str, Any]:
    """Every clause in the order of the spec and the assumptions; with `search`, those it is in.

    It is looked for in id, title and summary, in either case. `code` are files of the package,
    `rows` names of table rows, `tests` ids as pytest takes them; `parts` are the clauses that
    prove one that has no tests itself, `needs_no_proof` says why there are none at all.
    """
    wanted = (search or "").casefold()
    found = [
        clause
        for clause in _clauses()
        if wanted in f"{clause['id']}\n{clause['title']}\n{clause['summary']}".casefold()
    ]
    return {"clauses": found, "total": len(found)}


def ledger(request: ControlRequest) -> dict[str, Any]:
    """The ledger, or the clauses of it that are searched for."""
    query: LedgerQuery = request.query
    return read_ledger(query.search)
