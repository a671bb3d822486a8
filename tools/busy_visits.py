"""The visits of customers in the month of the fixture `busy`, each a generator.

A visit does something, yields the minutes until its next step, and so on. Steps after the end of
the month do not happen, which leaves the last visits unfinished.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from sandbox.store.ids import Ids

Visit = Generator[float, None, None]
"""Yields the minutes until the next step."""

NIGHTS: Final = 28
_HOUR: Final = 60
_DAY: Final = 24 * _HOUR
_SOME_CARDS: Final = (
    *(
        "tok_visa_credit",
        "tok_visa_credit",
        "tok_visa_credit_2",
        "tok_visa_debit",
        "tok_visa_debit",
    ),
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


class Scene(Protocol):
    """Where visits take place."""

    cast: Any
    draws: Ids

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        """One request to the platform, `by` a key of the cast. Raises for anything but 2xx."""

    def control(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """One request about the world. Raises for anything but 2xx."""


class Dice:
    """Draws that follow from a name: another visit does not change those of this one."""

    def __init__(self, draws: Ids, name: str) -> None:
        self._draws, self._name, self._drawn = draws, name, 0

    def fraction(self) -> float:
        """From 0 to 1."""
        self._drawn += 1
        return self._draws.fraction(f"{self._name}:{self._drawn}")

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + int(self.fraction() * (high - low + 1))

    def one_of(self, things: Sequence[Any]) -> Any:
        """One of these."""
        return things[self.between(0, len(things) - 1)]


class Guest:
    """A customer who pays at a till of a merchant. `smallest` and `largest` are in cents."""

    def __init__(
        self, scene: Scene, dice: Dice, merchant: str, till: str, smallest: int, largest: int
    ) -> None:
        self.scene, self.dice, self.merchant, self.till = scene, dice, merchant, till
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
        """A first attempt, and its result."""
        body = {
            "amount": amount,
            "terminal_id": self.scene.cast.terminals[self.till],
            "location_id": self.scene.cast.locations[self.merchant],
            "platform": "ios",
            "card_reader_data": {"paymentCardData": card or self.card},
            **more,
        }
        return self.scene.ask("POST", f"/v3/{path}", body, by=self.merchant, outcome=outcome)

    def act(self, tx: Mapping[str, Any], action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Something that is done to a payment later."""
        path = f"/v3/payments/{tx['transaction_id']}/{action}"
        return self.scene.ask("POST", path, body, by=self.merchant)

    # --- at a restaurant

    def dines(self) -> Visit:
        """Pays, and writes the tip on the slip, which is entered later."""
        tx = self.pay(self.amount)
        yield self.dice.between(15, 45)
        tip = {"type": "fixed", "amount": self.amount * self.dice.between(12, 24) // 100}
        if self.dice.fraction() < 0.2:
            tip = {"type": "percentage", "percentage": self.dice.one_of((15, 18, 20))}
        self.act(tx, "adjust", tip)

    def pays(self) -> Visit:
        """Pays at the counter, mostly with a tip."""
        tip = self.amount * self.dice.one_of((0, 10, 15, 20)) // 100
        parts = {"subtotal": self.amount, "tipAmount": tip}
        self.pay(self.amount + tip, breakdown=parts)
        yield from ()

    def keeps_a_tab(self) -> Visit:
        """Has a card held, drinks more than that, and pays in the end."""
        tx = self.pay(5000, "preauth")
        yield self.dice.between(30, 70)
        self.act(tx, "auth", {"amount": 1000 * self.dice.between(1, 4)})
        yield self.dice.between(40, 80)
        self.act(tx, "capture", {"tip_amount": 100 * self.dice.between(5, 14)})

    def is_declined(self) -> Visit:
        """Pays with another card after one or two that do not go through."""
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
        """Gets all or a part of it back before the batch is closed."""
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
        """Gets a surcharge prompt, and accepts it, declines it or leaves."""
        tx = self.pay(self.amount, card=self.dice.one_of(("tok_visa_credit", "tok_amex")))
        yield 1
        answer = self.dice.fraction()
        if answer < 0.9:
            self.act(tx, "confirm", {"confirm": answer < 0.75})

    def is_kept_waiting(self) -> Visit:
        """Pays, and the host never reports the result."""
        self.pay(self.amount, outcome="pending_forever")
        yield from ()

    # --- at a hotel

    def stays(self) -> Visit:
        """Authorizes the room at check-in, adds to the hold, and pays at check-out."""
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
        """Authorizes a room and never comes; a hotel's hold lasts for a month."""
        self.pay(self.amount, "preauth")
        yield from ()

    def leaves_a_tab(self) -> Visit:
        """Opens a tab at the bar that is never closed: the hold expires within days."""
        self.pay(self.amount, "preauth", card="tok_visa_credit")
        yield from ()

    def cancels(self) -> Visit:
        """Has a room held, and lets it go, or one of two nights."""
        tx = self.pay(2 * self.amount, "preauth")
        yield 8 * _HOUR
        self.act(tx, "reverse", {"amount": self.amount} if self.dice.fraction() < 0.3 else {})


_Happening = Callable[[Guest], Visit]

_AT_RESTAURANTS: Final[Mapping[str, tuple[tuple[_Happening, int], ...]]] = {
    "grill": (
        (Guest.dines, 56),
        (Guest.keeps_a_tab, 16),
        (Guest.is_declined, 10),
        (Guest.tries_again, 5),
        (Guest.is_charged_wrongly, 5),
        (Guest.complains, 8),
    ),
    "taqueria": (
        (Guest.pays, 64),
        (Guest.is_declined, 10),
        (Guest.tries_again, 6),
        (Guest.splits, 10),
        (Guest.complains, 6),
        (Guest.is_kept_waiting, 4),
    ),
    "rooftop": ((Guest.is_asked, 86), (Guest.is_declined, 14)),
}
"""The visits of each restaurant, in percent."""

_BILLS: Final = {"grill": (2400, 16500), "taqueria": (900, 4200), "rooftop": (1200, 7800)}
"""The smallest and the largest, in cents."""

_A_DAY: Final = {"grill": (4, 7), "taqueria": (3, 5), "rooftop": (1, 3)}
"""How many come, at least and at most."""

_AT_THE_HOTEL: Final = ((Guest.stays, 84), (Guest.does_not_come, 6), (Guest.cancels, 10))


def _what(dice: Dice, choices: Sequence[tuple[_Happening, int]]) -> _Happening:
    drawn = dice.between(0, sum(weight for _, weight in choices) - 1)
    for what, weight in choices:
        drawn -= weight
        if drawn < 0:
            return what
    raise AssertionError("weights do not add up")


def guests(scene: Scene) -> Iterator[tuple[float, Visit]]:
    """All guests of the restaurants, with the minute of the month at which they pay."""
    for merchant, choices in _AT_RESTAURANTS.items():
        for day in range(NIGHTS):
            dice = Dice(scene.draws, f"{merchant}:{day}")
            # Fridays and Saturdays are busier; the first of February was a Sunday.
            more = 2 if day % 7 in (5, 6) else 0
            for number in range(dice.between(*_A_DAY[merchant]) + more):
                own = Dice(scene.draws, f"{merchant}:{day}:{number}")
                what = _what(own, choices)
                till = "grill_bar" if what is Guest.keeps_a_tab else merchant
                guest = Guest(scene, own, merchant, till, *_BILLS[merchant])
                # From 11:30 to 20:30, so everything ends before the night.
                at = day * _DAY + own.between(690, 1230)
                yield at, what(guest)
    last = Guest(scene, Dice(scene.draws, "last"), "rooftop", "rooftop", *_BILLS["rooftop"])
    # Still thinks about the surcharge when the month ends.
    yield NIGHTS * _DAY - 0.5, last.is_asked()


def hotel_guests(scene: Scene) -> Iterator[tuple[float, Visit]]:
    """All guests of the hotel, with the minute of the month at which they arrive."""
    for day in range(NIGHTS):
        dice = Dice(scene.draws, f"hotel:{day}")
        for number in range(dice.between(1, 3)):
            own = Dice(scene.draws, f"hotel:{day}:{number}")
            guest = Guest(scene, own, "hotel", "hotel", 14900, 32900)
            yield day * _DAY + own.between(900, 1200), _what(own, _AT_THE_HOTEL)(guest)
    for day in (9, 19):
        guest = Guest(
            scene, Dice(scene.draws, f"hotel bar:{day}"), "hotel", "hotel_bar", 3000, 9000
        )
        yield day * _DAY + 1290, guest.leaves_a_tab()


class BatchClosing:
    """The end of a day at a merchant: its batches are closed, and answered in the early morning."""

    def __init__(self, scene: Scene, merchant: str, night: int) -> None:
        self._scene, self._merchant, self._night = scene, merchant, night

    @property
    def minutes(self) -> float:
        """When, in minutes of the month: at half past ten, or later."""
        return self._night * _DAY + 22.5 * _HOUR + len(self._merchant)

    def take_place(self) -> Visit:
        """Close the open batches, and those rejected the night before."""
        if self._night == NIGHTS - 1:
            return
        path = "/v1/batches?statuses=open&statuses=rejected"
        batches = self._scene.ask("GET", path, by=self._merchant)["batches"]
        for batch in batches:
            self._scene.ask("POST", f"/v1/batches/{batch['id']}/close", by=self._merchant)
        yield 4 * _HOUR
        for batch in batches:
            self._scene.control("POST", f"/batches/{batch['id']}/answer", self._answer(batch))

    def _answer(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        if (self._merchant, self._night) == ("grill", 11) and batch["status"] == "open":
            return {"answer": "rejected", "reason": "bad_record_count"}
        if (self._merchant, self._night) == ("taqueria", 17):
            return {"answer": "partially_accepted", "rejected": 1}
        return {"answer": "accepted"}
