"""Delivery jobs, and those a scenario delays or alters.

Source: assumed D22, D23.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sandbox.domain.events import Message
from sandbox.domain.webhooks.deliveries import AttemptTrigger, Delivery

if TYPE_CHECKING:
    from sandbox.scenarios.webhooks import WebhookThen

Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls a function after this many real seconds; returns a function that cancels it."""


class Job(NamedTuple):
    """One attempt to make. With `is_single` a failure is not retried (assumed D22).

    `then` is the effect of a scenario rule, which applies to a delivery's first attempt only.
    """

    message: Message
    delivery: Delivery
    trigger: AttemptTrigger = "scheduled"
    is_single: bool = False
    then: "WebhookThen | None" = None


class Delayed:
    """Delayed jobs. After the delay `release` is called with each that is still wanted."""

    def __init__(self, later: Later, release: Callable[[Job], None]) -> None:
        self._later = later
        self._release = release
        self._held: dict[str, tuple[Sequence[Job], Callable[[], None]]] = {}

    def hold(self, jobs: Sequence[Job], delay_s: float) -> None:
        """Delay these together: a first attempt and the jobs right after it."""
        subject = jobs[0].delivery.subject
        self._held[subject] = jobs, self._later(delay_s, lambda: self._let_go(subject))

    def _let_go(self, subject: str) -> None:
        jobs, _ = self._held.pop(subject)
        # A delivery that was resent by hand in the meantime is not sent again.
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
        """Let the answer wait for this attempt. Work without a request has no answer to delay."""
        if job.message.request_id is not None:
            self.setdefault(job.message.request_id, set()).add(job.delivery.subject)

    def settle(self, job: Job) -> bool:
        """Whether an answer waited for this attempt; it no longer waits in any case."""
        request_id, subject = job.message.request_id, job.delivery.subject
        if job.then is None or request_id is None or subject not in self.get(request_id, ()):
            return False
        self[request_id].remove(subject)
        if not self[request_id]:
            del self[request_id]
        return True
