"""The webhooks of one world: who gets which message, what came of it, and what comes next.

Decides and remembers; it sends nothing itself. Whoever sends takes work from here and reports
what came of it.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from pydantic_core import from_json

from sandbox.domain.accounts import Account
from sandbox.domain.events import Message, body_of
from sandbox.domain.timers import WEBHOOK_RETRY, Timer
from sandbox.domain.webhooks.deliveries import Attempt, AttemptTrigger, Delivery, Sent
from sandbox.domain.webhooks.endpoints import Endpoint
from sandbox.domain.webhooks.schedule import (
    DEAD_AFTER,
    GONE,
    TOO_MANY_REQUESTS,
    wait_after,
)
from sandbox.store.port import Store

BODIES_MAX: Final = 256
"""So many bodies are kept at hand while their message goes to several endpoints."""


class Surroundings(Protocol):
    """What a world gives its outbox."""

    @property
    def store(self) -> Store:
        """Where messages and timers are."""

    @property
    def time_scale(self) -> float:
        """How much of the waits between attempts is waited."""

    def now(self) -> datetime:
        """The world's present."""

    def fraction(self, name: str) -> float:
        """A number from 0 to 1 that follows from the world's seed and the name."""


class Job(NamedTuple):
    """One attempt to make. With `is_single` a failure is not tried again (assumed D22)."""

    message: Message
    delivery: Delivery
    trigger: AttemptTrigger = "scheduled"
    is_single: bool = False


class Outbox:
    """Endpoints, deliveries, and what is to be sent next, endpoint by endpoint.

    `on_work` is called with an endpoint's id when there is something to send to it, `on_change`
    whenever something came of a delivery.
    """

    def __init__(
        self,
        world: Surroundings,
        *,
        on_work: Callable[[str], None],
        on_change: Callable[[], None],
    ) -> None:
        self._world = world
        self._on_work = on_work
        self._on_change = on_change
        self.endpoints: dict[str, Endpoint] = {}
        self._begin_anew()

    def clear(self) -> None:
        """Forget all deliveries; endpoints stay. Source: assumed D25."""
        self._begin_anew()
        for endpoint in list(self.endpoints.values()):
            self.endpoints[endpoint.id] = replace(endpoint, failing_since=None)
        self._on_change()

    def _begin_anew(self) -> None:
        self._deliveries: dict[str, dict[str, Delivery]] = {}
        self._waiting: dict[str, deque[Job]] = {}
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._under_way: dict[int, Job] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be sent now, and nothing is under way."""
        return not self._under_way and not any(self._waiting.values())

    def deliveries_of(self, message_id: str) -> list[Delivery]:
        """How the message fares, endpoint by endpoint."""
        return list(self._deliveries.get(message_id, {}).values())

    def body(self, message: Message) -> bytes:
        """The exact bytes that are signed and sent."""
        body = self._bodies.get(message.id)
        if body is None:
            body = self._bodies[message.id] = body_of(message)
            if len(self._bodies) > BODIES_MAX:
                self._bodies.popitem(last=False)
        return body

    # --- messages come in

    def accept(self, message: Message) -> None:
        """Have the message go to every endpoint that wants it. Called as it is committed."""
        for endpoint in self.wanting(message):
            self._enqueue(message, endpoint, "scheduled")

    def wanting(self, message: Message) -> Iterator[Endpoint]:
        """The endpoints that are to get this message."""
        if not self.endpoints:
            return
        path = self._path(message)
        fields: dict[str, Any] | None = None
        for endpoint in list(self.endpoints.values()):
            if endpoint.is_disabled or not endpoint.hears(message.event_type, path):
                continue
            if endpoint.filters:
                fields = from_json(self.body(message)) if fields is None else fields
                if not endpoint.takes(fields or {}):
                    continue
            yield endpoint

    def _path(self, message: Message) -> tuple[str, ...]:
        account = self._world.store.begin().get(Account, message.account_id)
        if account is not None:
            return (*account.parent_account_ids, message.account_id)
        # A sample about an account that is not there says itself what is above it.
        fields = message.record if isinstance(message.record, dict) else {}
        above = fields.get("parent_account_ids")
        return (*(map(str, above) if isinstance(above, list) else ()), message.account_id)

    def _enqueue(
        self,
        message: Message,
        endpoint: Endpoint,
        trigger: AttemptTrigger,
        *,
        is_single: bool = False,
    ) -> None:
        of_message = self._deliveries.setdefault(message.id, {})
        delivery = of_message.get(endpoint.id)
        if delivery is None:
            delivery = of_message[endpoint.id] = Delivery(message.id, endpoint.id)
        if not is_single:
            self._unplan(delivery)
            delivery.status, delivery.failures = "pending", 0
        self._put(Job(message, delivery, trigger, is_single))

    def _put(self, job: Job) -> None:
        endpoint_id = job.delivery.endpoint_id
        self._waiting.setdefault(endpoint_id, deque()).append(job)
        self._on_work(endpoint_id)

    # --- work goes out

    def take(self, endpoint_id: str) -> Job | None:
        """The next attempt to make at this endpoint; whoever takes it reports what came of it."""
        waiting = self._waiting.get(endpoint_id)
        were_waiting = bool(waiting)
        while waiting:
            job = waiting.popleft()
            # Whether it is still wanted: the endpoint may be gone, and what was canceled is.
            if endpoint_id in self.endpoints and (
                job.is_single or job.delivery.status == "pending"
            ):
                self._under_way[id(job)] = job
                return job
        if were_waiting:
            self._on_change()
        return None

    def give_back(self, job: Job) -> None:
        """It was not tried after all, and is the next to be."""
        if self._under_way.pop(id(job), None) is not None:
            self._waiting.setdefault(job.delivery.endpoint_id, deque()).appendleft(job)

    def conclude(self, job: Job, sent: Sent) -> None:
        """Note what came of an attempt, and plan the next one where there is to be one."""
        if self._under_way.pop(id(job), None) is None:
            return  # The world was reset meanwhile.
        now, delivery = self._world.now(), job.delivery
        delivery.attempts.append(
            Attempt(now, sent.status_code, sent.duration_ms, sent.response, sent.error, job.trigger)
        )
        endpoint = self.endpoints.get(delivery.endpoint_id)
        if sent.error is None:
            self._unplan(delivery)
            delivery.status = "delivered"
            if endpoint is not None and endpoint.failing_since is not None:
                self.endpoints[endpoint.id] = replace(endpoint, failing_since=None)
        elif endpoint is not None and not endpoint.is_disabled:
            self._failed(job, endpoint, sent, now)
        self._on_change()

    def _failed(self, job: Job, endpoint: Endpoint, sent: Sent, now: datetime) -> None:
        delivery = job.delivery
        if endpoint.failing_since is None:
            endpoint = self.endpoints[endpoint.id] = replace(endpoint, failing_since=now)
        if job.is_single:
            if delivery.status == "pending" and not self._is_tried_again(delivery):
                delivery.status = "failed"
        elif delivery.status == "pending":
            delivery.failures += 1
            wait = wait_after(
                delivery.failures,
                jitter=self._world.fraction(f"{delivery.subject}/{delivery.failures}"),
                retry_after_s=sent.retry_after_s,
                is_throttled=sent.is_timeout or sent.status_code == TOO_MANY_REQUESTS,
                scale=self._world.time_scale,
            )
            if wait is None:
                delivery.status = "failed"
            else:
                self._plan(delivery, now + wait)
        if sent.status_code == GONE:
            self.disable(endpoint.id, "it answered 410 Gone")
        elif endpoint.failing_since is not None and now - endpoint.failing_since >= DEAD_AFTER:
            self.disable(endpoint.id, f"every attempt failed for {DEAD_AFTER.days} days")

    def _is_tried_again(self, delivery: Delivery) -> bool:
        """Whether another attempt at this delivery is planned, waits or is under way."""
        waiting = self._waiting.get(delivery.endpoint_id, ())
        return delivery.next_attempt_at is not None or any(
            job.delivery is delivery for job in (*waiting, *self._under_way.values())
        )

    # --- time

    def _plan(self, delivery: Delivery, due: datetime) -> None:
        delivery.next_attempt_at = due
        unit = self._world.store.begin()
        unit.schedule(Timer(kind=WEBHOOK_RETRY, subject=delivery.subject, due=due))
        unit.commit()

    def _unplan(self, delivery: Delivery) -> None:
        if delivery.next_attempt_at is not None:
            delivery.next_attempt_at = None
            unit = self._world.store.begin()
            unit.cancel(WEBHOOK_RETRY, delivery.subject)
            unit.commit()

    def fall_due(self, subject: str) -> None:
        """The moment of a retry has come."""
        message_id, _, endpoint_id = subject.partition("/")
        delivery = self._deliveries.get(message_id, {}).get(endpoint_id)
        message = self._world.store.message(message_id)
        if delivery is None or message is None or delivery.status != "pending":
            return
        delivery.next_attempt_at = None
        self._put(Job(message, delivery))

    # --- what operators do

    def disable(self, endpoint_id: str, reason: str) -> Endpoint:
        """Send nothing there any more; what still waited is canceled."""
        endpoint = self.endpoints[endpoint_id]
        self._cancel(endpoint_id)
        endpoint = self.endpoints[endpoint_id] = replace(endpoint, disabled_reason=reason)
        self._on_change()
        return endpoint

    def enable(self, endpoint_id: str) -> Endpoint:
        """Send there again, from the next message on; `recover` brings what was missed."""
        endpoint = replace(self.endpoints[endpoint_id], disabled_reason=None, failing_since=None)
        self.endpoints[endpoint_id] = endpoint
        return endpoint

    def remove(self, endpoint_id: str) -> None:
        """Forget the endpoint; what still waited for it is canceled."""
        self._cancel(endpoint_id)
        self._waiting.pop(endpoint_id, None)
        del self.endpoints[endpoint_id]
        self._on_change()

    def _cancel(self, endpoint_id: str) -> None:
        self._waiting.pop(endpoint_id, None)
        for of_message in self._deliveries.values():
            delivery = of_message.get(endpoint_id)
            if delivery is not None and delivery.status == "pending":
                self._unplan(delivery)
                delivery.status = "canceled"

    def resend(self, message: Message, endpoint: Endpoint) -> None:
        """One more attempt, whatever came of the earlier ones. Source: assumed D22."""
        self._enqueue(message, endpoint, "manual", is_single=True)

    def recover(self, endpoint: Endpoint, since: datetime) -> int:
        """Send again what the endpoint should have got since then and has not; how much that is."""
        count = 0
        for message in self._world.store.messages():
            if message.created_at < since:
                continue
            delivery = self._deliveries.get(message.id, {}).get(endpoint.id)
            missed = delivery is None or delivery.status in ("failed", "canceled")
            if missed and any(one.id == endpoint.id for one in self.wanting(message)):
                self._enqueue(message, endpoint, "manual")
                count += 1
        return count
