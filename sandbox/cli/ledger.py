"""`sandbox ledger`: every clause, the code that implements it and the tests that prove it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.tables import counted, json_option, say, show_json, show_table, styled

_DETAILED_MAX = 3
"""Up to this many clauses are shown in full."""


@click.command()
@click.argument("search", nargs=-1)
@click.option("--unproved", is_flag=True, help="Only clauses that no test proves.")
@click.option(
    "--profile",
    "profile_file",
    type=click.Path(path_type=Path),
    help="TOML file of `sandbox verify`: each clause is shown with the day it was verified.",
)
@json_option
def ledger(
    search: tuple[str, ...], *, unproved: bool, profile_file: Path | None, as_json: bool
) -> None:
    """Show the clauses with their code and tests.

    A clause is a rule of the platform's specification, or an assumption where the specification
    is silent. SEARCH selects the clause with that id, or all with that text in id, title or
    summary. Up to three are shown in full. The names of tests are known in a checkout only.
    This command needs no server.

    \b
    Examples:
      sandbox ledger refund
      sandbox ledger "spec 5.1"
      sandbox ledger --unproved
      sandbox ledger D35 --profile verified/uat.toml
    """
    from sandbox.control.ledger import read_ledger
    from sandbox.settings import SettingsError, read_profile

    try:
        verified = read_profile(profile_file).verified if profile_file else {}
    except SettingsError as error:
        refuse(str(error))
    text = " ".join(search)
    clauses = [one.model_dump() for one in read_ledger(text or None, verified).clauses]
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
        _list(clauses)
        say(f"{counted(len(clauses), 'clause')}; name one to see it whole")


def _list(clauses: Sequence[Mapping[str, Any]]) -> None:
    counts = [name for name in ("code", "rows", "tests") if clauses[0][name] is not None]
    days = [name for name in ("verified",) if any(clause[name] for clause in clauses)]
    rows = [
        (
            *(clause["id"], clause["title"]),
            *(len(clause[name]) for name in counts),
            *(clause[name] or "" for name in days),
        )
        for clause in clauses
    ]
    show_table(("id", "title", *counts, *days), rows)


def _is_unproved(clause: Mapping[str, Any]) -> bool:
    return not (clause["proved"] or clause["needs_no_proof"])


def _show(clause: Mapping[str, Any]) -> None:
    from sandbox.control.ledger import CHECKOUT_COMMAND

    say(styled(clause["id"], bold=True), f"  {clause['title']}")
    say(f"  {clause['summary']}")
    for name in ("fills", "code", "rows", "tests", "parts"):
        for value in clause.get(name) or ():
            say(f"  {name:<5}  {value}")
    if clause["verified"]:
        say(f"  verified on the platform on {clause['verified']}")
    if clause["needs_no_proof"]:
        say(f"  no proof is needed: {clause['needs_no_proof']}")
    elif clause["tests"] is None and not clause["parts"]:
        say(f"  tests  prove it; `{CHECKOUT_COMMAND}` in a checkout of the project names them")
    say()
