"""The delivery worker: it makes the attempts that the outboxes of all worlds have due."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from sandbox.domain.webhooks import Delivery, Endpoint, Sent
from sandbox.store.files.port import StoreError
from sandbox.store.store import Store
from sandbox.webhooks.delivery_faults import apply_fault, head_of
from sandbox.webhooks.jobs import Job
from sandbox.webhooks.local_receivers import LocalReceivers
from sandbox.webhooks.outbox import Outbox
from sandbox.webhooks.receivers import Inbox, is_inside
from sandbox.webhooks.signing import headers_of

PATIENCE_S: Final = 0.5
"""An attempt that takes longer than this does not hold up the next one at the same endpoint."""

UNDER_WAY_MAX: Final = 16
"""The most attempts at one endpoint at a time."""

STARTS_IN_A_TURN: Final = 8
"""Attempts that begin in one round of the event loop, so that requests are answered in between."""

DOWN_S: Final = 0.1
"""Do not try an unreachable endpoint again for so many real seconds while a clock advances: in so
short a time it is still unreachable, however much time passes in the world."""

ERROR_CHARS_MAX: Final = 500
"""Characters stored of an attempt's error, which may quote the receiver."""

log = logging.getLogger("sandbox.webhooks")


class Sending(Protocol):
    """Sends webhooks."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        """Make one attempt: 2xx in time is a success, anything else is not. Never raises."""

    async def close(self) -> None:
        """Close all connections."""


class SendingWorld(Protocol):
    """A world whose webhooks are sent."""

    @property
    def store(self) -> Store:
        """The store with deliveries."""

    @property
    def outbox(self) -> Outbox:
        """The attempts to make."""

    @property
    def inbox(self) -> Inbox:
        """The receivers inside the world."""

    @property
    def advance_id(self) -> int | None:
        """The id of the clock advance in progress."""

    @property
    def clock_rate(self) -> float | None:
        """The number of seconds that pass per real second; None while the clock stands still."""

    def now(self) -> datetime:
        """The world's present."""

    def webhook_time(self) -> float:
        """The time that dates and signs a webhook which is sent now, in Unix seconds."""

    async def can_send(self) -> bool:
        """Wait until the changes so far are durable; False if another server has the world."""

    async def changed(self) -> None:
        """Wait for a new message or the result of an attempt."""


W = TypeVar("W", bound=SendingWorld)


class Metrics(Protocol):
    """Counts what the worker does."""

    def count_attempt(self, *, is_delivered: bool) -> None:
        """Count an attempt."""

    def note_lag(self, lag_s: float) -> None:
        """Note how long after its event a message is sent for the first time."""


@dataclass(eq=False)
class _Lane(Generic[W]):
    """The attempts at one endpoint. `runner` is the task that begins them one by one."""

    world: W
    endpoint_id: str
    under_way: set[asyncio.Task[None]] = field(default_factory=set)
    runner: asyncio.Task[None] | None = None


class _Unreachable(NamedTuple):
    """A failure to connect during a clock advance, which counts until that time of the loop."""

    sent: Sent
    advance_id: int
    until: float


class DeliveryWorker(Generic[W]):
    """Sends the webhooks of all worlds. Each endpoint with something to send has a task.

    The task makes one attempt after the other, so an endpoint gets its messages in order, and no
    endpoint holds up another. `after_attempt` is called with the world after each attempt.
    Without a `client`, `open_client` makes it before the first attempt over the network, in a
    thread: loading one takes a while. What goes to one of the `local_receivers` needs no network.
    """

    def __init__(
        self,
        client: Sending | None,
        *,
        open_client: Callable[[], Sending],
        header_prefix: str,
        metrics: Metrics,
        after_attempt: Callable[[W], object],
        local_receivers: LocalReceivers | None = None,
    ) -> None:
        self._client = client
        self._local_receivers = local_receivers
        self._open_client = open_client
        self._prefix = header_prefix
        self._metrics = metrics
        self._after_attempt = after_attempt
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._is_closed = False
        self._opening = asyncio.Lock()
        self._lanes: dict[tuple[int, str], _Lane[W]] = {}
        self._unreachable: dict[tuple[int, str], _Unreachable] = {}
        self._starts_left = STARTS_IN_A_TURN

    def _is_running(self) -> bool:
        """Whether an event loop runs. The tasks of an earlier loop are gone with it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if loop is not self._loop:
            self._loop = loop
            self._begin_anew()
        return not self._is_closed

    def work(self, world: W, endpoint_id: str) -> None:
        """Send what is due at this endpoint. Does nothing before an event loop runs."""
        if not self._is_running():
            return
        key = (id(world), endpoint_id)
        lane = self._lanes.get(key)
        if lane is None:
            if self._unreachable and self._fail_unreachable(world, endpoint_id):
                return
            lane = self._lanes[key] = _Lane(world, endpoint_id)
        if lane.runner is None:
            lane.runner = self._create_task(self._run(lane))

    async def wait_idle(self, world: W) -> None:
        """Wait until no webhook of the world is due or under way."""
        while not world.outbox.is_idle and self._is_running():
            for endpoint_id in tuple(world.outbox.endpoints):
                self.work(world, endpoint_id)
            await world.changed()

    async def close(self) -> None:
        """Stop. Unfinished attempts go back to their outbox."""
        self._is_closed = True
        lanes = list(self._lanes.values())
        tasks = [task for lane in lanes for task in (lane.runner, *lane.under_way) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    def _create_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        assert self._loop
        return self._loop.create_task(work)

    # --- one endpoint

    async def _run(self, lane: _Lane[W]) -> None:
        """Make the attempts of a lane in order, until none is left."""
        outbox = lane.world.outbox
        try:
            while True:
                await self._wait_for_start()
                job = outbox.take(lane.endpoint_id)
                if job is None:
                    return
                endpoint = outbox.endpoints[lane.endpoint_id]
                attempt = self._create_task(self._attempt(lane.world, endpoint, job))
                lane.under_way.add(attempt)
                attempt.add_done_callback(partial(self._end_attempt, lane, job))
                await asyncio.wait({attempt}, timeout=PATIENCE_S)
                while len(lane.under_way) >= UNDER_WAY_MAX:
                    await asyncio.wait(lane.under_way, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lane.runner = None
            self._drop_if_done(lane)

    def _end_attempt(self, lane: _Lane[W], job: Job, attempt: asyncio.Task[None]) -> None:
        lane.under_way.discard(attempt)
        if attempt.cancelled():
            lane.world.outbox.give_back(job)
        self._drop_if_done(lane)

    def _drop_if_done(self, lane: _Lane[W]) -> None:
        key = (id(lane.world), lane.endpoint_id)
        if lane.runner is None and not lane.under_way and self._lanes.get(key) is lane:
            del self._lanes[key]

    async def _wait_for_start(self) -> None:
        """Wait for a round of the event loop in which one more attempt may begin."""
        assert self._loop
        while not self._starts_left:
            await asyncio.sleep(0)
        if self._starts_left == STARTS_IN_A_TURN:
            self._loop.call_soon(self._allow_starts)
        self._starts_left -= 1

    def _allow_starts(self) -> None:
        self._starts_left = STARTS_IN_A_TURN

    # --- endpoints that cannot be reached

    def _fail_unreachable(self, world: W, endpoint_id: str) -> bool:
        """Fail everything that is due there if the endpoint was unreachable a moment ago."""
        assert self._loop
        key = (id(world), endpoint_id)
        known = self._unreachable.get(key)
        if known is None:
            return False
        if known.advance_id != world.advance_id or self._loop.time() >= known.until:
            del self._unreachable[key]
            return False
        while (job := world.outbox.take(endpoint_id)) is not None:
            world.outbox.conclude(job, known.sent)
        return True

    def _note_unreachable(self, world: W, endpoint_id: str, sent: Sent) -> None:
        assert self._loop
        if sent.is_unreachable and world.advance_id is not None:
            self._unreachable[id(world), endpoint_id] = _Unreachable(
                replace(sent, duration_ms=0), world.advance_id, self._loop.time() + DOWN_S
            )

    # --- one attempt

    async def _attempt(self, world: W, endpoint: Endpoint, job: Job) -> None:
        """Make one attempt, and report its result to the outbox."""
        try:
            if not (await world.can_send() and world.outbox.is_under_way(job)):
                return
            sent = await self._send(world, endpoint, job)
        except StoreError as error:
            sent = _not_sent(f"not sent: {error}")
        except Exception:
            log.exception("sending message %s failed: a defect of the sandbox", job.message.id)
            sent = _not_sent("the sandbox failed; its log says why")
        self._note_unreachable(world, endpoint.id, sent)
        self._metrics.count_attempt(is_delivered=sent.error is None)
        world.outbox.conclude(job, sent)
        # Without endpoints nothing was planned: the world may even be deleted.
        if world.outbox.endpoints:
            self._after_attempt(world)

    async def _send(self, world: W, endpoint: Endpoint, job: Job) -> Sent:
        """Sign the message and send it, over the network or to a receiver in this process."""
        body, sent_at = world.outbox.body(job.message), world.webhook_time()
        self._note_lag(world, job)
        headers, body = self._write(world, endpoint, job, body, sent_at)
        if is_inside(endpoint.url):
            sent = await world.inbox.take(
                endpoint, body, headers, prefix=self._prefix, now=world.now(), at_s=sent_at
            )
        elif self._local_receivers is not None and self._local_receivers.has(endpoint.url):
            sent = self._local_receivers.send(endpoint.url, body, headers)
        else:
            client = self._client or await self._get_client()
            sent = await client.send(endpoint.url, body, headers)
        if sent.is_unreachable:
            return sent
        head = head_of(self._prefix, headers, body, sent_at=sent_at, then=job.then)
        return replace(sent, head=head)

    async def _get_client(self) -> Sending:
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open_client)
        return self._client

    def _write(
        self, world: W, endpoint: Endpoint, job: Job, body: bytes, sent_at: float
    ) -> tuple[dict[str, str], bytes]:
        """Headers and body as they are sent."""
        now = world.now()
        if job.then is None:
            secrets = endpoint.secrets_at(now)
            return headers_of(self._prefix, job.message.id, sent_at, body, secrets), body
        return apply_fault(
            job.then,
            endpoint,
            prefix=self._prefix,
            message_id=job.message.id,
            body=body,
            now=now,
            sent_at=sent_at,
        )

    def _note_lag(self, world: W, job: Job) -> None:
        delivery = world.store.get(Delivery, job.delivery_id)
        rate = world.clock_rate
        if rate is not None and delivery is not None and not delivery.attempts:
            lag_s = (world.now() - job.message.created_at).total_seconds()
            self._metrics.note_lag(lag_s / rate)


def _not_sent(why: str) -> Sent:
    return Sent(status_code=None, duration_ms=0, response="", error=why[:ERROR_CHARS_MAX])
