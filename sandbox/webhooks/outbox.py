"""The webhooks of one world: their subscribers, deliveries, attempts and retries.

The outbox decides and remembers, but sends nothing. The delivery worker takes jobs from it and
reports their results.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace
from pydantic_core import from_json

from sandbox.domain.clock import WEBHOOK_RETRY, Timer
from sandbox.domain.events import Message
from sandbox.domain.webhooks import (
    DEAD_AFTER,
    GONE,
    TOO_MANY_REQUESTS,
    AttemptTrigger,
    Delivery,
    Endpoint,
    Sent,
    delivery_id,
    wait_after,
)
from sandbox.scenarios.fault_injection import WebhookRules
from sandbox.scenarios.matcher import MatchedWebhookRule
from sandbox.store.queries import OLDEST_FIRST, Where
from sandbox.webhooks.delivery_faults import contradiction, ruled, trigger_of
from sandbox.webhooks.endpoints import subscribers
from sandbox.webhooks.jobs import Bodies, Delayed, Job, Later, OutboxServices, PreAnswer

_MISSED: Final = ("failed", "canceled", "dropped")


class Outbox:
    """Endpoints, deliveries, and the queue of each endpoint.

    Endpoints and deliveries are records of the world's store; the queues are not stored, and
    `resume` fills them again. `on_work` is called with an endpoint's id when its queue gets a job,
    `on_change` after an attempt. The code that answers a request awaits `pre_answer` first.
    """

    def __init__(
        self,
        world: OutboxServices,
        *,
        on_work: Callable[[str], None],
        on_change: Callable[[], None],
        later: Later,
    ) -> None:
        self._world = world
        self._on_work = on_work
        self._on_change = on_change
        self._delayed = Delayed(later, self._release)
        self.on_attempt: Callable[[Job, Delivery], None] | None = None
        self._begin_anew()

    def forget(self) -> None:
        """Forget everything that was to be sent: the store has other deliveries now, or none."""
        self._delayed.call_off()
        self._begin_anew()
        self._on_change()

    def _begin_anew(self) -> None:
        self._waiting: dict[str, deque[Job]] = {}
        self._bodies = Bodies()
        self._under_way: dict[int, Job] = {}
        self.pre_answer = PreAnswer()
        # The ids of messages that an endpoint took, in the order in which it did.
        self.delivered: list[str] = []

    def resume(self) -> None:
        """Send the webhooks that were due or unfinished when the earlier run ended."""
        for endpoint_id in self.endpoints:
            for delivery in self._open_at(endpoint_id):
                message = self._world.store.message(delivery.message_id)
                if delivery.next_attempt_at is None and message is not None:
                    self._put(Job(message, endpoint_id))

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """The endpoints of the world by id, in the order in which they came."""
        return self._world.store.all(Endpoint)

    @property
    def is_idle(self) -> bool:
        """Whether no job is due and no attempt is in progress.

        Webhooks that a scenario delays do not count as due (assumed D23).
        """
        return not self._under_way and not any(self._waiting.values())

    @property
    def waiting(self) -> int:
        """How many jobs are due and not begun."""
        return sum(map(len, self._waiting.values()))

    def deliveries_of(self, message_id: str) -> list[Delivery]:
        """How the message fares, endpoint by endpoint."""
        return self._deliveries({"message": message_id})

    def _open_at(self, endpoint_id: str) -> list[Delivery]:
        """The deliveries to an endpoint that have not ended, oldest first."""
        return self._deliveries({"open_at": endpoint_id})

    def _deliveries(self, where: Where) -> list[Delivery]:
        return self._world.store.begin().find(Delivery, where, order=OLDEST_FIRST)[0]

    def delivery(self, id: str) -> Delivery | None:
        """The delivery with this id, or None."""
        return self._world.store.get(Delivery, id)

    def body(self, message: Message) -> bytes:
        """The exact bytes that are signed and sent."""
        return self._bodies.of(message)

    # --- messages come in

    def accept(self, messages: Sequence[Message]) -> None:
        """Queue the messages of one commit for every endpoint that subscribes to them."""
        # A message that a rule made up is sent by that rule, and by nothing else.
        messages = [one for one in messages if one.only_for is None]
        if (rules := self._world.webhook_rules) is not None:
            self._accept_by_rules(messages, rules)
            return
        jobs = [
            Job(message, endpoint.id)
            for message in messages
            for endpoint in self.subscribers(message)
        ]
        unit = self._world.store.begin()
        for job in jobs:
            unit.put(Delivery(message_id=job.message.id, endpoint_id=job.endpoint_id))
        unit.commit()
        for job in jobs:
            self._put(job)

    def _accept_by_rules(self, messages: Sequence[Message], rules: WebhookRules) -> None:
        wanted = [(one, self.body(one), list(self.subscribers(one))) for one in messages]
        for message, endpoint, matched in ruled(wanted, rules):
            if matched is None:
                self._enqueue(message, endpoint, "scheduled")
            else:
                self._put_by_rule(message, endpoint, matched)

    def _put_by_rule(self, message: Message, endpoint: Endpoint, by: MatchedWebhookRule) -> None:
        then, delivery = (
            by.then,
            Delivery(message_id=message.id, endpoint_id=endpoint.id, rule=by.rule),
        )
        self._store(replace(delivery, status="dropped") if then.drop else delivery)
        if then.drop:
            return
        jobs = [Job(message, endpoint.id, trigger_of(then), then=then)]
        for _ in range(1, then.duplicate or 1):
            jobs.append(Job(message, endpoint.id, "scenario", is_single=True))
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
        other = contradiction(
            message,
            from_json(self.body(message)),
            changes,
            id=self._world.draw_message_id(),
            only_for=endpoint.id,
        )
        unit = self._world.store.begin()
        unit.emit(other)
        unit.put(Delivery(message_id=other.id, endpoint_id=endpoint.id))
        unit.commit()
        return Job(other, endpoint.id, "scenario")

    def subscribers(
        self, message: Message, of: Mapping[str, Endpoint] | None = None
    ) -> Iterator[Endpoint]:
        """The endpoints that are to get this message; with `of`, those of these."""
        among = self.endpoints if of is None else of
        if not among:
            return
        if message.only_for is not None:
            only = among.get(message.only_for)
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
        known = self.delivery(delivery_id(message.id, endpoint.id))
        if known is None:
            self._store(Delivery(message_id=message.id, endpoint_id=endpoint.id))
        elif not is_single:
            again = replace(known, status="pending", failures=0, next_attempt_at=None)
            self._store(again, known)
        self._put(Job(message, endpoint.id, trigger, is_single))

    def _store(self, delivery: Delivery, before: Delivery | None = None) -> None:
        """Store the delivery, which was as `before`, with the timer of its next attempt."""
        unit = self._world.store.begin()
        unit.put(delivery)
        due = delivery.next_attempt_at
        if due != (before and before.next_attempt_at):
            if due is None:
                unit.cancel(WEBHOOK_RETRY, delivery.id)
            else:
                unit.schedule(Timer(kind=WEBHOOK_RETRY, subject=delivery.id, due=due))
        unit.commit()

    def store_endpoint(self, endpoint: Endpoint) -> Endpoint:
        """Store a new endpoint, or a changed one in place of the old one."""
        self._world.store.put(endpoint)
        return endpoint

    def _put(self, job: Job) -> None:
        self._waiting.setdefault(job.endpoint_id, deque()).append(job)
        self._on_work(job.endpoint_id)

    def _is_open(self, job: Job) -> bool:
        delivery = self.delivery(job.delivery_id)
        return delivery is not None and delivery.status == "pending"

    def _release(self, jobs: Sequence[Job]) -> None:
        """Queue jobs that were delayed, but for deliveries that were resent by hand meanwhile."""
        for job in [one for one in jobs if self._is_open(one)]:
            self._put(job)

    # --- work goes out

    def take(self, endpoint_id: str) -> Job | None:
        """The next attempt to make at this endpoint; the caller reports its result."""
        waiting = self._waiting.get(endpoint_id)
        were_waiting = bool(waiting)
        while waiting:
            job = waiting.popleft()
            # The endpoint may be gone, or the job canceled.
            if endpoint_id in self.endpoints and (job.is_single or self._is_open(job)):
                self._under_way[id(job)] = job
                return job
            self._settle(job)
        if were_waiting:
            self._on_change()
        return None

    def is_under_way(self, job: Job) -> bool:
        """Whether its result is awaited; not once the world has got another state."""
        return id(job) in self._under_way

    def give_back(self, job: Job) -> None:
        """It was not tried after all, and is the next to be."""
        if self._under_way.pop(id(job), None) is not None:
            self._waiting.setdefault(job.endpoint_id, deque()).appendleft(job)
            self._settle(job)

    def _settle(self, job: Job) -> None:
        if self.pre_answer.settle(job):
            self._on_change()

    def conclude(self, job: Job, sent: Sent) -> None:
        """Record the result of an attempt, and plan a retry if there is one."""
        known = self.delivery(job.delivery_id)
        if self._under_way.pop(id(job), None) is None or known is None:
            return  # The world was reset meanwhile.
        if sent.error is None:
            tried = known.tried(sent, self._world.now(), job.trigger)
            delivery = replace(tried, status="delivered", next_attempt_at=None)
            self._store(delivery, known)
            self._note_success(job)
        else:
            delivery = self._failed(job, known, sent)
        if self.on_attempt is not None:
            self.on_attempt(job, delivery)
        self._settle(job)
        self._on_change()

    def _note_success(self, job: Job) -> None:
        self.delivered.append(job.message.id)
        endpoint = self.endpoints.get(job.endpoint_id)
        if endpoint is not None and endpoint.failing_since is not None:
            self.store_endpoint(replace(endpoint, failing_since=None))

    def _failed(self, job: Job, known: Delivery, sent: Sent) -> Delivery:
        """The delivery after a failed attempt, stored, and with a retry if there is one."""
        endpoint, now = self.endpoints.get(job.endpoint_id), self._world.now()
        delivery = known.tried(sent, now, job.trigger)
        is_on = endpoint is not None and not endpoint.is_disabled
        if is_on and delivery.status == "pending":
            delivery = self._after_failure(job, delivery, sent, now)
        self._store(delivery, known)
        if endpoint is None or not is_on:
            return delivery
        failing_since = endpoint.failing_since or now
        if endpoint.failing_since is None:
            self.store_endpoint(replace(endpoint, failing_since=now))
        if sent.status_code == GONE:
            self.disable(endpoint.id, "it answered 410 Gone")
        elif now - failing_since >= DEAD_AFTER:
            self.disable(endpoint.id, f"every attempt failed for {DEAD_AFTER.days} days")
        return self.delivery(delivery.id) or delivery

    def _after_failure(self, job: Job, delivery: Delivery, sent: Sent, now: datetime) -> Delivery:
        """An open delivery after a failed attempt: failed, or to be tried again."""
        if job.is_single:
            is_over = not self._is_tried_again(delivery)
            return replace(delivery, status="failed") if is_over else delivery
        failures = delivery.failures + 1
        wait = wait_after(
            failures,
            jitter=self._world.fraction(f"{delivery.id}/{failures}"),
            retry_after_s=sent.retry_after_s,
            is_throttled=sent.is_timeout or sent.status_code == TOO_MANY_REQUESTS,
            scale=self._world.time_scale,
        )
        if wait is None:
            return replace(delivery, failures=failures, status="failed")
        return replace(delivery, failures=failures, next_attempt_at=now + wait)

    def _is_tried_again(self, delivery: Delivery) -> bool:
        """Whether another attempt at this delivery is planned, queued or in progress."""
        waiting = self._waiting.get(delivery.endpoint_id, ())
        return (
            delivery.next_attempt_at is not None
            or self._delayed.holds(delivery.id)
            or any(job.delivery_id == delivery.id for job in (*waiting, *self._under_way.values()))
        )

    def fall_due(self, id: str) -> None:
        """The moment of a retry of the delivery with this id has come."""
        delivery = self.delivery(id)
        if delivery is None or delivery.status != "pending":
            return
        message = self._world.store.message(delivery.message_id)
        if message is not None:
            self._store(replace(delivery, next_attempt_at=None), delivery)
            self._put(Job(message, delivery.endpoint_id))

    # --- what operators do

    def disable(self, endpoint_id: str, reason: str) -> Endpoint:
        """Send nothing there any more; what still waited is canceled."""
        self._cancel(endpoint_id)
        disabled = replace(self.endpoints[endpoint_id], disabled_reason=reason)
        self.store_endpoint(disabled)
        self._on_change()
        return disabled

    def enable(self, endpoint_id: str) -> Endpoint:
        """Send there again, from the next message on; `recover` sends the missed ones."""
        endpoint = self.endpoints[endpoint_id]
        return self.store_endpoint(replace(endpoint, disabled_reason=None, failing_since=None))

    def remove(self, endpoint_id: str) -> None:
        """Forget the endpoint; what still waited for it is canceled."""
        self._cancel(endpoint_id)
        unit = self._world.store.begin()
        unit.remove(Endpoint, endpoint_id)
        unit.commit()
        self._on_change()

    def _cancel(self, endpoint_id: str) -> None:
        for job in self._waiting.pop(endpoint_id, ()):
            self._settle(job)
        self._delayed.call_off(endpoint_id)
        unit = self._world.store.begin()
        for delivery in self._open_at(endpoint_id):
            if delivery.next_attempt_at is not None:
                unit.cancel(WEBHOOK_RETRY, delivery.id)
            unit.put(replace(delivery, status="canceled", next_attempt_at=None))
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
        delivery = self.delivery(delivery_id(message.id, endpoint.id))
        missed = delivery is None or delivery.status in _MISSED
        return missed and any(self.subscribers(message, {endpoint.id: endpoint}))
