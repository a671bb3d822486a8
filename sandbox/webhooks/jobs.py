"""Delivery jobs: the attempts to make, and those that a scenario delays.

Source: assumed D22, D23.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from sandbox.domain.events import Message
from sandbox.domain.webhooks import AttemptTrigger, delivery_id
from sandbox.scenarios.rules import WebhookThen

Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls a function after this many real seconds; returns a function that cancels it."""


class Job(Struct, frozen=True):
    """One attempt to make at an endpoint. With `is_single` a failure is not retried (assumed D22).

    `then` is the effect of a scenario rule, which applies to a delivery's first attempt only.
    """

    message: Message
    endpoint_id: str
    trigger: AttemptTrigger = "scheduled"
    is_single: bool = False
    then: WebhookThen | None = None

    @property
    def delivery_id(self) -> str:
        """The id of the delivery that it is an attempt at."""
        return delivery_id(self.message.id, self.endpoint_id)


class Delayed:
    """Delayed jobs. After the delay `release` is called with them."""

    def __init__(self, later: Later, release: Callable[[Sequence[Job]], None]) -> None:
        self._later = later
        self._release = release
        self._held: dict[str, tuple[Sequence[Job], Callable[[], None]]] = {}

    def hold(self, jobs: Sequence[Job], delay_s: float) -> None:
        """Delay these together: a first attempt and the jobs right after it."""
        id = jobs[0].delivery_id
        self._held[id] = jobs, self._later(delay_s, lambda: self._let_go(id))

    def _let_go(self, id: str) -> None:
        jobs, _ = self._held.pop(id)
        self._release(jobs)

    def holds(self, id: str) -> bool:
        """Whether an attempt at the delivery with this id is still to come."""
        return any(job.delivery_id == id for jobs, _ in self._held.values() for job in jobs)

    def call_off(self, endpoint_id: str | None = None) -> None:
        """Have nothing come that is held back for this endpoint; None: for any."""
        for id, (jobs, call_off) in list(self._held.items()):
            if endpoint_id in (None, jobs[0].endpoint_id):
                del self._held[id]
                call_off()
