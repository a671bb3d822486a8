"""Requests of the journal as a scenario file: rules for outcomes, and examples that send them.

The examples have the words of scenarios, so only payments and what is done to them are in it; it
names what was left out. It is handed over only after its examples came true in a demo world.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from sandbox.control.context import cast_names, conflict
from sandbox.control.export_case import STEP_S, ExportCase
from sandbox.control.export_tests import queue_again
from sandbox.domain.instants import parse_rfc3339
from sandbox.worlds.journal import EntryView

_BEGIN: Final = {"/v3/payment": "sale", "/v3/preauth": "auth"}
_ACTIONS: Final = {
    "capture": "capture",
    "auth": "incremental_auth",
    "adjust": "tip_adjust",
    "refund": "refund",
    "reverse": "reverse",
    "confirm": "confirm",
}
_ACTION: Final = re.compile(rf"/v[13]/payments/([^/]+)/({'|'.join(_ACTIONS)})")

_CHOSEN: Final = ("queue", "header", "scenario")
"""What chose an outcome that nothing in the request says."""

_LOST: Final = ("drop_before", "drop_after")

_REFUND: Final = "/v3/refund"
_EXPECTED: Final = ("error", "status", "status_reason")
_AMOUNTS: Final = ("total_amount", "tip_amount", "surcharge_amount", "refunded")


def build_scenario(case: ExportCase) -> tuple[dict[str, Any], int, list[str]]:
    """The scenario, how many requests are in it, and what was left out.

    Raises ControlFault if nothing is in it.
    """
    writing = _ScenarioWriter(case)
    for view in case.views:
        writing.add(view)
    if not writing.count:
        raise conflict(
            "nothing_to_export",
            "no request is a payment, or something that is done to one",
            details="a scenario has words for these alone; `pytest` exports any request",
        )
    document: dict[str, Any] = {
        "name": "What was seen",
        "about": f"{writing.count} of the requests to the world {case.world.spec.id}.",
    }
    if writing.rules:
        document["rule"] = writing.rules
    document["example"] = writing.examples
    left = [f"{what} ({count})" for what, count in sorted(writing.left_out.items())]
    return document, writing.count, left


class _ScenarioWriter:
    """The rules and examples so far."""

    def __init__(self, case: ExportCase) -> None:
        self.rules: list[dict[str, Any]] = []
        self.examples: list[dict[str, Any]] = []
        self.left_out: Counter[str] = Counter()
        self.count = 0
        self._case = case
        self._terminals = cast_names(case.world, "terminal")
        self._made: dict[str, str] = {}
        self._attempts: Counter[str] = Counter()
        self._at: datetime | None = None

    def add(self, view: EntryView) -> None:
        """Write one request, if scenarios have a word for it."""
        send = self._send(view)
        if send is None:
            self.left_out[f"{view['method']} {view['route'] or view['path'][:80]}"] += 1
            return
        came = parse_rfc3339(view["at"])
        if self._at is None:
            self._at = came
        passed = round((came - self._at).total_seconds())
        if passed > STEP_S:
            by = {"operation": "advance", "by": f"{passed}s"}
            self.examples.append({"send": by, "expect": {}})
            self._at = came
        self.count += 1
        name = f"{self.count} {send['operation'].replace('_', ' ')}"
        self._rule(name, send["operation"], view)
        self.examples.append({"name": name, "send": send, "expect": dict(_expected(view))})
        response = view["response"]
        if send["operation"] in _BEGIN.values() and isinstance(response, dict):
            self._made[str(response.get("transaction_id"))] = name

    def _rule(self, name: str, operation: str, view: EntryView) -> None:
        """Have the attempt end as it did, if something else than the request chose that."""
        outcome = view["outcome"]
        if outcome is None:
            return
        self._attempts[operation] += 1
        if outcome["source"] not in _CHOSEN:
            return
        then = queue_again(outcome["key"], view["response"])
        when = {"operation": operation, "nth": self._attempts[operation]}
        self.rules.append({"name": name, "when": when, "then": then})

    def _send(self, view: EntryView) -> dict[str, Any] | None:
        """The request in the words of an example; None if they cannot say it."""
        body = {} if view["request"] is None else view["request"]
        if view["method"] != "POST" or not isinstance(body, dict):
            return None
        key = self._case.key_of_cast(view)
        if key is None:
            return None
        operation = _BEGIN.get(view["path"])
        if operation is not None:
            terminal = self._terminals.get(str(body.get("terminal_id")))
            if terminal is None:
                return None
            return {"operation": operation, "terminal": terminal, "key": key, **_asked(body)}
        if view["path"] == _REFUND:
            id, operation = str(body.get("transaction_id")), "refund"
        elif (found := _ACTION.fullmatch(view["path"])) is not None:
            id, operation = found[1], _ACTIONS[found[2]]
        else:
            return None
        # The examples have no word for a tip in percent.
        if id not in self._made or body.get("type") not in (None, "fixed"):
            return None
        return {"operation": operation, "on": self._made[id], "key": key, **_asked(body)}


def _asked(body: Mapping[str, Any]) -> dict[str, Any]:
    """Amounts, card and event_id of a body."""
    breakdown, card = body.get("breakdown"), body.get("card_reader_data")
    breakdown = breakdown if isinstance(breakdown, dict) else {}
    card = card if isinstance(card, dict) else {}
    asked = {
        "amount": body.get("amount"),
        "tip_amount": body.get("tip_amount") or breakdown.get("tipAmount"),
        "card": card.get("paymentCardData"),
        "event_id": body.get("event_id"),
        "confirm": body.get("confirm"),
    }
    return {name: value for name, value in asked.items() if value is not None}


def _expected(view: EntryView) -> Iterator[tuple[str, Any]]:
    """What was seen: the status of the answer, the error, how the payment ended, its amounts."""
    outcome = view["outcome"]
    if outcome is not None and outcome["key"] in _LOST:
        yield "http", 0
        return
    yield "http", view["status"]
    response = view["response"]
    if isinstance(response, dict):
        yield from (
            (name, response[name]) for name in _EXPECTED if isinstance(response.get(name), str)
        )
        amounts = {name: response[name] for name in _AMOUNTS if response.get(name)}
        if amounts:
            yield "fields", amounts
