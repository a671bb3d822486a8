"""The webhooks of one world: their subscribers, deliveries, attempts and retries.

The outbox decides and remembers, but sends nothing. The dispatcher takes jobs from it and reports
their results.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

from sandbox.domain.events import Message
from sandbox.domain.timers import WEBHOOK_RETRY, Timer
from sandbox.domain.webhooks.deliveries import AttemptTrigger, Delivery, Sent
from sandbox.domain.webhooks.endpoints import Endpoint
from sandbox.domain.webhooks.schedule import DEAD_AFTER, GONE, TOO_MANY_REQUESTS, wait_after
from sandbox.scenarios.running import Running
from sandbox.store.steps import Container
from sandbox.webhooks.bodies import Bodies
from sandbox.webhooks.delivery_faults import contradiction, ruled, trigger_of
from sandbox.webhooks.jobs import Delayed, Job, Later, PreAnswer
from sandbox.webhooks.services import OutboxServices
from sandbox.webhooks.subscriptions import subscribers

if TYPE_CHECKING:
    from sandbox.scenarios.webhooks import WebhookThen

_MISSED: Final = ("failed", "canceled", "dropped")


class Outbox:
    """Endpoints, deliveries, and the queue of each endpoint.

    `on_work` is called with an endpoint's id when its queue gets a job, `on_delivery` with a
    delivery before it changes, `on_change` after an attempt. The code that answers a request
    awaits `pre_answer` first. `only_for` are the messages that a scenario made up for one endpoint
    alone.
    """

    def __init__(
        self,
        world: OutboxServices,
        *,
        on_work: Callable[[str], None],
        on_change: Callable[[], None],
        on_delivery: Callable[[Delivery], None],
        later: Later,
    ) -> None:
        self._world = world
        self._on_work = on_work
        self._on_change = on_change
        self._on_delivery = on_delivery
        self._delayed = Delayed(later, self._put)
        self.on_attempt: Callable[[Job], None] | None = None
        self.endpoints: dict[str, Endpoint] = {}
        self._begin_anew()

    def clear(self) -> None:
        """Forget all deliveries; endpoints stay. Source: assumed D25."""
        self._delayed.call_off()
        self._begin_anew()
        for endpoint in list(self.endpoints.values()):
            self.endpoints[endpoint.id] = replace(endpoint, failing_since=None)
        self._on_change()

    def _begin_anew(self) -> None:
        self._deliveries: dict[str, dict[str, Delivery]] = {}
        self._waiting: dict[str, deque[Job]] = {}
        self._bodies = Bodies()
        self._under_way: dict[int, Job] = {}
        self.only_for: dict[str, str] = {}
        self.pre_answer = PreAnswer()
        # The ids of messages that an endpoint took, in the order in which it did.
        self.delivered: list[str] = []

    def restore(
        self,
        endpoints: Iterable[Endpoint],
        deliveries: Iterable[Delivery],
        only_for: Mapping[str, str],
    ) -> None:
        """Take over the deliveries of an earlier run; `resume` continues them."""
        self._begin_anew()
        self.endpoints = {endpoint.id: endpoint for endpoint in endpoints}
        self.only_for = dict(only_for)
        for delivery in deliveries:
            of_message = self._deliveries.setdefault(delivery.message_id, {})
            of_message[delivery.endpoint_id] = delivery

    def take_over(self, other: "Outbox") -> None:
        """Hold the endpoints and deliveries of another, which is used no more."""
        self._begin_anew()
        self.endpoints, self.only_for = other.endpoints, other.only_for
        self._deliveries = other._deliveries

    def containers(self) -> list[Container]:
        """All containers of deliveries, to be freed."""
        return [self._deliveries]

    def resume(self) -> None:
        """Send the webhooks that were due or unfinished when the earlier run ended."""
        for message_id, of_message in self._deliveries.items():
            for delivery in of_message.values():
                if delivery.status == "pending" and delivery.next_attempt_at is None:
                    message = self._world.store.message(message_id)
                    if message is not None:
                        self._put(Job(message, delivery))

    @property
    def is_idle(self) -> bool:
        """Whether no job is due and no attempt is in progress.

        Webhooks that a scenario delays do not count as due (assumed D23).
        """
        return not self._under_way and not any(self._waiting.values())

    def deliveries_of(self, message_id: str) -> list[Delivery]:
        """How the message fares, endpoint by endpoint."""
        return list(self._deliveries.get(message_id, {}).values())

    def deliveries_by_message(self) -> dict[str, list[Delivery]]:
        """All deliveries there are now, by the id of their message."""
        return {id: list(of_message.values()) for id, of_message in self._deliveries.items()}

    def body(self, message: Message) -> bytes:
        """The exact bytes that are signed and sent."""
        return self._bodies.of(message)

    # --- messages come in

    def accept(self, messages: Sequence[Message]) -> None:
        """Queue the messages of one commit for every endpoint that subscribes to them."""
        scenario = self._world.scenario
        if scenario is not None and scenario.is_about_webhooks:
            self._accept_by_rules(messages, scenario)
            return
        for message in messages:
            for endpoint in self.subscribers(message):
                self._enqueue(message, endpoint, "scheduled")

    def _accept_by_rules(self, messages: Sequence[Message], scenario: Running) -> None:
        # A message that a rule made up is sent by that rule; other rules do not apply.
        wanted = [
            (message, self.body(message), list(self.subscribers(message)))
            for message in messages
            if message.id not in self.only_for
        ]
        for message, endpoint, then in ruled(wanted, scenario):
            if then is None:
                self._enqueue(message, endpoint, "scheduled")
            else:
                self._enqueue_by_rule(message, endpoint, then)

    def _enqueue_by_rule(self, message: Message, endpoint: Endpoint, then: "WebhookThen") -> None:
        delivery = self._delivery(message, endpoint)
        if then.drop:
            delivery.status = "dropped"
            return
        jobs = [Job(message, delivery, trigger_of(then), then=then)]
        for _ in range(1, then.duplicate or 1):
            jobs.append(Job(message, delivery, "scenario", is_single=True))
        if then.contradict is not None:
            jobs.append(self._contradict(message, endpoint, then.contradict))
        if then.before_answer:
            self.pre_answer.add(jobs[0])
        if then.delay_ms is not None:
            self._delayed.hold(jobs, then.delay_ms / 1000)
            return
        for job in jobs:
            self._put(job)

    def _contradict(self, message: Message, endpoint: Endpoint, changes: dict[str, Any]) -> Job:
        """The attempt at a message that contradicts this one, and is recorded like it."""
        fields = from_json(self.body(message))
        other = contradiction(message, fields, changes, id=self._world.draw_message_id())
        self.only_for[other.id] = endpoint.id
        unit = self._world.store.begin()
        unit.emit(other)
        unit.commit()
        return Job(other, self._delivery(other, endpoint), "scenario")

    def subscribers(
        self, message: Message, of: Mapping[str, Endpoint] | None = None
    ) -> Iterator[Endpoint]:
        """The endpoints that are to get this message; with `of`, those of these."""
        among = self.endpoints if of is None else of
        if not among:
            return
        if message.id in self.only_for:
            only = among.get(self.only_for[message.id])
            if only is not None and not only.is_disabled:
                yield only
            return
        yield from subscribers(message, among, self._world.store, self.body)

    def _enqueue(
        self,
        message: Message,
        endpoint: Endpoint,
        trigger: AttemptTrigger,
        *,
        is_single: bool = False,
    ) -> None:
        delivery = self._delivery(message, endpoint)
        if not is_single:
            self._unplan(delivery)
            delivery.status, delivery.failures = "pending", 0
        self._put(Job(message, delivery, trigger, is_single))

    def _delivery(self, message: Message, endpoint: Endpoint) -> Delivery:
        of_message = self._deliveries.setdefault(message.id, {})
        delivery = of_message.get(endpoint.id)
        if delivery is None:
            delivery = of_message[endpoint.id] = Delivery(message.id, endpoint.id)
        # The caller is about to change it.
        self._on_delivery(delivery)
        return delivery

    def _put(self, job: Job) -> None:
        endpoint_id = job.delivery.endpoint_id
        self._waiting.setdefault(endpoint_id, deque()).append(job)
        self._on_work(endpoint_id)

    # --- work goes out

    def take(self, endpoint_id: str) -> Job | None:
        """The next attempt to make at this endpoint; the caller reports its result."""
        waiting = self._waiting.get(endpoint_id)
        were_waiting = bool(waiting)
        while waiting:
            job = waiting.popleft()
            # The endpoint may be gone, or the job canceled.
            if endpoint_id in self.endpoints and (
                job.is_single or job.delivery.status == "pending"
            ):
                self._under_way[id(job)] = job
                return job
            self._settle(job)
        if were_waiting:
            self._on_change()
        return None

    def give_back(self, job: Job) -> None:
        """It was not tried after all, and is the next to be."""
        if self._under_way.pop(id(job), None) is not None:
            self._waiting.setdefault(job.delivery.endpoint_id, deque()).appendleft(job)
            self._settle(job)

    def _settle(self, job: Job) -> None:
        if self.pre_answer.settle(job):
            self._on_change()

    def conclude(self, job: Job, sent: Sent) -> None:
        """Record the result of an attempt, and plan a retry if there is one."""
        if self._under_way.pop(id(job), None) is None:
            return  # The world was reset meanwhile.
        now, delivery = self._world.now(), job.delivery
        self._on_delivery(delivery)
        delivery.note(sent, now, job.trigger)
        endpoint = self.endpoints.get(delivery.endpoint_id)
        if sent.error is None:
            self._unplan(delivery)
            delivery.status = "delivered"
            self.delivered.append(delivery.message_id)
            if endpoint is not None and endpoint.failing_since is not None:
                self.endpoints[endpoint.id] = replace(endpoint, failing_since=None)
        elif endpoint is not None and not endpoint.is_disabled:
            self._failed(job, endpoint, sent, now)
        if self.on_attempt is not None:
            self.on_attempt(job)
        self._settle(job)
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
        """Whether another attempt at this delivery is planned, queued or in progress."""
        waiting = self._waiting.get(delivery.endpoint_id, ())
        return (
            delivery.next_attempt_at is not None
            or self._delayed.holds(delivery)
            or any(job.delivery is delivery for job in (*waiting, *self._under_way.values()))
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
        self._on_delivery(delivery)
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
        """Send there again, from the next message on; `recover` sends the missed ones."""
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
        for job in self._waiting.pop(endpoint_id, ()):
            self._settle(job)
        self._delayed.call_off(endpoint_id)
        unit = self._world.store.begin()
        for of_message in self._deliveries.values():
            delivery = of_message.get(endpoint_id)
            if delivery is not None and delivery.status == "pending":
                self._on_delivery(delivery)
                if delivery.next_attempt_at is not None:
                    delivery.next_attempt_at = None
                    unit.cancel(WEBHOOK_RETRY, delivery.subject)
                delivery.status = "canceled"
        unit.commit()

    def resend(self, message: Message, endpoint: Endpoint) -> None:
        """One more attempt, whatever the earlier results. Source: assumed D22."""
        self._enqueue(message, endpoint, "manual", is_single=True)

    def recover(self, endpoint_id: str, since: datetime) -> Iterator[bool]:
        """Send the messages that the endpoint has missed since then.

        Yields for each message whether it is sent again. Other work may run between two of them, so
        the endpoint may be deleted or the world reset in the meantime.
        """
        messages = self._world.store.messages()
        for message in messages:
            endpoint = self.endpoints.get(endpoint_id)
            if endpoint is None or messages is not self._world.store.messages():
                return
            has_missed = message.created_at >= since and self._has_missed(endpoint, message)
            if has_missed:
                self._enqueue(message, endpoint, "manual")
            yield has_missed

    def _has_missed(self, endpoint: Endpoint, message: Message) -> bool:
        delivery = self._deliveries.get(message.id, {}).get(endpoint.id)
        missed = delivery is None or delivery.status in _MISSED
        return missed and any(self.subscribers(message, {endpoint.id: endpoint}))
