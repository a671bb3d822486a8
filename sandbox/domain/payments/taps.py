"""Taps: a payment that waits for a card, and the ways in which its wait can end.

Source: assumed D24.
"""

from typing import Final

from msgspec import Struct

from sandbox.domain.instants import Instant
from sandbox.domain.payments.cards import Card
from sandbox.domain.payments.outcomes import OUTCOMES, Operation, Outcome


class Tap(Struct, frozen=True, kw_only=True, gc=False):
    """A tap that a payment waits for. `amount` is in minor units of the currency."""

    transaction_id: str
    operation: Operation
    amount: int
    currency: str
    terminal_id: str
    since: Instant
    until: Instant


class Tapped(Struct, frozen=True, kw_only=True, gc=False):
    """The result of a tap: a card, whose issuer then answers, or the end of the attempt."""

    card: Card | None = None
    outcome: Outcome | None = None


CANCELED_BY: Final = {
    "user": OUTCOMES["user_canceled"],
    "merchant": OUTCOMES["merchant_canceled"],
}
"""Who can cancel at the reader, and the resulting status of the payment."""
