"""`sandbox ledger`: every clause, the code that stands for it and the tests that prove it."""

from collections.abc import Mapping
from typing import Any

import click

from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.tables import counted, json_option, say, show_json, show_table, styled

_DETAILED_MAX = 3
"""So few are shown whole."""


@click.command()
@click.argument("search", nargs=-1)
@click.option("--unproved", is_flag=True, help="Only clauses that no test proves.")
@json_option
def ledger(search: tuple[str, ...], *, unproved: bool, as_json: bool) -> None:
    """Show each clause with its code and its tests.

    Clauses are those of the platform's specification and of what is assumed beyond it. With
    SEARCH, the one with that id, or those with that text in id, title or summary; few of them are
    shown whole. It needs no server.

    \b
    Examples:
      sandbox ledger refund
      sandbox ledger "spec 5.1"
      sandbox ledger --unproved
    """
    from sandbox.control.ledger import read_ledger

    text = " ".join(search)
    clauses = read_ledger(text or None)["clauses"]
    clauses = [clause for clause in clauses if clause["id"].lower() == text.lower()] or clauses
    if not clauses:
        refuse(f"no clause has {text!r} in its id, title or summary", EXIT_REFUSED)
    if unproved:
        clauses = [clause for clause in clauses if _is_unproved(clause)]
    if as_json:
        show_json({"clauses": clauses, "total": len(clauses)})
    elif not clauses:
        say("a test proves every clause")
    elif len(clauses) <= _DETAILED_MAX:
        for clause in clauses:
            _show(clause)
    else:
        columns = ("id", "title", "code", "rows", "tests")
        counts = ("code", "rows", "tests")
        rows = [
            (clause["id"], clause["title"], *(len(clause[name]) for name in counts))
            for clause in clauses
        ]
        show_table(columns, rows)
        say(f"{counted(len(clauses), 'clause')}; name one to see it whole")


def _is_unproved(clause: Mapping[str, Any]) -> bool:
    return not (clause["tests"] or clause.get("parts") or clause.get("needs_no_proof"))


def _show(clause: Mapping[str, Any]) -> None:
    say(styled(clause["id"], bold=True), f"  {clause['title']}")
    say(f"  {clause['summary']}")
    for name in ("fills", "code", "rows", "tests", "parts"):
        for value in clause.get(name) or ():
            say(f"  {name:<5}  {value}")
    if clause.get("needs_no_proof"):
        say(f"  no proof is needed: {clause['needs_no_proof']}")
    say()
