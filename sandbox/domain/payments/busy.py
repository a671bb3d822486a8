"""Payments whose processor is working on its answer."""

from msgspec import Struct


class BusyPayment(Struct, frozen=True, kw_only=True, gc=False):
    """A payment that waits for its processor. If the server dies meanwhile, the payment fails."""

    transaction_id: str
