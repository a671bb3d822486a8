"""Payments whose processor is working on its answer."""

from sandbox.domain.values import Value


class BusyPayment(Value, frozen=True):
    """A payment that waits for its processor. If the server dies meanwhile, the payment fails."""

    transaction_id: str
