"""The ledger: for every clause its title, the code that cites it, its table rows and its proofs.

The forms in the repository leave out the names of tests: `ledger_file()` and `ledger()`. `make
ledger` writes the whole one into `build/`.
"""

import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from sandbox.control.ledger import CHECKOUT_COMMAND, Clause, by_clause, marks
from sandbox.domain.access import ACCESS
from sandbox.domain.batches import BATCH_LIFE
from sandbox.domain.directory import DIRECTORIES
from sandbox.domain.events import EVENTS
from sandbox.domain.faults import FAULTS
from sandbox.domain.keys import KEY_LIFE
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import STATUSES
from sandbox.domain.payments.transitions import TRANSITIONS
from sandbox.domain.switches import SWITCHES
from sandbox.platform.routes import OPERATIONS
from tools.pages.markdown import listed, page, table

_PROJECT: Final = Path(__file__).parents[2]
_PACKAGE: Final = _PROJECT / "sandbox"
CLAUSES: Final = _PROJECT / "spec" / "clauses.toml"

_ENTRY: Final = re.compile(r'^\[(spec|assumed)\."?([^"\]]+)"?\]$', re.MULTILINE)


@cache
def clauses() -> dict[str, dict[str, Any]]:
    """Return every entry by kind and id."""
    return tomllib.loads(CLAUSES.read_text(encoding="utf-8"))


@cache
def headings() -> dict[tuple[str, str], str]:
    """Yield kind and id of every entry in order, with the heading above it."""
    found: dict[tuple[str, str], str] = {}
    for part in CLAUSES.read_text(encoding="utf-8").split("\n# ---- "):
        found |= dict.fromkeys(_ENTRY.findall(part), part.partition("\n")[0])
    return found


def _rows() -> Iterator[tuple[str, str]]:
    """Every row of every table that has a source: its name and that source.

    A status and a status reason are clauses of their own, which the rows that name them cite.
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
            yield f"{held.value}, {relation}", cell.source
    yield from ((event.name, event.source) for event in EVENTS.values())
    yield from ((fault.code, fault.source) for fault in FAULTS)
    yield from ((switch.name, switch.source) for switch in SWITCHES.values())


def _nearest(
    clause: tuple[str, str], found: Mapping[tuple[str, str], dict[str, None]]
) -> Iterable[str]:
    """Return the files that cite the clause, else those that cite its parent, 2.4 for 2.4-card."""
    kind, id = clause
    while (kind, id) not in found and re.search(r"[.-]", id):
        id = re.sub(r"[.-][^.-]*$", "", id)
    return found.get((kind, id), ())


@cache
def entries() -> tuple[Clause, ...]:
    """Every clause, in the order of spec/clauses.toml.

    `code` lists the files that cite it, or else those that cite the clause that it is a part of.
    `parts` lists the clauses that make it up, if these prove it and no test of its own does.
    """
    paths = sorted(_PACKAGE.rglob("*.py"))
    files = by_clause((one.relative_to(_PACKAGE).as_posix(), one.read_text()) for one in paths)
    rows, tests = by_clause(_rows()), by_clause(marks())
    found = []
    for kind, ids in clauses().items():
        proved = {id for its_kind, id in tests if its_kind == kind}
        needless = {id for id, clause in ids.items() if "needs_no_proof" in clause}
        for id, clause in ids.items():
            parts = [] if id in proved | needless else by_parts(id, ids, proved, needless)
            found.append(
                Clause(
                    id=f"{kind} {id}",
                    title=clause["title"],
                    summary=clause["summary"],
                    fills=[f"spec {filled}" for filled in clause.get("fills", ())],
                    code=list(_nearest((kind, id), files)),
                    rows=list(rows.get((kind, id), ())),
                    tests=list(tests.get((kind, id), ())),
                    parts=[f"{kind} {part}" for part in parts],
                    needs_no_proof=clause.get("needs_no_proof"),
                    proved=id in proved or bool(parts),
                    verified=None,
                )
            )
    return tuple(found)


def by_parts(id: str, ids: Collection[str], proved: Set[str], needless: Set[str]) -> list[str]:
    """List the parts of a clause that prove it; none if they do not.

    The parts of 5 are 5.1 and 5-accept. Each has to be proved, by a test or by parts of its own,
    unless it is `needless`; at least one has to be proved.
    """
    below = [one for one in ids if one.startswith((f"{id}.", f"{id}-"))]
    parts = [one for one in below if not any(one.startswith((f"{up}.", f"{up}-")) for up in below)]
    found = {one for one in parts if one in proved or by_parts(one, ids, proved, needless)}
    return parts if found and set(parts) <= found | needless else []


def ledger_file() -> str:
    """Return the ledger in the package: one clause per line, without the names of tests."""
    shown = (entry.model_dump(exclude={"tests", "verified"}) for entry in entries())
    return "[\n" + ",\n".join(map(json.dumps, shown)) + "\n]\n"


def ledger(*, whole: bool = False) -> str:
    """Return the ledger as a page; the whole one names every test."""
    parts = []
    for heading, group in groupby(zip(headings().values(), entries(), strict=True), itemgetter(0)):
        rows = [
            (one.id, one.title, listed(one.code), listed(one.rows), _proof(one, whole=whole))
            for _, one in group
        ]
        parts += [f"## {heading}\n", table(("clause", "title", "code", "rows", "proof"), rows)]
    return page(
        "Ledger of clauses",
        f"The {len(entries())} clauses of the spec and the assumptions. `code` lists the files\n"
        "of `sandbox/` that cite a clause, or the clause that it is a part of. `rows` lists the\n"
        "table rows that cite it. `proof` says whether tests prove it.\n"
        f"`{CHECKOUT_COMMAND}` writes this page with the name of every test.",
        *parts,
    )


def _proof(entry: Clause, *, whole: bool) -> str:
    if entry.needs_no_proof:
        return f"needs none: {entry.needs_no_proof}"
    if entry.parts:
        return f"by its parts, {', '.join(entry.parts)}"
    if not entry.tests:
        return "**none**"
    return listed(entry.tests) if whole else "tests"


if __name__ == "__main__":
    path = _PROJECT / "build" / "ledger.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(ledger(whole=True), encoding="utf-8")
    print(f"{len(entries())} clauses: {path}")
