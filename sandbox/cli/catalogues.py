"""`sandbox outcomes`, `cards` and `amounts`: catalogues that need no server."""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import click
from pydantic import BaseModel

from sandbox.cli.arguments import OPERATION
from sandbox.cli.output import (
    EXIT_REFUSED,
    Columns,
    Result,
    ResultCommand,
    refuse,
    say,
    show_table,
)
from sandbox.control.catalogues import TriggerView, card_view, fault_view, outcome_view
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import (
    OUTCOMES,
    TRIGGERS,
    Operation,
    Outcome,
    for_operation,
)
from sandbox.domain.text import did_you_mean
from sandbox.domain.transport_faults import TRANSPORT_FAULTS

_View = Mapping[str, Any]


@click.command(cls=ResultCommand)
@click.argument("search", nargs=-1)
@click.option(
    "--for",
    "operation",
    type=OPERATION,
    metavar="OPERATION",
    help="Only outcomes of this operation, like refund.",
)
def outcomes(search: tuple[str, ...], operation: str | None) -> Result:
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
    found = _found((outcome_view(row) for row in rows if row is not None), search)
    faults = _found(map(fault_view, TRANSPORT_FAULTS.values()), search)
    if not found and not faults:
        _nothing("outcome", search, [*OUTCOMES, *TRANSPORT_FAULTS])
    return Result({"outcomes": found, "total": len(found), "faults": faults}, _show_outcomes)


def _show_outcomes(value: _View) -> None:
    found, faults = value["outcomes"], value["faults"]
    if found:
        columns: Columns = {
            "outcome": "key",
            "status": "status",
            "reason": "status_reason",
            "code": "processor_response_code",
            "message": "message",
            "operations": lambda view: ", ".join(view["operations"]),
        }
        show_table(found, columns, drops=("message", "operations", "code"))
    if found and faults:
        say()
    if faults:
        show_table(faults, {"fault": "key", "when": "when", "effect": "effect"})


@click.command(cls=ResultCommand)
@click.argument("search", nargs=-1)
def cards(search: tuple[str, ...]) -> Result:
    """List the test cards with the answers of their issuers.

    \b
    Examples:
      sandbox cards
      sandbox cards visa debit
    """
    found = _found(map(card_view, CARDS.values()), search)
    if not found:
        _nothing("card", search, CARDS)
    return Result({"cards": found, "total": len(found)}, _show_cards)


def _show_cards(value: _View) -> None:
    names = ("token", "number", "brand", "type", "outcome", "above_amount")
    columns: Columns = {
        **{name.replace("_", " "): name for name in names},
        "later": lambda view: ", ".join(f"{op}: {key}" for op, key in view["later"].items()),
    }
    show_table(value["cards"], columns, drops=("later", "above amount", "type"))


@click.command(cls=ResultCommand)
@click.argument("search", nargs=-1)
def amounts(search: tuple[str, ...]) -> Result:
    """List the amounts that choose an outcome.

    Amounts are in minor units.

    \b
    Examples:
      sandbox amounts
      sandbox amounts 900051
      sandbox amounts settlement
    """
    found = _found(map(TriggerView.of, TRIGGERS.values()), search)
    if not found:
        _nothing("amount", search, (row.key for row in TRIGGERS.values()))
    columns = ("amount", "kind", "key", "operation", "about")
    value = {"triggers": found, "total": len(found)}
    return Result(value, lambda _: show_table(found, columns))


triggers = copy(amounts)
"""The command under its earlier name, which lists of commands leave out."""
triggers.name, triggers.hidden = "triggers", True


_ALSO = dict.fromkeys(("timeout", "time-out", "timeouts"), "timed_out")
"""Words to look for as well."""


def _found(entries: Iterable[BaseModel], search: Sequence[str]) -> list[_View]:
    """The entries that contain every word, in upper or lower case."""
    views = [entry.model_dump(mode="json") for entry in entries]
    words = [word.lower() for word in " ".join(search).split()]

    def has(view: _View, word: str) -> bool:
        text = json.dumps(list(view.values())).lower()
        return word in text or _ALSO.get(word, word) in text

    return [view for view in views if all(has(view, word) for word in words)]


def _nothing(what: str, search: Sequence[str], known: Iterable[str]) -> None:
    words = " ".join(search)
    refuse(f"no {what} has {words!r} in it{did_you_mean(words, known)}", EXIT_REFUSED)
