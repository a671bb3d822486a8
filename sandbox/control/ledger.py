"""The ledger: every clause with the code that implements it and whether tests prove it.

The package carries the clauses without the names of their tests. In a checkout the names are
collected from the tests when they are first needed: a test names its clauses with
`@pytest.mark.proves("spec 4.1, 4.2", "assumed C5")`, and must fail when one of them is broken. The
marks are read from the source of the tests, without an import.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from sandbox.control.context import ControlRequest
from sandbox.control.models import TOTAL, Query, View
from sandbox.control.routing import PREFIX, get
from sandbox.worlds.background import run_in_thread


class LedgerQuery(Query):
    """Which clauses: those with this text in id, title or summary."""

    search: str | None = None


_PROJECT: Final = Path(__file__).parents[2]
_TESTS: Final = _PROJECT / "tests"
_CLAUSES: Final = _PROJECT / "spec" / "clauses.toml"
_MARK: Final = "pytest.mark.proves"
_ID: Final = r"[A-Z]?\d+(?:\.\d+)*(?:-[a-z0-9]+(?:[._-][a-z0-9]+)*)?"
_CITATION: Final = re.compile(rf"\b(spec|assumed)\s+({_ID}(?:(?:,| and| to)\s+{_ID}\b)*)")

CHECKOUT_COMMAND: Final = "make ledger"
"""The command that writes the whole ledger, with every test, in a checkout."""


def citations(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and id of every citation, even in "spec 4.1, 4.2" or across lines."""
    # Ids that are completed with the names of events have a separate test.
    plain = re.sub(r"\s+#?\s*", " ", text.replace("6.3-{", "{"))
    for kind, ids in _CITATION.findall(plain):
        yield from ((kind, id) for id in re.findall(_ID, ids))


def by_clause(cited: Iterable[tuple[str, str]]) -> dict[tuple[str, str], dict[str, None]]:
    """Return the clauses that texts cite, with the places of those texts, in order."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for place, text in cited:
        for clause in citations(text):
            found.setdefault(clause, {})[place] = None
    return found


def marks_in(text: str, place: str) -> Iterator[tuple[str, str]]:
    """Yield the marks of one file: the node id of every marked test, with each text of its marks.

    Marks are decorators of functions.
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == _MARK:
                    for said in call.args:
                        yield f"{place}::{node.name}", ast.literal_eval(said)


@cache
def marks() -> tuple[tuple[str, str], ...]:
    """Return the marks of all tests, in the order of their files; none outside a checkout."""
    found: list[tuple[str, str]] = []
    if _CLAUSES.is_file():
        for path in sorted(_TESTS.rglob("test_*.py")):
            text = path.read_text(encoding="utf-8")
            if f"{_MARK}(" in text:
                found += marks_in(text, path.relative_to(_PROJECT).as_posix())
    return tuple(found)


@cache
def tests_by_clause() -> Mapping[str, list[str]] | None:
    """Return the ids of the tests of each clause ("spec 4.1"), or None outside a checkout."""
    if not marks():
        return None
    return {f"{kind} {id}": list(tests) for (kind, id), tests in by_clause(marks()).items()}


LEDGER_FILE: Final = Path(__file__).with_name("ledger.json")
"""Written by `make golden`."""


class Clause(View):
    """A clause, the code that implements it, and its tests, which are null outside a checkout.

    `verified` is the day on which the clause was last confirmed on the real platform.
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


class Ledger(View):
    """All clauses, or those that match the search."""

    clauses: list[Clause]
    total: int = TOTAL


@cache
def _clauses() -> tuple[dict[str, Any], ...]:
    tests = tests_by_clause()
    return tuple(
        clause | {"tests": None if tests is None else tests.get(clause["id"], [])}
        for clause in json.loads(LEDGER_FILE.read_text(encoding="utf-8"))
    )


def read_ledger(search: str | None = None, verified: Mapping[str, str] | None = None) -> Ledger:
    """Return all clauses, the spec's first, or those whose id, title or summary has a text.

    The search ignores case. `code` lists files of the package, `rows` names of table rows, and
    `parts` the clauses that prove one without its own tests. `needs_no_proof` says why a clause
    needs no test. `tests` lists the ids of tests; it is None outside a checkout. `verified` has
    days by the ids of clauses, as in a profile.
    """
    wanted = (search or "").casefold()
    found = [
        Clause(**clause, verified=(verified or {}).get(clause["id"]))
        for clause in _clauses()
        if wanted in f"{clause['id']}\n{clause['title']}\n{clause['summary']}".casefold()
    ]
    return Ledger(clauses=found)


@get(f"{PREFIX}/ledger", "ledger.read")
async def search_ledger(request: ControlRequest, query: LedgerQuery) -> Ledger:
    """Read each clause with the code that implements it and the tests that prove it."""
    # In a checkout, the first request reads all tests.
    verified = request.services.worlds.profile.verified
    return await run_in_thread(read_ledger, query.search, verified)
