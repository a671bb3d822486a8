"""The tap desk: payments that wait until a card is held to the reader. Source: assumed D24.

The request of such a payment stays open until the control API taps a card, or until the payment is
canceled or times out.
"""

from asyncio import Event, Future, get_running_loop
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from sandbox.domain.faults import NOT_FOUND, Refusal
from sandbox.domain.payments.cards import Card, Tap, Tapped
from sandbox.domain.payments.transactions import Payment

WhyNot = Callable[[Card], str | None]
"""Returns why a card cannot pay; None if it can."""


class Waiting(Struct):
    """A payment at the desk, and its waiting request.

    `left` is set once the payment no longer waits for a tap and has ended, unless its processor
    takes a while. `events` are the ids of messages about it while it waited.
    """

    tap: Tap
    request_id: str
    why_not: WhyNot
    came: "Future[Tapped | None]"
    left: Event = field(default_factory=Event)
    events: list[str] = []


class TapDesk:
    """The payments of one world that wait for a tap, by transaction id.

    `on_change` is called with the tap, and True when the payment begins to wait or False when it
    stops.
    """

    def __init__(self, on_change: Callable[[Tap, bool], None]) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._on_change = on_change

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Waiting]:
        return iter([one for one in self._waiting.values() if not one.came.done()])

    def get(self, transaction_id: str) -> Waiting | None:
        """Return the waiting payment; None if it does not wait."""
        waiting = self._waiting.get(transaction_id)
        return None if waiting is None or waiting.came.done() else waiting

    def join(self, tap: Tap, request_id: str, why_not: WhyNot) -> Waiting:
        """Have the payment wait.

        Its future `came` has the tap, or None if the payment ended without one. It raises Refusal
        if the world was reset in the meantime.
        """
        waiting = Waiting(tap, request_id, why_not, get_running_loop().create_future())
        self._waiting[tap.transaction_id] = waiting
        self._on_change(tap, True)
        return waiting

    def note_payment(self, transaction_id: str, payment: Payment) -> None:
        """Wake up the request of a payment that has ended without a tap."""
        waiting = self.get(transaction_id)
        if waiting is not None and payment.status != "pending":
            waiting.came.set_result(None)

    def leave(self, transaction_id: str) -> None:
        """Note that the payment no longer waits."""
        waiting = self._waiting.pop(transaction_id, None)
        if waiting is not None:
            waiting.left.set()
            self._on_change(waiting.tap, False)

    def close(self) -> None:
        """Refuse all waiting requests, because the world was reset or deleted."""
        for waiting in self:
            reason = "the world was reset while the payment was waiting"
            waiting.came.set_exception(Refusal(NOT_FOUND, reason=reason))
