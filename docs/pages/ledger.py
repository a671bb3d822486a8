"""The ledger: for every clause the code that cites it, the rows that come of it, and its proofs.

A test says what it proves with `@pytest.mark.proves("spec 4.1, 4.2", "assumed C5")`: it must fail
when one of these is broken. The marks are read from the files of the tests as they stand, so that
nothing is imported and a name is all that can make the ledger old.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

from docs.pages.citations import citations, clauses, headings
from docs.pages.markdown import code, listed, page, table
from sandbox.domain.access import ACCESS
from sandbox.domain.batches import BATCH_LIFE
from sandbox.domain.directory import DIRECTORIES
from sandbox.domain.events import EVENTS
from sandbox.domain.faults import FAULTS
from sandbox.domain.keys import KEY_LIFE
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import STATUSES
from sandbox.domain.payments.transitions import TRANSITIONS
from sandbox.http.refusals import HTTP_FAULTS
from sandbox.platform.routes import OPERATIONS
from sandbox.worlds.switches import SWITCHES

_PROJECT: Final = Path(__file__).parents[2]
_PACKAGE: Final = _PROJECT / "sandbox"
_TESTS: Final = _PROJECT / "tests"

_MARK: Final = "pytest.mark.proves"
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)

_SHOWN: Final = 3
"""How many tests of a clause the page names; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What there is of one clause.

    `code` are the files that cite it, or, where none does, the clause of which it is a part.
    `parts` are the clauses that make it up, where these prove it and no test of its own does;
    `needs_no_proof` says why there is nothing to prove.
    """

    id: str
    title: str
    summary: str
    fills: tuple[str, ...]
    code: tuple[str, ...]
    rows: tuple[str, ...]
    tests: tuple[str, ...]
    parts: tuple[str, ...]
    needs_no_proof: str | None

    @property
    def is_settled(self) -> bool:
        """Whether it is proved or has nothing to prove."""
        return bool(self.tests or self.parts or self.needs_no_proof)


# --- proofs -----------------------------------------------------------------------------------


def marks_in(text: str, place: str) -> list[tuple[str, str]]:
    """The marks of one file: every marked test, by its node id, with each text of its marks.

    A mark on a class or in `pytestmark` is one of each test in there.
    """
    tree = ast.parse(text)
    return list(_tests_in(tree.body, place, _of_all(tree)))


def _tests_in(body: Iterable[ast.stmt], place: str, of_all: list[str]) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests_in(node.body, f"{place}::{node.name}", [*of_all, *_own(node)])
        elif isinstance(node, _FUNCTIONS) and node.name.startswith("test_"):
            yield from ((f"{place}::{node.name}", word) for word in (*of_all, *_own(node)))


def _own(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [word for decorator in node.decorator_list for word in _said(decorator)]


def _of_all(tree: ast.Module) -> list[str]:
    return [
        word
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        for word in _said(node.value)
    ]


def _said(node: ast.expr) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == _MARK:
            yield from map(ast.literal_eval, call.args)


@cache
def marks() -> tuple[tuple[str, str], ...]:
    """The marks of all tests, in the order of their files."""
    found: list[tuple[str, str]] = []
    for path in sorted(_TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if f"{_MARK}(" in text:
            found += marks_in(text, path.relative_to(_PROJECT).as_posix())
    return tuple(found)


# --- code and rows ----------------------------------------------------------------------------


def _rows() -> Iterator[tuple[str, str]]:
    """Every row of every table that has a source, by what it is called, with that source.

    A status and a status reason are clauses of their own, so that rows which name one come of it.
    """
    yield from ((operation.name, operation.source) for operation in OPERATIONS)
    for row in TRANSITIONS:
        yield row.id, row.source
        if row.shown_status in STATUSES:
            yield row.id, f"spec 3.2-{row.shown_status}, 2.4-{row.reason}"
    for outcome in OUTCOMES.values():
        yield outcome.key, f"assumed 5.2, spec 2.4-{outcome.status_reason}"
    for machine in (KEY_LIFE, BATCH_LIFE, *(directory.life for directory in DIRECTORIES)):
        for step in machine.steps:
            yield f"{machine.name}: {step.state}, {step.trigger}", step.source
    for held, cells in ACCESS.items():
        for relation, cell in cells.items():
            yield f"{held.value}, {relation.value}", cell.source
    yield from ((event.name, event.source) for event in EVENTS.values())
    yield from ((fault.code, fault.source) for fault in (*FAULTS, *HTTP_FAULTS))
    yield from ((switch.name, switch.source) for switch in SWITCHES.values())


def _by_clause(said: Iterable[tuple[str, str]]) -> dict[tuple[str, str], dict[str, None]]:
    """The clauses that texts cite, each with the places of those texts, in order."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for place, text in said:
        for clause in citations(text):
            found.setdefault(clause, {})[place] = None
    return found


def _nearest(
    clause: tuple[str, str], found: Mapping[tuple[str, str], dict[str, None]]
) -> Iterable[str]:
    """Where the clause is cited; else where that is of which it is a part, 2.4 for 2.4-card."""
    kind, id = clause
    while (kind, id) not in found and re.search(r"[.-]", id):
        id = re.sub(r"[.-][^.-]*$", "", id)
    return found.get((kind, id), ())


def _files() -> Iterator[tuple[str, str]]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        yield path.relative_to(_PACKAGE).as_posix(), path.read_text(encoding="utf-8")


# --- the whole --------------------------------------------------------------------------------


@cache
def entries() -> tuple[Entry, ...]:
    """Every clause, in the order of docs/clauses.toml."""
    files, rows, tests = _by_clause(_files()), _by_clause(_rows()), _by_clause(marks())
    return tuple(
        Entry(
            id=f"{kind} {id}",
            title=said["title"],
            summary=said["summary"],
            fills=tuple(f"spec {filled}" for filled in said.get("fills", ())),
            code=tuple(_nearest((kind, id), files)),
            rows=tuple(rows.get((kind, id), ())),
            tests=tuple(tests.get((kind, id), ())),
            parts=_parts(kind, id, {one for its_kind, one in tests if its_kind == kind}),
            needs_no_proof=said.get("needs_no_proof"),
        )
        for kind, ids in clauses().items()
        for id, said in ids.items()
    )


def _parts(kind: str, id: str, proved: set[str]) -> tuple[str, ...]:
    ids = clauses()[kind]
    if id in proved or "needs_no_proof" in ids[id]:
        return ()
    needless = {one for one in ids if "needs_no_proof" in ids[one]}
    return tuple(f"{kind} {one}" for one in by_parts(id, ids, proved, needless))


def by_parts(id: str, ids: Iterable[str], proved: Set[str], needless: Set[str]) -> tuple[str, ...]:
    """The clauses that prove one of which they are the parts; none where they do not.

    The parts of 5 are 5.1 and 5-accept. Each has to be proved, by a test or by parts of its own,
    unless it is `needless`; at least one has to be proved.
    """
    ids = list(ids)
    below = [one for one in ids if one.startswith((f"{id}.", f"{id}-"))]
    parts = [one for one in below if not any(one.startswith((f"{up}.", f"{up}-")) for up in below)]
    found = {one for one in parts if one in proved or by_parts(one, ids, proved, needless)}
    return tuple(parts) if found and set(parts) <= found | needless else ()


def ledger_file() -> str:
    """What the package knows of the ledger, one clause a line."""
    lines = ",\n".join(json.dumps(asdict(entry)) for entry in entries())
    return f"[\n{lines}\n]\n"


def ledger() -> str:
    """The ledger as a page."""
    parts = []
    for heading, group in groupby(zip(headings().values(), entries(), strict=True), itemgetter(0)):
        rows = [_cells(entry) for _, entry in group]
        parts += [f"## {heading}\n", table(("clause", "title", "code", "rows", "proof"), rows)]
    return page(
        "Ledger of clauses",
        f"What the spec says and what is assumed, {len(entries())} clauses: the files of\n"
        "`sandbox/` that cite each, or else the clause of which it is a part; the rows of tables\n"
        "that come of it; and the tests that prove it. These are\n"
        f"{len({test for test, _ in marks()})} in all; `GET /_sandbox/ledger` names each.",
        *parts,
    )


def _cells(entry: Entry) -> tuple[str, ...]:
    return entry.id, entry.title, listed(entry.code), listed(entry.rows), _proof(entry)


def _proof(entry: Entry) -> str:
    if entry.needs_no_proof:
        return f"needs none: {entry.needs_no_proof}"
    if entry.parts:
        return f"by its parts, {', '.join(entry.parts)}"
    names = ", ".join(code(name.removeprefix("tests/")) for name in entry.tests[:_SHOWN])
    more = len(entry.tests) - _SHOWN
    return f"{names}, and {more} more" if more > 0 else names or "**none**"
