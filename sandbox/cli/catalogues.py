"""Commands that list outcomes, cards, amounts and clauses. They need no server."""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Final

import click
from pydantic import BaseModel

from sandbox.cli import output
from sandbox.cli.arguments import OPERATION, profile_option
from sandbox.control.catalogues import FaultView, TriggerView, card_view, outcome_view
from sandbox.control.ledger import CHECKOUT_COMMAND, read_ledger
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, TRIGGERS, Operation, Outcome, for_operation
from sandbox.domain.profile import Profile
from sandbox.domain.text import did_you_mean
from sandbox.domain.transport_faults import TRANSPORT_FAULTS

_DETAILED_MAX: Final = 3
"""Up to this many clauses are shown in full."""

_View = Mapping[str, Any]


@click.command(cls=output.ResultCommand)
@click.argument("search", nargs=-1)
@click.option(
    "--for", "operation", type=OPERATION, help="Only outcomes of this operation, like refund."
)
def outcomes(search: tuple[str, ...], operation: str | None) -> output.Result:
    """List the outcomes of payments and the transport faults.

    SEARCH selects those that contain all its words: a key, a reason, a code, an operation.

    \b
    Examples:
      sandbox outcomes
      sandbox outcomes funds
      sandbox outcomes --for refund
      sandbox outcomes --for capture declined
    """
    rows: Iterable[Outcome | None] = OUTCOMES.values()
    if operation is not None:
        rows = (for_operation(key, Operation(operation)) for key in OUTCOMES)
    found = _search(map(outcome_view, filter(None, rows)), search)
    faults = _search(map(FaultView.of, TRANSPORT_FAULTS.values()), search)
    _expect("outcome", search, [*OUTCOMES, *TRANSPORT_FAULTS], found or faults)
    return output.Result({"outcomes": found, "total": len(found), "faults": faults}, _show_outcomes)


def _show_outcomes(value: _View) -> None:
    found, faults = value["outcomes"], value["faults"]
    if found:
        columns: output.Columns = {
            "outcome": "key",
            "status": "status",
            "reason": "status_reason",
            "code": "processor_response_code",
            "message": "message",
            "operations": lambda view: ", ".join(view["operations"]),
        }
        output.show_table(found, columns, drops=("message", "operations", "code"))
    if found and faults:
        output.say()
    if faults:
        output.show_table(faults, {"fault": "key", "when": "when", "effect": "effect"})


@click.command(cls=output.ResultCommand)
@click.argument("search", nargs=-1)
def cards(search: tuple[str, ...]) -> output.Result:
    """List the test cards with the answers of their issuers.

    \b
    Examples:
      sandbox cards
      sandbox cards visa debit
    """
    found = _search(map(card_view, CARDS.values()), search)
    _expect("card", search, CARDS, found)
    return output.Result({"cards": found, "total": len(found)}, _show_cards)


def _show_cards(value: _View) -> None:
    names = ("token", "number", "brand", "type", "outcome", "above_amount")
    columns: output.Columns = {
        **{name.replace("_", " "): name for name in names},
        "later": lambda view: ", ".join(f"{op}: {key}" for op, key in view["later"].items()),
    }
    output.show_table(value["cards"], columns, drops=("later", "above amount", "type"))


@click.command(cls=output.ResultCommand)
@click.argument("search", nargs=-1)
def amounts(search: tuple[str, ...]) -> output.Result:
    """List the amounts that choose an outcome.

    Amounts are in minor units.

    \b
    Examples:
      sandbox amounts
      sandbox amounts 900051
      sandbox amounts settlement
    """
    found = _search(map(TriggerView.of, TRIGGERS.values()), search)
    _expect("amount", search, (row.key for row in TRIGGERS.values()), found)
    columns = ("amount", "kind", "key", "operation", "about")
    value = {"triggers": found, "total": len(found)}
    return output.Result(value, lambda _: output.show_table(found, columns))


triggers = copy(amounts)
"""The command under its earlier name, which is hidden in lists of commands."""
triggers.name, triggers.hidden = "triggers", True


_ALSO = dict.fromkeys(("timeout", "time-out", "timeouts"), "timed_out")
"""Synonyms to search for as well."""


def _search(entries: Iterable[BaseModel], search: Sequence[str]) -> list[_View]:
    """Return the entries that contain every word, in upper or lower case."""
    views = [entry.model_dump(mode="json") for entry in entries]
    words = [word.lower() for word in " ".join(search).split()]

    def has(view: _View, word: str) -> bool:
        text = json.dumps(list(view.values())).lower()
        return word in text or _ALSO.get(word, word) in text

    return [view for view in views if all(has(view, word) for word in words)]


def _expect(what: str, search: Sequence[str], known: Iterable[str], found: list[_View]) -> None:
    """End the command if nothing is found."""
    if not found:
        words = " ".join(search)
        said = f"no {what} contains {words!r}{did_you_mean(words, known)}"
        output.refuse(said, output.EXIT_REFUSED)


# --- the ledger of clauses


@click.command(cls=output.ResultCommand)
@click.argument("search", nargs=-1)
@click.option("--unproved", is_flag=True, help="Only clauses that no test proves.")
@profile_option(
    help="TOML file of `sandbox verify`: each clause is shown with the day it was verified."
)
def ledger(search: tuple[str, ...], *, unproved: bool, profile: Profile) -> output.Result:
    """Show the clauses with their code and tests.

    A clause is a rule of the platform's specification, or an assumption where the specification
    is silent. SEARCH selects the clause with that id, or all with that text in id, title or
    summary. Up to three are shown in full. The names of tests are only known in a checkout.
    This command needs no server.

    \b
    Examples:
      sandbox ledger refund
      sandbox ledger authenticates
      sandbox ledger --unproved
      sandbox ledger D35 --profile verified/uat.toml
    """
    text = " ".join(search)
    clauses = [one.model_dump() for one in read_ledger(text or None, profile.verified).clauses]
    clauses = [clause for clause in clauses if clause["id"].lower() == text.lower()] or clauses
    if not clauses:
        output.refuse(f"no clause has {text!r} in its id, title or summary", output.EXIT_REFUSED)
    if unproved:
        clauses = [one for one in clauses if not (one["proved"] or one["needs_no_proof"])]
    return output.Result({"clauses": clauses, "total": len(clauses)}, _show_clauses)


def _show_clauses(found: Mapping[str, Any]) -> None:
    clauses = found["clauses"]
    if not clauses:
        output.say("a test proves every clause")
    elif len(clauses) <= _DETAILED_MAX:
        for clause in clauses:
            _show_clause(clause)
    else:
        counts = [name for name in ("code", "rows", "tests") if clauses[0][name] is not None]
        days = ["verified"] if any(clause["verified"] for clause in clauses) else []
        rows = [clause | {name: len(clause[name]) for name in counts} for clause in clauses]
        output.show_table(rows, ("id", "title", *counts, *days))
        output.say(f"{output.count_things(len(clauses), 'clause')}; name one to see it in full")


def _show_clause(clause: Mapping[str, Any]) -> None:
    output.say(output.styled(clause["id"], bold=True), f"  {clause['title']}")
    output.say(f"  {clause['summary']}")
    for name in ("fills", "code", "rows", "tests", "parts"):
        output.say_lines(f"  {name:<5}  {value}" for value in clause.get(name) or ())
    if clause["verified"]:
        output.say(f"  verified on the platform on {clause['verified']}")
    if clause["needs_no_proof"]:
        output.say(f"  no proof is needed: {clause['needs_no_proof']}")
    elif clause["tests"] is None and not clause["parts"]:
        told = f"prove it; `{CHECKOUT_COMMAND}` in a checkout of the project names them"
        output.say(f"  tests  {told}")
    output.say()
