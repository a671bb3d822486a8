"""The delivery worker: it makes the attempts that are due in the outboxes of all worlds."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from msgspec.structs import replace

from sandbox.domain.receivers import is_inside
from sandbox.domain.webhooks import Delivery, Endpoint, Sent
from sandbox.measurements import Measured
from sandbox.store.files.port import StoreError
from sandbox.webhooks.delivery_faults import Job, write_attempt
from sandbox.webhooks.outbox import WebhookWorld
from sandbox.webhooks.receivers import ERROR_CHARS_MAX, LocalReceivers

PATIENCE_S: Final = 0.5
"""An attempt that takes longer than this does not hold up the next one at the same endpoint."""

UNDER_WAY_MAX: Final = 16
"""How many attempts at one endpoint may be in progress at a time."""

log = logging.getLogger("sandbox.webhooks")


class Sending(Protocol):
    """Sends webhooks."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        """Make one attempt: 2xx in time is a success, anything else is not. Never raises."""

    async def close(self) -> None:
        """Close all connections."""


@dataclass(eq=False)
class _Lane:
    """The attempts at one endpoint. `runner` is the task that begins them one by one."""

    world: WebhookWorld
    endpoint_id: str
    under_way: set[asyncio.Task[None]] = field(default_factory=set)
    runner: asyncio.Task[None] | None = None


@dataclass(eq=False, repr=False)
class DeliveryWorker:
    """Sends the webhooks of all worlds. Each endpoint with something to send has a task.

    The task makes one attempt after the other, so an endpoint gets its messages in order, and no
    endpoint holds up another. `after_attempt` is called with the world after each attempt.
    Without a `client`, `open_client` creates one before the first attempt over the network, in a
    thread, because importing it takes a while. `local_receivers` get theirs without a network.
    """

    client: Sending | None
    open_client: Callable[[], Sending]
    header_prefix: str
    measured: Measured
    after_attempt: Callable[[Any], object]
    local_receivers: LocalReceivers

    def __post_init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._is_closed = False
        self._opening = asyncio.Lock()
        self._lanes: dict[tuple[int, str], _Lane] = {}
        self._starting = asyncio.Lock()

    def _is_running(self) -> bool:
        """Whether an event loop runs. The tasks of an earlier loop ended with it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if loop is not self._loop:
            self._loop = loop
            self._begin_anew()
        return not self._is_closed

    def work(self, world: WebhookWorld, endpoint_id: str) -> None:
        """Send what is due at this endpoint. Does nothing unless an event loop runs."""
        if not self._is_running():
            return
        lane = self._lanes.setdefault((id(world), endpoint_id), _Lane(world, endpoint_id))
        if lane.runner is None:
            lane.runner = asyncio.create_task(self._run(lane))

    async def wait_idle(self, world: WebhookWorld) -> None:
        """Wait until no webhook of the world is due or in progress."""
        while not world.outbox.is_idle and self._is_running():
            for endpoint_id in tuple(world.outbox.endpoints):
                self.work(world, endpoint_id)
            await world.wait_for_change()

    def open(self) -> None:
        """Work again after `close`: an application can be started several times."""
        self._is_closed = False

    async def close(self) -> None:
        """Stop. Unfinished attempts go back to their outbox."""
        self._is_closed = True
        lanes = list(self._lanes.values())
        tasks = [task for lane in lanes for task in (lane.runner, *lane.under_way) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.client is not None:
            await self.client.close()

    # --- one endpoint

    async def _run(self, lane: _Lane) -> None:
        """Make the attempts of a lane in order, until none is left."""
        outbox = lane.world.outbox
        try:
            while True:
                async with self._starting:
                    # One attempt begins per iteration of the event loop: requests get a turn.
                    await asyncio.sleep(0)
                job = outbox.take(lane.endpoint_id)
                if job is None:
                    return
                endpoint = outbox.endpoints[lane.endpoint_id]
                attempt = asyncio.create_task(self._attempt(lane.world, endpoint, job))
                lane.under_way.add(attempt)
                attempt.add_done_callback(partial(self._end_attempt, lane, job))
                await asyncio.wait({attempt}, timeout=PATIENCE_S)
                while len(lane.under_way) >= UNDER_WAY_MAX:
                    await asyncio.wait(lane.under_way, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lane.runner = None
            self._drop_if_done(lane)

    def _end_attempt(self, lane: _Lane, job: Job, attempt: asyncio.Task[None]) -> None:
        lane.under_way.discard(attempt)
        if attempt.cancelled():
            lane.world.outbox.give_back(job)
        self._drop_if_done(lane)

    def _drop_if_done(self, lane: _Lane) -> None:
        key = (id(lane.world), lane.endpoint_id)
        if lane.runner is None and not lane.under_way and self._lanes.get(key) is lane:
            del self._lanes[key]

    # --- one attempt

    async def _attempt(self, world: WebhookWorld, endpoint: Endpoint, job: Job) -> None:
        """Make one attempt, and report its result to the outbox."""
        try:
            if not (await world.can_send() and world.outbox.is_under_way(job)):
                return
            sent = await self._send(world, endpoint, job)
        except (StoreError, OSError) as error:
            sent = _not_sent(f"not sent: {error}")
        except Exception:
            log.exception("sending message %s failed: a defect of the sandbox", job.message.id)
            sent = _not_sent("the sandbox failed; its log says why")
        self.measured.attempts.labels("failed" if sent.error else "delivered").inc()
        world.outbox.conclude(job, sent)
        # Without endpoints nothing was scheduled; the world may even be deleted.
        if world.outbox.endpoints:
            self.after_attempt(world)

    async def _send(self, world: WebhookWorld, endpoint: Endpoint, job: Job) -> Sent:
        """Sign the message and send it, over the network or to a receiver in this process."""
        prefix, now, at_s = self.header_prefix, world.now(), world.webhook_time()
        self._note_lag(world, job)
        headers, body, head = write_attempt(job, endpoint, prefix=prefix, now=now, sent_at=at_s)
        if is_inside(endpoint.url):
            delivery = world.outbox.delivery(job.delivery_id)
            sent = await world.inbox.take(
                endpoint,
                body,
                headers,
                prefix=prefix,
                now=now,
                at_s=at_s,
                former_attempts=0 if delivery is None else len(delivery.attempts),
            )
        elif (local := self.local_receivers.send(endpoint.url, body, headers)) is not None:
            sent = local
        else:
            client = self.client or await self._get_client()
            sent = await client.send(endpoint.url, body, headers)
        return sent if sent.is_unreachable else replace(sent, head=head)

    async def _get_client(self) -> Sending:
        async with self._opening:
            if self.client is None:
                self.client = await asyncio.to_thread(self.open_client)
        return self.client

    def _note_lag(self, world: WebhookWorld, job: Job) -> None:
        delivery = world.store.get(Delivery, job.delivery_id)
        clock = world.state.clock
        if clock.mode == "running" and delivery is not None and not delivery.attempts:
            lag_s = (world.now() - job.message.created_at).total_seconds()
            self.measured.lags.observe(lag_s / clock.rate)


def _not_sent(why: str) -> Sent:
    return Sent(status_code=None, duration_ms=0, response="", error=why[:ERROR_CHARS_MAX])
