"""The tap desk: payments that wait until a card is held to the reader. Source: assumed D24.

The request of such a payment stays open. A tap comes through the control API, or the payment ends
as canceled or timed out.
"""

from asyncio import Event, Future, get_running_loop
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from sandbox.domain.faults import NOT_FOUND, Refusal
from sandbox.domain.payments.cards import Card, Tap, Tapped

WhyNot = Callable[[Card], str | None]
"""Says why a card cannot pay; None if it can."""


class Waiting(Struct):
    """One payment at the desk, and the request that waits with it.

    `left` is set once the payment no longer waits for a tap and, unless its processor takes a
    while, has ended.
    """

    tap: Tap
    request_id: str
    why_not: WhyNot
    came: "Future[Tapped | None]"
    left: Event = field(default_factory=Event)


class TapDesk:
    """The payments of one world that wait for a tap, by transaction id.

    `on_change` is called with each tap that is waited for, and with False once it is not.
    """

    def __init__(self, on_change: Callable[[Tap, bool], None]) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._on_change = on_change

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Waiting]:
        return iter([one for one in self._waiting.values() if not one.came.done()])

    def get(self, transaction_id: str) -> Waiting | None:
        """Return the payment that waits; None when it does not, or no longer."""
        waiting = self._waiting.get(transaction_id)
        return None if waiting is None or waiting.came.done() else waiting

    async def wait(self, tap: Tap, request_id: str, why_not: WhyNot) -> Tapped | None:
        """Wait for the tap; None if the payment ended without one.

        Raises Refusal if the world was reset in the meantime.
        """
        came: Future[Tapped | None] = get_running_loop().create_future()
        self._waiting[tap.transaction_id] = Waiting(tap, request_id, why_not, came)
        self._on_change(tap, True)
        return await came

    def leave(self, transaction_id: str) -> None:
        """Note that the payment waits no longer."""
        waiting = self._waiting.pop(transaction_id, None)
        if waiting is not None:
            waiting.left.set()
            self._on_change(waiting.tap, False)

    def close(self) -> None:
        """Refuse all that still waits: the world that it happened in is gone."""
        for waiting in self:
            reason = "the world was reset while the payment was waiting"
            waiting.came.set_exception(Refusal(NOT_FOUND, reason=reason))
