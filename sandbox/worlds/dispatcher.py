"""The background work of a server: it sends webhooks and wakes worlds when timers are due.

A server has one dispatcher for all its worlds. It starts with the first work, on the event loop
that is running then.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Final

from msgspec import Struct

from sandbox.domain.webhooks.deliveries import Delivery, Sent
from sandbox.domain.webhooks.endpoints import Endpoint
from sandbox.store.files.port import StoreError
from sandbox.webhooks.delivery_faults import apply_fault, head_of
from sandbox.webhooks.inside import is_inside
from sandbox.webhooks.jobs import Job
from sandbox.webhooks.sender import Sending
from sandbox.webhooks.signing import headers_of
from sandbox.worlds.elsewhere import WorldLost
from sandbox.worlds.measured import Measured
from sandbox.worlds.scheduler import fire_due
from sandbox.worlds.world import World

PATIENCE_S: Final = 0.5
"""First attempts go out one after the other; but an endpoint that takes longer than this for one
does not keep the next from being sent."""

UNDER_WAY_MAX: Final = 16
"""The most attempts at one endpoint at a time."""

STARTS_IN_A_TURN: Final = 8
"""Attempts that begin in one round of the loop. Signing and connecting take half a millisecond
each. The rest begin in the next rounds, so requests get their turn in between."""

REQUESTS_IN_A_TURN: Final = 10
"""Requests that are answered in one round of the loop while webhooks are sent. They take as long as
a receiver on this machine takes to answer, so an attempt waits for one turn."""

DOWN_S: Final = 0.1
"""Real seconds in which an unreachable endpoint is not tried again while a clock advances: in so
short a time it is still unreachable, however much time passes in the world."""

_LOOK_AGAIN_S: Final = 3_600.0
"""A clock is read again after this many seconds, to notice jumps of the system clock."""

log = logging.getLogger("sandbox.webhooks")


class _Lane(Struct):
    """The attempts at one endpoint. `runner` is the task that takes the next one.

    The last attempt that it took began at `since`, on the clock of the loop.
    """

    world: World
    endpoint_id: str
    runner: object | None = None
    under_way: int = 0
    since: float = 0.0
    look: asyncio.TimerHandle | None = None


class _Later(Struct, eq=False):
    """A function to call at a moment of the monotonic clock, in seconds."""

    due_s: float
    what: Callable[[], None]
    handle: asyncio.TimerHandle | None = None


class Dispatcher:
    """Sends the webhooks of all outboxes, and fires due timers between requests."""

    def __init__(self, sender: Sending, *, header_prefix: str) -> None:
        self.measured = Measured()
        self._sender = sender
        self._prefix = header_prefix
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self.is_in_turn = False
        self._after_turn: list[Callable[[], None]] = []
        # A dictionary as an ordered set.
        self._later: dict[_Later, None] = {}
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._lanes: dict[tuple[int, str], _Lane] = {}
        self._alarms: dict[int, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_line: deque[Callable[[], bool]] = deque()
        # Attempts that wait for a turn of the loop, and how many have begun in this one.
        self._to_begin: deque[asyncio.Future[None]] = deque()
        self._begun_in_turn = 0
        # By world and endpoint: the last failure to reach it, the clock advance in which it
        # happened, and the system time until which it counts.
        self._down: dict[tuple[int, str], tuple[Sent, int, float]] = {}

    def _is_running(self) -> bool:
        """Whether the event loop still runs. A closed loop took its tasks with it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if loop is not self._loop:
            self._loop, self._is_closed = loop, False
            self._begin_anew()
            self._sender.forget()
            for later in self._later:
                self._arm(later)
        return True

    async def _may_begin(self) -> None:
        """Wait until one more attempt may begin in this turn of the loop."""
        assert self._loop
        if not self._to_begin and self._begun_in_turn < STARTS_IN_A_TURN:
            self._count_begun()
            return
        place = self._loop.create_future()
        self._to_begin.append(place)
        await place

    def _count_begun(self) -> None:
        assert self._loop
        if not self._begun_in_turn:
            self._loop.call_soon(self._begin_turn)
        self._begun_in_turn += 1

    def _begin_turn(self) -> None:
        self._begun_in_turn = 0
        while self._to_begin and self._begun_in_turn < STARTS_IN_A_TURN:
            place = self._to_begin.popleft()
            if not place.done():
                place.set_result(None)
                self._count_begun()

    # --- webhooks

    def work(self, world: World, endpoint_id: str) -> None:
        """Start sending to this endpoint."""
        if not self._is_running() or self._is_closed:
            return
        key = (id(world), endpoint_id)
        lane = self._lanes.get(key)
        if lane is None:
            if self._down and self._fails_at_once(world, key):
                return
            lane = self._lanes[key] = _Lane(world, endpoint_id)
        if lane.runner is None and lane.under_way < UNDER_WAY_MAX:
            lane.runner = object()
            assert self._loop
            task = self._loop.create_task(self._run(lane, lane.runner))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _fails_at_once(self, world: World, key: tuple[int, str]) -> bool:
        """Whether everything due there has failed, because the endpoint was just unreachable."""
        known = self._down.get(key)
        if known is None:
            return False
        sent, advance_id, until = known
        if advance_id != world.advance_id or monotonic() >= until:
            del self._down[key]
            return False
        while (job := world.outbox.take(key[1])) is not None:
            world.outbox.conclude(job, sent)
        return True

    async def _run(self, lane: _Lane, runner: object) -> None:
        """Make the attempts of a lane one by one, until none is left or one takes too long."""
        assert self._loop
        try:
            while lane.runner is runner:
                await self._may_begin()
                job = lane.world.outbox.take(lane.endpoint_id)
                if job is None:
                    break
                lane.since = self._loop.time()
                if lane.look is None:
                    lane.look = self._loop.call_later(PATIENCE_S, self._look_at, lane)
                lane.under_way += 1
                try:
                    await self._attempt(lane.world, job)
                finally:
                    lane.under_way -= 1
        finally:
            if lane.runner is runner:
                lane.runner = None
            elif lane.runner is None and self._loop.is_running():
                # The number of attempts was at its limit: the next may start.
                self.work(lane.world, lane.endpoint_id)
            if not lane.under_way and lane.runner is None:
                self._lanes.pop((id(lane.world), lane.endpoint_id), None)
                if lane.look is not None:
                    lane.look.cancel()

    def _look_at(self, lane: _Lane) -> None:
        """If the current attempt takes too long, the others stop waiting for it.

        One timer of a lane serves for all its attempts, most of which are over long before.
        """
        assert self._loop
        lane.look = None
        if lane.runner is None:
            return
        due = lane.since + PATIENCE_S
        if self._loop.time() < due:
            lane.look = self._loop.call_at(due, self._look_at, lane)
        else:
            lane.runner = None
            self.work(lane.world, lane.endpoint_id)

    async def _attempt(self, world: World, job: Job) -> None:
        endpoint = world.outbox.endpoints[job.endpoint_id]
        try:
            if world.saver is not None:
                # Don't send messages that are not durable yet.
                await world.saver.saved(world)
            body = world.outbox.body(job.message)
            sent_at = world.system_clock()
            self._measure_lag(world, job)
            headers, body = self._written(world, job, endpoint, body, sent_at)
            sent = await self._delivered(world, endpoint, body, headers, sent_at)
            if not sent.is_unreachable:
                head = head_of(self._prefix, headers, body, sent_at=sent_at, then=job.then)
                sent = sent.but(head=head)
        except WorldLost:
            # Whoever has the world now sends it.
            return
        except StoreError as error:
            sent = Sent(None, 0, "", f"not sent: {error}"[:500])
        except asyncio.CancelledError:
            world.outbox.give_back(job)
            raise
        except Exception:
            log.exception("sending message %s failed: a defect of the sandbox", job.message.id)
            sent = Sent(None, 0, "", "the sandbox failed; its log says why")
        if sent.is_unreachable and world.advance_id is not None:
            known = sent.but(duration_ms=0), world.advance_id, monotonic() + DOWN_S
            self._down[id(world), endpoint.id] = known
        self.measured.attempts["delivered" if sent.error is None else "failed"] += 1
        world.outbox.conclude(job, sent)
        # Without endpoints nothing was planned: the world may even be deleted.
        if world.outbox.endpoints:
            fire_due(world)

    def _measure_lag(self, world: World, job: Job) -> None:
        """Note how long after its event a message is sent for the first time."""
        delivery = world.store.get(Delivery, job.delivery_id)
        if world.clock.mode == "running" and delivery is not None and not delivery.attempts:
            lag_s = (world.clock.now() - job.message.created_at).total_seconds()
            self.measured.lags.add(lag_s / world.clock.rate)

    async def _delivered(
        self, world: World, endpoint: Endpoint, body: bytes, headers: dict[str, str], at_s: float
    ) -> Sent:
        """The result of an attempt, over the network or at a receiver inside."""
        if not is_inside(endpoint.url):
            return await self._sender.send(endpoint.url, body, headers)
        return await world.inbox.take(
            endpoint, body, headers, prefix=self._prefix, now=world.clock.now(), at_s=at_s
        )

    def _written(
        self, world: World, job: Job, endpoint: Endpoint, body: bytes, sent_at: float
    ) -> tuple[dict[str, str], bytes]:
        """Headers and body as they are sent."""
        message_id, now = job.message.id, world.clock.now()
        if job.then is None:
            secrets = endpoint.secrets_at(now)
            return headers_of(self._prefix, message_id, sent_at, body, secrets), body
        return apply_fault(
            job.then,
            endpoint,
            prefix=self._prefix,
            message_id=message_id,
            body=body,
            now=now,
            sent_at=sent_at,
        )

    async def wait_idle(self, world: World) -> None:
        """Wait until every due webhook of this world was sent."""
        while not world.outbox.is_idle and self._is_running():
            for endpoint_id in tuple(world.outbox.endpoints):
                self.work(world, endpoint_id)
            await world.changed()

    # --- delayed work

    def later(self, delay_s: float, what: Callable[[], None]) -> Callable[[], None]:
        """Call the function after this many real seconds; returns a function that cancels it."""
        is_running = self._is_running()
        later = _Later(monotonic() + delay_s, what)
        self._later[later] = None
        if is_running and not self._is_closed:
            self._arm(later)

        def call_off() -> None:
            self._later.pop(later, None)
            if later.handle is not None:
                later.handle.cancel()

        return call_off

    def _arm(self, later: _Later) -> None:
        assert self._loop
        wait_s = max(0.0, later.due_s - monotonic())
        later.handle = self._loop.call_later(wait_s, self._do, later)

    def _do(self, later: _Later) -> None:
        del self._later[later]
        later.what()

    # --- turns

    @property
    def has_line(self) -> bool:
        """Whether requests have to wait for their turns, a few in each round of the loop.

        They do while webhooks are being sent. Otherwise an attempt would wait for a whole crowd of
        requests in every round.
        """
        return bool(self._lanes) and self._is_running()

    def in_line(self, go: Callable[[], bool]) -> None:
        """Call the function when its turn comes.

        It returns False if there was nothing left to do, so that the next may go instead.
        """
        self._in_line.append(go)
        if len(self._in_line) == 1:
            assert self._loop
            self._loop.call_soon(self._next_turn)

    def after_each_turn(self, then: Callable[[], None]) -> None:
        """Call the function at the end of each turn, before anything else happens."""
        self._after_turn.append(then)

    def _call_turn(self) -> None:
        """Let a round pass before the next turn.

        Attempts whose answers have come go on in it, and send the next webhook: while the receiver
        works on it, requests are answered.
        """
        assert self._loop
        self._loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        assert self._loop
        left = REQUESTS_IN_A_TURN
        self.is_in_turn = True
        try:
            while self._in_line and left:
                left -= self._in_line.popleft()()
        finally:
            self.is_in_turn = False
            if self._in_line:
                self._loop.call_soon(self._call_turn)
        for then in self._after_turn:
            then()

    # --- clocks

    def arm_wakeup(self, world: World, wait_s: float | None) -> None:
        """The next thing of this world falls due after so many seconds; None: nothing does."""
        alarm = self._alarms.pop(id(world), None)
        if alarm is not None:
            alarm.cancel()
        if wait_s is not None and self._is_running():
            assert self._loop
            wait_s = min(wait_s, _LOOK_AGAIN_S)
            self._alarms[id(world)] = self._loop.call_later(wait_s, self._wake, world)

    def _wake(self, world: World) -> None:
        self._alarms.pop(id(world), None)
        world.watched = None
        fire_due(world)

    async def close(self) -> None:
        """Stop. Unfinished attempts are given back, not lost."""
        self._is_closed = True
        for alarm in self._alarms.values():
            alarm.cancel()
        for later in self._later:
            if later.handle is not None:
                later.handle.cancel()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._sender.close()
