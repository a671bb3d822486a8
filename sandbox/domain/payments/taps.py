"""Taps: a payment that waits for a card, and the ways in which its wait can end.

Source: assumed D24.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from sandbox.domain.instants import Instant
from sandbox.domain.payments.cards import Card
from sandbox.domain.payments.outcomes import OUTCOMES, Operation, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """What is waited for at the tap desk. `amount` is in minor units."""

    transaction_id: str
    operation: Operation
    amount: int
    terminal_id: str
    since: Instant
    until: Instant


class Tapped(NamedTuple):
    """What came of it: a card, whose issuer is asked then, or how the attempt ends."""

    card: Card | None = None
    outcome: Outcome | None = None


CANCELED_BY: Final = {
    "user": OUTCOMES["user_canceled"],
    "merchant": OUTCOMES["merchant_canceled"],
}
"""Who cancels at the reader, and what the payment then ends as."""
