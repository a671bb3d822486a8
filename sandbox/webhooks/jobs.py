"""Attempts to be made, and those of them of which a scenario wants something more.

Source: assumed D22, D23.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sandbox.domain.events import Message
from sandbox.domain.webhooks.deliveries import AttemptTrigger, Delivery

if TYPE_CHECKING:
    from sandbox.scenarios.webhooks import WebhookThen

Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Has something done after so many seconds of the wall, and returns what calls it off."""


class Job(NamedTuple):
    """One attempt to make. With `is_single` a failure is not tried again (assumed D22).

    `then` is what a scenario does to it, which is never more than a delivery's first attempt.
    """

    message: Message
    delivery: Delivery
    trigger: AttemptTrigger = "scheduled"
    is_single: bool = False
    then: "WebhookThen | None" = None


class Delayed:
    """What is held back for a while; then `release` is called with each that is still wanted."""

    def __init__(self, later: Later, release: Callable[[Job], None]) -> None:
        self._later = later
        self._release = release
        self._held: dict[str, tuple[Sequence[Job], Callable[[], None]]] = {}

    def hold(self, jobs: Sequence[Job], delay_s: float) -> None:
        """Hold these back together: a first attempt and what comes right after it."""
        subject = jobs[0].delivery.subject
        self._held[subject] = jobs, self._later(delay_s, lambda: self._let_go(subject))

    def _let_go(self, subject: str) -> None:
        jobs, _ = self._held.pop(subject)
        # What was delivered by hand meanwhile does not come again.
        for job in [one for one in jobs if one.delivery.status == "pending"]:
            self._release(job)

    def holds(self, delivery: Delivery) -> bool:
        """Whether an attempt at this delivery is still to come."""
        return any(job.delivery is delivery for jobs, _ in self._held.values() for job in jobs)

    def call_off(self, endpoint_id: str | None = None) -> None:
        """Have nothing come that is held back for this endpoint; None: for any."""
        for subject, (jobs, call_off) in list(self._held.items()):
            if endpoint_id in (None, jobs[0].delivery.endpoint_id):
                del self._held[subject]
                call_off()


class PreAnswer(dict[str, set[str]]):
    """By the id of a request that is not to be answered before them: deliveries to be tried."""

    def add(self, job: Job) -> None:
        """Have the answer wait for this attempt. What happens by itself answers nobody."""
        if job.message.request_id is not None:
            self.setdefault(job.message.request_id, set()).add(job.delivery.subject)

    def settle(self, job: Job) -> bool:
        """Whether an answer waited for this attempt; it does no more, whatever came of it."""
        request_id, subject = job.message.request_id, job.delivery.subject
        if job.then is None or request_id is None or subject not in self.get(request_id, ()):
            return False
        self[request_id].remove(subject)
        if not self[request_id]:
            del self[request_id]
        return True
