"""The webhooks of one world: their subscribers, deliveries, attempts and retries.

The outbox decides and remembers, but sends nothing. The delivery worker takes jobs from it and
reports their results.

Source: spec 6.1.3, 6.1.11; assumed 8.3-declared, 8.3-audience, 8.3-filters.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from msgspec.structs import replace
from pydantic_core import from_json

from sandbox.domain import webhooks
from sandbox.domain.clock import WEBHOOK_RETRY, Timer
from sandbox.domain.directory import Account
from sandbox.domain.events import Message, body_of, field_of
from sandbox.domain.webhooks import ENDPOINTS_MAX, Delivery, Endpoint, Sent
from sandbox.scenarios.matcher import MatchedWebhookRule, Words
from sandbox.store.ids import Ids
from sandbox.store.store import Store, UnitOfWork
from sandbox.store.tables import OLDEST_FIRST, Where
from sandbox.store.world_state import WorldState
from sandbox.webhooks.delivery_faults import Job, ruled, trigger_of
from sandbox.webhooks.receivers import Inbox
from sandbox.webhooks.signing import KEY_BYTES, write_secret

Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls a function after this many real seconds; returns a function that cancels it."""


class WebhookWorld(Protocol):
    """A world as its outbox and the delivery worker see it."""

    store: Store
    outbox: "Outbox"
    inbox: Inbox
    draws: Ids
    state: WorldState
    switches: dict[str, Any]

    def find_webhook_rule(self, words: Words) -> MatchedWebhookRule | None:
        """Return the rule for a delivery with these facts, and count its use."""

    def now(self) -> datetime:
        """Return the world's present time."""

    def webhook_time(self) -> float:
        """Return the timestamp of a webhook that is sent now, in Unix seconds."""

    async def can_send(self) -> bool:
        """Wait until changes are durable. Return False if another server owns the world."""

    async def wait_for_change(self) -> None:
        """Wait for a new message or the result of an attempt."""

    def tell_changed(self) -> None:
        """Wake up those who wait for a delivery or another change."""


@dataclass(eq=False, repr=False)
class Outbox:
    """Endpoints, deliveries, and the queue of each endpoint.

    Endpoints and deliveries are records of the world's store. The queues are not stored; `resume`
    fills them again. `on_work` is called with an endpoint's id when its queue gets a job, and
    `on_attempt` with the result of an attempt. `pre_answer` has the deliveries to try before the
    answer, each with the id of its request.
    """

    world: WebhookWorld
    on_work: Callable[[str], None]
    later: Later
    on_attempt: Callable[[Job, Delivery], None] = lambda job, delivery: None

    def __post_init__(self) -> None:
        # The jobs of each delayed delivery, and the function that cancels the delay.
        self._delayed: dict[str, tuple[Sequence[Job], Callable[[], None]]] = {}
        self._begin_anew()

    def forget(self) -> None:
        """Forget everything that was to be sent, because the store has been replaced."""
        self._call_off()
        self._begin_anew()
        self.world.tell_changed()

    def _begin_anew(self) -> None:
        self._waiting: dict[str, deque[Job]] = {}
        self._under_way: dict[int, Job] = {}
        self.pre_answer: dict[str, str] = {}

    def resume(self) -> None:
        """Send the webhooks that were due or unfinished when the earlier run ended."""
        for endpoint_id in self.endpoints:
            for delivery in self._deliveries({"open_at": endpoint_id}):
                message = self.world.store.get(Message, delivery.message_id)
                if delivery.next_attempt_at is None and message is not None:
                    self._put(Job(message, endpoint_id))

    @property
    def endpoints(self) -> Mapping[str, Endpoint]:
        """The endpoints of the world by id, the oldest first."""
        return self.world.store.all(Endpoint)

    @property
    def is_idle(self) -> bool:
        """Whether no job is due and no attempt is in progress.

        Webhooks that a scenario delays do not count as due (assumed D23).
        """
        return not self._under_way and not any(self._waiting.values())

    @property
    def waiting(self) -> int:
        """The number of jobs that are due and have not begun."""
        return sum(map(len, self._waiting.values()))

    def deliveries_of(self, message_id: str) -> list[Delivery]:
        """Return the deliveries of a message, one for each endpoint."""
        return self._deliveries({"message": message_id})

    def _deliveries(self, where: Where) -> list[Delivery]:
        return self.world.store.begin().find(Delivery, where, order=OLDEST_FIRST)[0]

    def delivery(self, id: str) -> Delivery | None:
        """Return the delivery with this id, or None."""
        return self.world.store.get(Delivery, id)

    # --- messages come in

    def accept(self, messages: Sequence[Message]) -> None:
        """Queue the messages of one commit for every endpoint that subscribes to them."""
        # Only the rule that made up a message sends it.
        wanted = [(one, list(self.subscribers(one))) for one in messages if one.only_for is None]
        unit, jobs = self.world.store.begin(), []
        for message, endpoint, by in ruled(wanted, self.world.find_webhook_rule):
            jobs += self._accept(message, endpoint, by, unit)
        unit.commit()
        self._put(*jobs)

    def _accept(
        self, message: Message, endpoint: Endpoint, by: MatchedWebhookRule, unit: UnitOfWork
    ) -> list[Job]:
        """Return the jobs for a delivery; none yet if a rule delays them."""
        then, rule = by
        delivery = Delivery(message_id=message.id, endpoint_id=endpoint.id, rule=rule)
        unit.put(replace(delivery, status="dropped") if then.drop else delivery)
        if then.drop:
            return []
        jobs = [Job(message, endpoint.id, trigger_of(then), then=then)]
        for _ in range(1, then.duplicate or 1):
            jobs.append(Job(message, endpoint.id, "scenario", is_single=True))
        if then.contradict is not None:
            # With the same time and request, only for this endpoint.
            id, record = self.world.draws.message_id(), from_json(body_of(message))
            record |= then.contradict
            other = replace(message, id=id, record=record, only_for=endpoint.id)
            unit.emit(other)
            unit.put(Delivery(message_id=other.id, endpoint_id=endpoint.id))
            jobs.append(Job(other, endpoint.id, "scenario"))
        first = jobs[0].delivery_id
        if then.before_answer and message.request_id is not None:
            self.pre_answer[first] = message.request_id
        if then.delay_ms is None:
            return jobs
        self._delayed[first] = jobs, self.later(then.delay_ms / 1000, lambda: self._release(first))
        return []

    def subscribers(
        self, message: Message, of: Mapping[str, Endpoint] | None = None
    ) -> Iterator[Endpoint]:
        """Yield the endpoints that get this message, all of them or only those in `of`."""
        path = _path(message, self.world.store)
        for endpoint in list((self.endpoints if of is None else of).values()):
            if endpoint.is_disabled or message.only_for not in (None, endpoint.id):
                continue
            if message.only_for is not None or (
                endpoint.is_subscribed_to(message.event_type, path) and endpoint.matches(message)
            ):
                yield endpoint

    def _store(self, delivery: Delivery) -> None:
        """Store the delivery, with the timer of its next attempt."""
        with self.world.store.begin() as unit:
            unit.put(delivery)
            if (due := delivery.next_attempt_at) is not None:
                unit.schedule(Timer(kind=WEBHOOK_RETRY, subject=delivery.id, due=due))
            elif self.world.store.timer(WEBHOOK_RETRY, delivery.id) is not None:
                unit.cancel(WEBHOOK_RETRY, delivery.id)

    def store_endpoint(self, endpoint: Endpoint) -> Endpoint:
        """Store a new endpoint, or a changed one in place of the old one."""
        self.world.store.put(endpoint)
        return endpoint

    def _put(self, *jobs: Job) -> None:
        for job in jobs:
            self._waiting.setdefault(job.endpoint_id, deque()).append(job)
            self.on_work(job.endpoint_id)

    def _is_open(self, job: Job) -> bool:
        delivery = self.delivery(job.delivery_id)
        return delivery is not None and delivery.status == "pending"

    def _release(self, id: str) -> None:
        """Queue delayed jobs, except for deliveries that were resent by hand meanwhile."""
        jobs, _ = self._delayed.pop(id)
        self._put(*[one for one in jobs if self._is_open(one)])

    def end_delays(self) -> None:
        """Queue all delayed jobs now."""
        for id, (_, call_off) in list(self._delayed.items()):
            call_off()
            self._release(id)

    def _call_off(self, endpoint_id: str | None = None) -> None:
        """Cancel what is delayed for this endpoint, or for all."""
        for id, (jobs, call_off) in list(self._delayed.items()):
            if endpoint_id in (None, jobs[0].endpoint_id):
                del self._delayed[id]
                call_off()

    # --- work goes out

    def take(self, endpoint_id: str) -> Job | None:
        """Return the next attempt to make at this endpoint; the caller reports its result."""
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
            self.world.tell_changed()
        return None

    def is_under_way(self, job: Job) -> bool:
        """Whether its result is awaited. After a reset of the world it is not."""
        return id(job) in self._under_way

    def give_back(self, job: Job) -> None:
        """Put a job that was not tried back at the front of its queue."""
        if self._under_way.pop(id(job), None) is not None:
            self._waiting.setdefault(job.endpoint_id, deque()).appendleft(job)
            self._settle(job)

    def _settle(self, job: Job) -> None:
        """Release the answer that waited for this attempt."""
        if job.then is not None and self.pre_answer.pop(job.delivery_id, None) is not None:
            self.world.tell_changed()

    def conclude(self, job: Job, sent: Sent) -> None:
        """Record the result of an attempt, and plan a retry if there is one."""
        known = self.delivery(job.delivery_id)
        if self._under_way.pop(id(job), None) is None or known is None:
            return  # The world was reset meanwhile.
        endpoint, now = self.endpoints.get(job.endpoint_id), self.world.now()
        delivery = known.add_attempt(sent, now, job.trigger)
        if sent.error is None:
            delivery = replace(delivery, status="delivered", next_attempt_at=None)
        elif endpoint is not None and not endpoint.is_disabled and delivery.status == "pending":
            delivery = self._after_failure(job, delivery, sent, now)
        self._store(delivery)
        if endpoint is not None:
            self._note_health(endpoint, sent, now)
        delivery = self.delivery(delivery.id) or delivery
        self.on_attempt(job, delivery)
        self._settle(job)
        self.world.tell_changed()

    def _note_health(self, endpoint: Endpoint, sent: Sent, now: datetime) -> None:
        """Note when attempts at the endpoint began to fail, and disable it eventually."""
        failing_since = None if sent.error is None else endpoint.failing_since or now
        if endpoint.is_disabled and failing_since is not None:
            return
        if failing_since != endpoint.failing_since:
            self.store_endpoint(replace(endpoint, failing_since=failing_since))
        if sent.status_code == webhooks.GONE:
            self.disable(endpoint.id, "it answered 410 Gone")
        elif failing_since is not None and now - failing_since >= webhooks.DEAD_AFTER:
            self.disable(endpoint.id, f"every attempt failed for {webhooks.DEAD_AFTER.days} days")

    def _after_failure(self, job: Job, delivery: Delivery, sent: Sent, now: datetime) -> Delivery:
        """Return an open delivery after a failed attempt: failed, or with its next attempt."""
        if job.is_single:
            is_open = self._is_tried_again(delivery)
            return delivery if is_open else replace(delivery, status="failed")
        failures = delivery.failures + 1
        wait = webhooks.wait_after(
            failures,
            jitter=self.world.draws.fraction(f"{delivery.id}/{failures}"),
            retry_after_s=sent.retry_after_s,
            is_throttled=sent.is_timeout or sent.status_code == webhooks.TOO_MANY_REQUESTS,
            scale=self.world.switches["webhooks.time_scale"],
        )
        if wait is None:
            return replace(delivery, failures=failures, status="failed")
        return replace(delivery, failures=failures, next_attempt_at=now + wait)

    def _is_tried_again(self, delivery: Delivery) -> bool:
        """Whether another attempt at this delivery is planned, queued or in progress."""
        queued = self._waiting.get(delivery.endpoint_id, ())
        delayed = (job for jobs, _ in self._delayed.values() for job in jobs)
        jobs = (*queued, *self._under_way.values(), *delayed)
        has_job = any(job.delivery_id == delivery.id for job in jobs)
        return has_job or delivery.next_attempt_at is not None

    def fall_due(self, id: str) -> None:
        """Retry the delivery with this id, which is due."""
        delivery = self.delivery(id)
        if delivery is None or delivery.status != "pending":
            return
        message = self.world.store.get(Message, delivery.message_id)
        if message is not None:
            self._store(replace(delivery, next_attempt_at=None))
            self._put(Job(message, delivery.endpoint_id))

    # --- what operators do

    def disable(self, endpoint_id: str, reason: str) -> Endpoint:
        """Stop sending to the endpoint, and cancel what still waits for it."""
        self._cancel(endpoint_id)
        disabled = replace(self.endpoints[endpoint_id], disabled_reason=reason)
        self.store_endpoint(disabled)
        self.world.tell_changed()
        return disabled

    def enable(self, endpoint_id: str) -> Endpoint:
        """Send to the endpoint again, from the next message on; `recover` sends missed ones."""
        endpoint = self.endpoints[endpoint_id]
        return self.store_endpoint(replace(endpoint, disabled_reason=None, failing_since=None))

    def remove(self, endpoint_id: str) -> None:
        """Delete the endpoint, and cancel what still waits for it."""
        self._cancel(endpoint_id)
        with self.world.store.begin() as unit:
            unit.remove(Endpoint, endpoint_id)
        self.world.tell_changed()

    def _cancel(self, endpoint_id: str) -> None:
        for job in self._waiting.pop(endpoint_id, ()):
            self._settle(job)
        self._call_off(endpoint_id)
        for delivery in self._deliveries({"open_at": endpoint_id}):
            self._store(replace(delivery, status="canceled", next_attempt_at=None))

    def resend(self, message: Message, endpoint: Endpoint, *, is_single: bool = True) -> None:
        """Send the message again, once or with a new run of retries. Source: assumed D22."""
        known = self.delivery(webhooks.delivery_id(message.id, endpoint.id))
        if known is None:
            self._store(Delivery(message_id=message.id, endpoint_id=endpoint.id))
        elif not is_single:
            self._store(replace(known, status="pending", failures=0, next_attempt_at=None))
        self._put(Job(message, endpoint.id, "manual", is_single))

    def recover(self, endpoint_id: str, since: datetime) -> Iterator[bool]:
        """Send the messages that the endpoint missed since then.

        Yields for each message whether it is sent again. Other work may run in between, so the
        endpoint may be deleted or the world reset meanwhile.
        """
        for message in self.world.store.messages():
            endpoint = self.endpoints.get(endpoint_id)
            if endpoint is None or self.world.store.get(Message, message.id) is not message:
                return
            has_missed = message.created_at >= since and self._has_missed(endpoint, message)
            if has_missed:
                self.resend(message, endpoint, is_single=False)
            yield has_missed

    def _has_missed(self, endpoint: Endpoint, message: Message) -> bool:
        delivery = self.delivery(webhooks.delivery_id(message.id, endpoint.id))
        missed = delivery is None or delivery.status in ("failed", "canceled", "dropped")
        return missed and any(self.subscribers(message, {endpoint.id: endpoint}))


def _path(message: Message, store: Store) -> tuple[str, ...]:
    """Return the account of the message and all above it, the root first."""
    account = store.begin().get(Account, message.account_id)
    if account is not None:
        return (*account.parent_account_ids, message.account_id)
    # A sample about an account that does not exist names the accounts above it.
    above = field_of(message, "parent_account_ids")
    return (*(map(str, above) if isinstance(above, list) else ()), message.account_id)


# --- declared endpoints -------------------------------------------------------------------------


class TooManyEndpoints(ValueError):
    """The world would have more endpoints than it may; nothing was stored."""


_DECLARED: Final = ("url", "secret", "description", "account_id", "event_types", "filters")


def declare(world: WebhookWorld, endpoints: Mapping[str, Mapping[str, Any]]) -> None:
    """Store endpoints with these fields, by id. Existing ones keep their state.

    Without a secret an existing endpoint keeps its own, which may have been rotated, and a new one
    gets one that is the same for the same seed, world and id. Raises TooManyEndpoints if new ones
    exceed the limit; an old state file may hold more.
    """
    there, unit = world.outbox.endpoints, world.store.begin()
    count = len(there.keys() | endpoints.keys())
    if count > max(len(there), ENDPOINTS_MAX):
        raise TooManyEndpoints(f"a world has {ENDPOINTS_MAX} endpoints at most, and not {count}")
    for id, fields in endpoints.items():
        given = {name: value for name, value in fields.items() if value is not None}
        if (before := there.get(id)) is not None:
            given.setdefault("secret", before.secret)
        own_secret = world.draws.chars_of(f"webhook:{id}", KEY_BYTES)
        given.setdefault("secret", write_secret(own_secret.encode()))
        declared = Endpoint(id=id, **given)
        again = {name: getattr(declared, name) for name in _DECLARED}
        unit.put(declared if before is None else replace(before, **again))
    unit.commit()
