"""Lifetimes of holds, prompts and other waits. Source: assumed 8.1, 8.2."""

from datetime import timedelta
from typing import Final

from sandbox.domain.payments.transactions import Origin

AUTHORIZATION_DAYS: Final = {"Visa": 5, "MasterCard": 30, "Amex": 7, "Discover": 10}
OTHER_BRANDS_DAYS: Final = 7
LONG_STAY_MCCS: Final = frozenset({"7011", "7512", "7513"})
"""Hotels and car rentals hold for a month, whatever the brand. Source: assumed 8.1."""
LONG_STAY_DAYS: Final = 30

SURCHARGE_PROMPT: Final = timedelta(minutes=5)
"""Source: assumed 8.2-surcharge."""

HOLD_AFTER_TIMEOUT: Final = timedelta(seconds=60)
"""The time after which the host reverses a hold that nobody knows of. Source: assumed F42."""

TAP: Final = timedelta(seconds=60)
"""The default time that a payment waits for its tap. Source: assumed 8.2-deadline."""


def of_authorization(origin: Origin) -> timedelta:
    """How long an authorization holds; an increment does not begin it anew."""
    if origin.site.mcc in LONG_STAY_MCCS:
        return timedelta(days=LONG_STAY_DAYS)
    return timedelta(days=AUTHORIZATION_DAYS.get(origin.card.brand, OTHER_BRANDS_DAYS))
