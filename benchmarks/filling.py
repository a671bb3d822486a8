"""Worlds with many payments in them, all of them taken through the API.

A month of trade at two dozen terminals of two merchants: most are sales, some are declined, some
refunded in full or in part, some authorized first. The clock of the world stands still and is moved
on between payments, so that their moments spread over the month.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from sandbox.in_process import Exchange

from benchmarks.in_process import ask, question
from sandbox.app import Sandbox

FIRST_DAY: Final = datetime(2026, 3, 1, tzinfo=UTC)
DAYS: Final = 30
_MOMENTS_MAX: Final = 2_000
_TERMINALS_EACH: Final = 12
_MERCHANTS: Final = ("merchant", "second_merchant")

_CARDS: Final = {
    "tok_visa_credit": 40,
    "tok_visa_debit": 15,
    "tok_mc_credit": 25,
    "tok_amex": 12,
    "tok_discover": 8,
}
_KINDS: Final = {
    "sale": 80,
    "declined": 8,
    "refunded": 5,
    "refunded in part": 2,
    "captured": 3,
    "only held": 2,
}
"""What becomes of payments, in percent. What is only held runs out after some days."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A world with payments in it, and what is needed to ask about them."""

    sandbox: Sandbox
    key: str
    terminals: Sequence[str]
    ids: Sequence[str]

    def get(self, path: str, query: str = "") -> Exchange:
        """A question about these payments."""
        return question("GET", path, key=self.key, query=query)

    def sale(self, number: int) -> Exchange:
        """One more sale."""
        terminal = self.terminals[number % len(self.terminals)]
        return _start(self.key, "payment", {"amount": 4200, "terminal_id": terminal})


def filled(sandbox: Sandbox, world: str, count: int) -> Filled:
    """Make a world with so many payments."""
    begin = {"id": world, "clock": FIRST_DAY.isoformat()}
    made = ask(sandbox, question("POST", "/_sandbox/worlds", body=begin), 201)
    key = made["keys"]["partner"]["key"]
    terminals = [
        _terminal(sandbox, key, made["accounts"][merchant], number)
        for number, merchant in enumerate(_MERCHANTS * _TERMINALS_EACH, 1)
    ]
    draws, at_once = Random(count), max(1, count // _MOMENTS_MAX)  # the same in every run
    kinds = draws.choices([*_KINDS], [*_KINDS.values()], k=count)
    cards = draws.choices([*_CARDS], [*_CARDS.values()], k=count)
    ids: list[str] = []
    for number, (kind, card) in enumerate(zip(kinds, cards, strict=True)):
        if number % at_once == 0:
            now = FIRST_DAY + timedelta(days=DAYS) * (number / count)
            clock = {"now": now.isoformat()}
            ask(sandbox, question("PUT", f"/_sandbox/worlds/{world}/clock", body=clock))
        body = {
            "amount": draws.randrange(500, 20_000),
            "terminal_id": draws.choice(terminals),
            "card_reader_data": {"paymentCardData": "tok_declined" if kind == "declined" else card},
        }
        ids.append(_take(sandbox, key, kind, body))
    return Filled(sandbox, key, terminals, ids)


def _terminal(sandbox: Sandbox, key: str, account_id: str, number: int) -> str:
    body = {
        "account_id": account_id,
        "processor_config_id": "cfg-tsys-001",
        "name": f"Register {number}",
        "mid": "886000007000",
        "tid": f"{70_000_000 + number}",
    }
    answer = ask(sandbox, question("POST", "/v2/terminals", key=key, body=body), 201)
    return str(answer["terminal_id"])


def _take(sandbox: Sandbox, key: str, kind: str, body: dict[str, Any]) -> str:
    """One payment and what follows it; its id."""
    is_held = kind in ("captured", "only held")
    answer = ask(sandbox, _start(key, "preauth" if is_held else "payment", body))
    id = str(answer["transaction_id"])
    if kind in ("refunded", "refunded in part"):
        amount = {"amount": body["amount"] // 2} if kind == "refunded in part" else {}
        ask(sandbox, question("POST", f"/v3/payments/{id}/refund", key=key, body=amount))
    elif kind == "captured":
        ask(sandbox, question("POST", f"/v3/payments/{id}/capture", key=key, body={}))
    return id


def _start(key: str, operation: str, body: dict[str, Any]) -> Exchange:
    return question("POST", f"/v3/{operation}", key=key, body=body)
