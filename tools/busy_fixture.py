"""The fixture `busy`: a month of a restaurant group and a hotel. `make golden` writes it.

It calls a sandbox in process through its own API, with the clock set to each moment, so every
record obeys the rules. A seed decides the visits: the same code gives the same bytes. Steps after
the end of the month do not happen, which leaves the last visits unfinished.
"""

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sandbox.domain.instants import to_wire
from sandbox.library import folder
from sandbox.store.ids import Ids
from tools.asking import WORLD, InProcess

FILE: Final = folder("fixtures") / "busy.json"
CAST: Final = Path(__file__).with_name("busy_cast.json")
"""The cast in addition to the demo's."""

FIRST: Final = datetime(2026, 2, 1, 6, tzinfo=UTC)
LAST: Final = datetime(2026, 3, 1, 6, tzinfo=UTC)
"""Midnight in Austin, six hours behind, at both ends of the month."""

NIGHTS: Final = 28
_HOUR: Final = 60
_DAY: Final = 24 * _HOUR

Visit = Iterator[float]
"""Does something, yields the minutes until its next step, and so on."""

_SOME_CARDS: Final = (
    *("tok_visa_credit", "tok_visa_credit", "tok_visa_credit_2", "tok_visa_debit"),
    "tok_visa_debit",
    *("tok_mc_credit", "tok_mc_credit", "tok_mc_debit", "tok_amex", "tok_discover", "tok_jcb"),
)
_DECLINES: Final = (
    *("insufficient_funds", "insufficient_funds", "do_not_honor", "expired_card", "lost_card"),
    *("exceeds_withdrawal_limit", "incorrect_pin", "suspected_fraud", "invalid_card_number"),
)
_FAILURES: Final = (
    *("processor_timeout", "network_connectivity_error", "issuer_unavailable"),
    *("system_malfunction", "invalid_gateway_response"),
)


class Dice:
    """Random draws that follow from a name, so that visits do not affect each other."""

    _draws = Ids(seed=1, world_id=CAST.stem)

    def __init__(self, name: str) -> None:
        self._name, self._drawn = name, 0

    def fraction(self) -> float:
        """Return a number from 0 to 1."""
        self._drawn += 1
        return self._draws.fraction(f"{self._name}:{self._drawn}")

    def between(self, low: int, high: int) -> int:
        """Return a whole number, both ends included."""
        return low + int(self.fraction() * (high - low + 1))

    def one_of(self, things: Sequence[Any]) -> Any:
        """Return one of these."""
        return things[self.between(0, len(things) - 1)]

    def weighed(self, weights: Mapping[Any, int]) -> Any:
        """Return one of these, with probabilities by weight."""
        return self.one_of([*Counter(weights).elements()])


class Guest:
    """A customer who pays at a till of a merchant. `smallest` and `largest` are in cents."""

    def __init__(
        self, sandbox: InProcess, dice: Dice, merchant: str, till: str, smallest: int, largest: int
    ) -> None:
        self.sandbox, self.dice, self.merchant, self.till = sandbox, dice, merchant, till
        self.amount = dice.between(smallest, largest)
        self.card: str = dice.one_of(_SOME_CARDS)

    def pay(
        self,
        amount: int,
        path: str = "payment",
        card: str | None = None,
        outcome: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Return a first attempt, and its result."""
        body = {
            "amount": amount,
            "terminal_id": self.sandbox.cast.terminals[self.till],
            "location_id": self.sandbox.cast.locations[self.merchant],
            "platform": "ios",
            "card_reader_data": {"paymentCardData": card or self.card},
            **more,
        }
        return self.sandbox.ask("POST", f"/v3/{path}", body, by=self.merchant, outcome=outcome)

    def act(self, tx: Mapping[str, Any], action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Plan a later action on a payment."""
        path = f"/v3/payments/{tx['transaction_id']}/{action}"
        return self.sandbox.ask("POST", path, body, by=self.merchant)

    def dines(self) -> Visit:
        """Pay, and write the tip on the slip, which is entered later."""
        tx = self.pay(self.amount)
        yield self.dice.between(15, 45)
        tip = {"type": "fixed", "amount": self.amount * self.dice.between(12, 24) // 100}
        if self.dice.fraction() < 0.2:
            tip = {"type": "percentage", "percentage": self.dice.one_of((15, 18, 20))}
        self.act(tx, "adjust", tip)

    def pays(self) -> Visit:
        """Pay at the counter, mostly with a tip."""
        tip = self.amount * self.dice.one_of((0, 10, 15, 20)) // 100
        parts = {"subtotal": self.amount, "tipAmount": tip}
        self.pay(self.amount + tip, breakdown=parts)
        yield from ()

    def keeps_a_tab(self) -> Visit:
        """Open a tab with a hold, drink more than that, and pay in the end."""
        tx = self.pay(5000, "preauth")
        yield self.dice.between(30, 70)
        self.act(tx, "auth", {"amount": 1000 * self.dice.between(1, 4)})
        yield self.dice.between(40, 80)
        self.act(tx, "capture", {"tip_amount": 100 * self.dice.between(5, 14)})

    def is_declined(self) -> Visit:
        """Pay with another card after one or two that were declined."""
        for _ in range(self.dice.between(1, 2)):
            self.pay(self.amount, outcome=self.dice.one_of(_DECLINES))
            yield 1
        if self.dice.fraction() < 0.8:
            self.pay(self.amount, card="tok_visa_debit")

    def tries_again(self) -> Visit:
        """Pays again after a failure of the host or the network, or a prompt that was canceled."""
        self.pay(self.amount, outcome=self.dice.one_of((*_FAILURES, "user_canceled")))
        yield 2
        self.pay(self.amount)

    def splits(self) -> Visit:
        """Pays with a prepaid card, which is good for $50.00, and the rest with another one."""
        self.pay(5000 + self.amount, card="tok_mc_prepaid")
        yield 2
        self.pay(self.amount, card="tok_visa_credit")

    def is_charged_wrongly(self) -> Visit:
        """Get all or part of it back before the batch is closed."""
        tx = self.pay(self.amount)
        yield 6
        self.act(tx, "reverse", {} if self.dice.fraction() < 0.6 else {"amount": self.amount // 4})

    def complains(self) -> Visit:
        """Is refunded some days later, in whole or in part; once in a while it cannot be done."""
        card = "tok_refund_fails" if self.dice.fraction() < 0.1 else self.card
        tx = self.pay(self.amount, card=card)
        yield self.dice.between(2, 5) * _DAY - self.dice.between(0, 3) * _HOUR
        self.act(tx, "refund", {"amount": self.amount // 3} if self.dice.fraction() < 0.5 else {})

    def is_asked(self) -> Visit:
        """Get a surcharge prompt, and accept it, decline it or leave."""
        tx = self.pay(self.amount, card=self.dice.one_of(("tok_visa_credit", "tok_amex")))
        yield 1
        answer = self.dice.fraction()
        if answer < 0.9:
            self.act(tx, "confirm", {"confirm": answer < 0.75})

    def is_kept_waiting(self) -> Visit:
        """Pays, and the host never reports the result."""
        self.pay(self.amount, outcome="pending_forever")
        yield from ()

    def stays(self) -> Visit:
        """Authorize the room at check-in, add to the hold, and pay at check-out."""
        nights = self.dice.one_of((1, 1, 1, 2, 2, 3, 4))
        held = nights * self.amount + 5000
        tx = self.pay(held, "preauth", additional_details={"nights": nights})
        extras = 0
        for _ in range(nights):
            yield 3 * _HOUR
            if self.dice.fraction() < 0.4:
                extra = 100 * self.dice.between(15, 90)
                grown = self.act(tx, "auth", {"amount": extra})
                extras += extra if grown["status_reason"] == "approved" else 0
            yield 13 * _HOUR + self.dice.between(0, 2 * _HOUR)
            yield 6 * _HOUR
        self.act(tx, "capture", {"amount": nights * self.amount + extras})
        if self.dice.fraction() < 0.1:
            yield 2 * _DAY
            self.act(tx, "refund", {"amount": 2500})

    def does_not_come(self) -> Visit:
        """Authorize a room or a tab, and never pay. A room's hold lasts for a month."""
        self.pay(self.amount, "preauth")
        yield from ()

    def cancels(self) -> Visit:
        """Book a room with a hold, and release all of it, or one of two nights."""
        tx = self.pay(2 * self.amount, "preauth")
        yield 8 * _HOUR
        self.act(tx, "reverse", {"amount": self.amount} if self.dice.fraction() < 0.3 else {})


_AT_RESTAURANTS: Final[Mapping[str, Mapping[Callable[[Guest], Visit], int]]] = {
    "grill": {
        Guest.dines: 56,
        Guest.keeps_a_tab: 16,
        Guest.is_declined: 10,
        Guest.tries_again: 5,
        Guest.is_charged_wrongly: 5,
        Guest.complains: 8,
    },
    "taqueria": {
        Guest.pays: 64,
        Guest.is_declined: 10,
        Guest.tries_again: 6,
        Guest.splits: 10,
        Guest.complains: 6,
        Guest.is_kept_waiting: 4,
    },
    "rooftop": {Guest.is_asked: 86, Guest.is_declined: 14},
}
"""The visits of each restaurant, in percent."""

_BILLS: Final = {"grill": (2400, 16500), "taqueria": (900, 4200), "rooftop": (1200, 7800)}
"""The smallest and the largest amount, in cents."""

_A_DAY: Final = {"grill": (4, 7), "taqueria": (3, 5), "rooftop": (1, 3)}
"""The smallest and the largest number of guests."""

_AT_THE_HOTEL: Final = {Guest.stays: 84, Guest.does_not_come: 6, Guest.cancels: 10}


def guests(sandbox: InProcess) -> Iterator[tuple[float, Visit]]:
    """All guests of the restaurants, with the minute of the month at which they pay."""
    for merchant, choices in _AT_RESTAURANTS.items():
        for day in range(NIGHTS):
            # Fridays and Saturdays are busier; the first of February was a Sunday.
            more = 2 if day % 7 in (5, 6) else 0
            for number in range(Dice(f"{merchant}:{day}").between(*_A_DAY[merchant]) + more):
                own = Dice(f"{merchant}:{day}:{number}")
                what = own.weighed(choices)
                till = "grill_bar" if what is Guest.keeps_a_tab else merchant
                guest = Guest(sandbox, own, merchant, till, *_BILLS[merchant])
                # From 11:30 to 20:30, so everything ends before the night.
                at = day * _DAY + own.between(690, 1230)
                yield at, what(guest)
    last = Guest(sandbox, Dice("last"), "rooftop", "rooftop", *_BILLS["rooftop"])
    # This guest still considers the surcharge when the month ends.
    yield NIGHTS * _DAY - 0.5, last.is_asked()


def hotel_guests(sandbox: InProcess) -> Iterator[tuple[float, Visit]]:
    """All guests of the hotel, with the minute of the month at which they arrive."""
    for day in range(NIGHTS):
        for number in range(Dice(f"hotel:{day}").between(1, 3)):
            own = Dice(f"hotel:{day}:{number}")
            guest = Guest(sandbox, own, "hotel", "hotel", 14900, 32900)
            yield day * _DAY + own.between(900, 1200), own.weighed(_AT_THE_HOTEL)(guest)
    for day in (9, 19):
        guest = Guest(sandbox, Dice(f"hotel bar:{day}"), "hotel", "hotel_bar", 3000, 9000)
        guest.card = "tok_visa_credit"
        yield day * _DAY + 1290, guest.does_not_come()


def close_batches(sandbox: InProcess, merchant: str, night: int) -> Visit:
    """Close the batches of a day, and those rejected the night before; answer them later."""
    path = "/v1/batches?statuses=open&statuses=rejected"
    batches = sandbox.ask("GET", path, by=merchant)["batches"]
    for batch in batches:
        sandbox.ask("POST", f"/v1/batches/{batch['id']}/close", by=merchant)
    yield 4 * _HOUR
    for batch in batches:
        answer: dict[str, Any] = {"answer": "accepted"}
        if (merchant, night) == ("grill", 11) and batch["status"] == "open":
            answer = {"answer": "rejected", "reason": "bad_record_count"}
        if (merchant, night) == ("taqueria", 17):
            answer = {"answer": "partially_accepted", "rejected": 1}
        sandbox.ask("POST", f"{WORLD}/batches/{batch['id']}/answer", answer)


def closings(sandbox: InProcess) -> Iterator[tuple[float, Visit]]:
    """Yield the ends of all days but the last, at half past ten in the evening or later."""
    for merchant in (*_AT_RESTAURANTS, "hotel"):
        for night in range(NIGHTS - 1):
            minute = night * _DAY + 22.5 * _HOUR + len(merchant)
            yield minute, close_batches(sandbox, merchant, night)


def content() -> str:
    """Return the text of the file."""
    tables = json.loads((folder("fixtures") / "demo.json").read_text(encoding="utf-8"))
    for table, documents in json.loads(CAST.read_text(encoding="utf-8")).items():
        tables[table] |= documents
    with TemporaryDirectory() as name:
        cast = Path(name) / CAST.name
        cast.write_text(json.dumps(tables), encoding="utf-8")
        sandbox = InProcess(str(cast), to_wire(FIRST))
    sandbox.ask("PUT", f"{WORLD}/switches", {"batch.settlement": "manual"})
    _let_happen(sandbox, [*guests(sandbox), *hotel_guests(sandbox), *closings(sandbox)])
    sandbox.ask("PUT", f"{WORLD}/switches", {"batch.settlement": "auto"})
    return _written(_trimmed(sandbox.ask("GET", f"{WORLD}/snapshot")))


def _let_happen(sandbox: InProcess, visits: Sequence[tuple[float, Visit]]) -> None:
    """Take every step of the visits that comes before the end of the month, each at its moment."""
    coming = [
        (FIRST + timedelta(minutes=minutes), number, visit)
        for number, (minutes, visit) in enumerate(visits)
    ]
    heapq.heapify(coming)
    later = count(len(coming))
    while coming:
        now, _, visit = heapq.heappop(coming)
        if now >= LAST:
            break
        sandbox.ask("POST", f"{WORLD}/clock/advance", {"to": to_wire(now)})
        if (minutes := next(visit, None)) is not None:
            heapq.heappush(coming, (now + timedelta(minutes=minutes), next(later), visit))
    sandbox.ask("POST", f"{WORLD}/clock/advance", {"to": to_wire(LAST)})


def _trimmed(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Keep only the messages of two days, and let the clock run from the end of the month."""
    since = to_wire(LAST - timedelta(days=2))
    messages = [one for one in snapshot["messages"].values() if one["created_at"] >= since]
    records = {one["_id"]: one for one in snapshot["records"].values()}
    snapshot["messages"] = {str(number): one for number, one in enumerate(messages)}
    snapshot["records"] = {str(number): records[one["_id"]] for number, one in enumerate(messages)}
    (state,) = snapshot["world"].values()
    state["clock"] = {"mode": "running", "rate": 1.0, "now": to_wire(LAST)}
    state["begins"]["clock"] = {"now": to_wire(LAST), "mode": "running"}
    return snapshot


def _written(snapshot: Mapping[str, Mapping[str, Any]]) -> str:
    """Write one document per line, so that a diff of the file is readable."""
    tables = []
    for table, documents in snapshot.items():
        lines = ",\n".join(
            f"{json.dumps(number)}:{json.dumps(one, separators=(',', ':'))}"
            for number, one in documents.items()
        )
        tables.append(f"{json.dumps(table)}:{{\n{lines}\n}}")
    return "{\n" + ",\n".join(tables) + "\n}\n"
