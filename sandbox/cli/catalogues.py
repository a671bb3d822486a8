"""`sandbox outcomes`, `cards` and `amounts`: catalogues that need no server."""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import click

from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.tables import json_option, say, show_json, show_table

_View = Mapping[str, Any]


@click.command()
@click.argument("search", nargs=-1)
@json_option
def outcomes(search: tuple[str, ...], *, as_json: bool) -> None:
    """List the outcomes of payments and the transport faults.

    SEARCH selects those that contain all its words: a key, a reason, a code, an operation.

    \b
    Examples:
      sandbox outcomes
      sandbox outcomes funds
      sandbox outcomes refund declined
    """
    from sandbox.control.payments import fault_view, outcome_view
    from sandbox.domain.payments.outcomes import OUTCOMES, TRANSPORT_FAULTS

    found = _found(map(outcome_view, OUTCOMES.values()), search)
    faults = _found(map(fault_view, TRANSPORT_FAULTS.values()), search)
    if not found and not faults:
        _nothing("outcome", search, [*OUTCOMES, *TRANSPORT_FAULTS])
    if as_json:
        show_json({"outcomes": found, "total": len(found), "faults": faults})
        return
    if found:
        columns = ("key", "status", "status_reason", "processor_response_code", "message")
        headers = ("outcome", "status", "reason", "code", "message", "operations")
        rows = [(*_cells(view, columns), ", ".join(view["operations"])) for view in found]
        show_table(headers, rows, drops=("message", "operations", "code"))
    if found and faults:
        say()
    if faults:
        rows = [_cells(view, ("key", "when", "effect")) for view in faults]
        show_table(("fault", "when", "effect"), rows)


@click.command()
@click.argument("search", nargs=-1)
@json_option
def cards(search: tuple[str, ...], *, as_json: bool) -> None:
    """List the test cards with the answers of their issuers.

    \b
    Examples:
      sandbox cards
      sandbox cards visa debit
    """
    from sandbox.control.payments import card_view
    from sandbox.domain.payments.cards import CARDS

    found = _found(map(card_view, CARDS.values()), search)
    if not found:
        _nothing("card", search, CARDS)
    if as_json:
        show_json({"cards": found, "total": len(found)})
        return
    headers = ("token", "number", "brand", "type", "outcome", "above amount", "later")
    columns = ("token", "number", "brand", "type", "outcome", "above_amount")
    rows = [
        (*_cells(view, columns), ", ".join(f"{op}: {key}" for op, key in view["later"].items()))
        for view in found
    ]
    show_table(headers, rows, drops=("later", "above amount", "type"))


@click.command()
@click.argument("search", nargs=-1)
@json_option
def amounts(search: tuple[str, ...], *, as_json: bool) -> None:
    """List the amounts that choose an outcome.

    Amounts are in minor units.

    \b
    Examples:
      sandbox amounts
      sandbox amounts 900051
      sandbox amounts settlement
    """
    from sandbox.control.payments import trigger_view
    from sandbox.domain.payments.outcomes import TRIGGERS

    found = _found(map(trigger_view, TRIGGERS.values()), search)
    if not found:
        _nothing("amount", search, (row.key for row in TRIGGERS.values()))
    if as_json:
        show_json({"triggers": found, "total": len(found)})
        return
    columns = ("amount", "kind", "key", "operation", "about")
    show_table(columns, [_cells(view, columns) for view in found])


triggers = copy(amounts)
"""The command under its earlier name, which lists of commands leave out."""
triggers.hidden = True


_ALSO = dict.fromkeys(("timeout", "time-out", "timeouts"), "timed_out")
"""Words to look for as well."""


def _found(views: Iterable[_View], search: Sequence[str]) -> list[_View]:
    """The entries that contain every word, in upper or lower case."""
    words = [word.lower() for word in " ".join(search).split()]

    def has(view: _View, word: str) -> bool:
        text = json.dumps(list(view.values())).lower()
        return word in text or _ALSO.get(word, word) in text

    return [view for view in views if all(has(view, word) for word in words)]


def _cells(view: _View, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(view[name] for name in names)


def _nothing(what: str, search: Sequence[str], known: Iterable[str]) -> None:
    from sandbox.domain.text import did_you_mean

    words = " ".join(search)
    refuse(f"no {what} has {words!r} in it{did_you_mean(words, known)}", EXIT_REFUSED)
