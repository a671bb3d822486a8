"""Delivery jobs: the attempts to make, their bodies, and those a scenario delays or alters.

Source: assumed D22, D23.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Protocol

from msgspec import Struct

from sandbox.domain.events import Message, body_of
from sandbox.domain.webhooks import AttemptTrigger, delivery_id
from sandbox.scenarios.fault_injection import WebhookRules
from sandbox.scenarios.rules import WebhookThen
from sandbox.store.store import Store


class OutboxServices(Protocol):
    """The services that a world gives its outbox."""

    @property
    def store(self) -> Store:
        """The store with messages and timers."""

    @property
    def webhook_rules(self) -> WebhookRules | None:
        """The rules for deliveries, if there are any."""

    @property
    def time_scale(self) -> float:
        """How much of the waits between attempts is waited."""

    def now(self) -> datetime:
        """The world's present."""

    def fraction(self, name: str) -> float:
        """A number from 0 to 1 that follows from the world's seed and the name."""

    def draw_message_id(self) -> str:
        """The id of a message to be."""


BODIES_MAX: Final = 2_048
"""Cached bodies of one world; the oldest is dropped first."""

BODIES_BYTES_MAX: Final = 4 * 1_048_576
"""Bytes of these bodies together. A usual one has 2 KB; a sample can have a mebibyte."""


class Bodies:
    """Renders bodies, each once while it is cached."""

    def __init__(self) -> None:
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._bodies)

    def of(self, message: Message) -> bytes:
        """The exact bytes that are signed and sent."""
        body = self._bodies.get(message.id)
        if body is None:
            body = self._bodies[message.id] = body_of(message)
            self._bytes += len(body)
            while len(self._bodies) > BODIES_MAX or self._bytes > BODIES_BYTES_MAX:
                self._bytes -= len(self._bodies.popitem(last=False)[1])
        return body


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


class PreAnswer(dict[str, set[str]]):
    """By the id of a request that is not to be answered before them: deliveries to be tried."""

    def add(self, job: Job) -> None:
        """Let the answer wait for this attempt. Work without a request has no answer to delay."""
        if job.message.request_id is not None:
            self.setdefault(job.message.request_id, set()).add(job.delivery_id)

    def settle(self, job: Job) -> bool:
        """Whether an answer waited for this attempt; it no longer waits in any case."""
        request_id = job.message.request_id
        if job.then is None or request_id is None:
            return False
        if job.delivery_id not in self.get(request_id, ()):
            return False
        self[request_id].remove(job.delivery_id)
        if not self[request_id]:
            del self[request_id]
        return True
