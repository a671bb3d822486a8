"""Payments whose processor is working on its answer."""

from typing import NamedTuple


class BusyPayment(NamedTuple):
    """A payment that waits for its processor. If the server dies meanwhile, the payment fails."""

    transaction_id: str
