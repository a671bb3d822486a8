"""One server of a cluster: finding worlds, claiming them, and giving them away."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from hashlib import sha256
from typing import Any, Final

from sandbox import library
from sandbox.cluster import commits, ownership
from sandbox.cluster.database import ANSWER_S, FAILURES, Database, describe
from sandbox.cluster.forwarding import REFUSED, Forwarding
from sandbox.cluster.ownership import Found
from sandbox.cluster.saver import ClusterSaver
from sandbox.cluster.session import SILENT_S, Address, OwnerSession, SessionLost
from sandbox.cluster.supervision import Supervisor
from sandbox.domain.keys import KeyKind, ParsedKey
from sandbox.store.files.port import FORMAT, StoreError, Unavailable
from sandbox.store.fixture import FixtureError
from sandbox.store.world_documents import NotRestored
from sandbox.worlds.elsewhere import KeptWorld, Peer, ReservedKey, ServerRow, WorldLost
from sandbox.worlds.registry import Worlds
from sandbox.worlds.spec import DEFAULT_WORLD, WorldTaken
from sandbox.worlds.world import World

ROUTES_MAX: Final = 10_000
"""How many keys to remember with their server before all are forgotten."""

SWEEP_S: Final = 1.0
DUE_MAX: Final = 20
"""How many worlds one sweep claims at most, so that requests get a turn."""

SPREAD_S: Final = 10.0
SPREAD_MAX: Final = 5
"""How often a server with many more worlds than the mean gives some away, and how many at once."""

_SOON_S: Final = 0.02
_FOUND_S: Final = 8.0
"""How long a request looks for the owner of its world: longer than a silent owner may live."""

_LOAD_S: Final = 60.0
"""Time limit for loading a world, which continues after its request was refused."""

_LEAVE_S: Final = 10.0

_REFUSED: Final = "sandbox.refused_since"
"""The time, in the scope of a request, since the owner of its world could not be reached."""

log = logging.getLogger("sandbox.cluster")


class ClusterServer:
    """One of the servers that share worlds; implements `worlds.elsewhere.Elsewhere`.

    `begin_default` creates the world `default` if its second argument is True, or is called with
    False if the database has it. `on_tokens` is called with tokens of teams that another server has
    changed.
    """

    worlds: Worlds

    def __init__(
        self,
        url: str,
        address: Address,
        *,
        begin_default: Callable[[Worlds, bool], None],
    ) -> None:
        self._database = Database(url)
        self._session = OwnerSession(
            self._database, address, on_lost=self._lose_all, on_sign=self._take_tokens
        )
        self.clock = self._session.now
        self.saver = ClusterSaver(self._database, self._session, on_lost=self._lose)
        self.on_tokens: Callable[[str], None] = lambda tokens: None
        self._tokens = ""
        self._begin_default = begin_default
        self._forwarding = Forwarding()
        self._supervisor = Supervisor(self._session.lose)
        # The owners of worlds, by key.
        self._routes: dict[bytes, Peer] = {}
        self._claiming: dict[str, asyncio.Future[None]] = {}
        # Worlds that cannot be read; only requests from clients try again.
        self._unreadable: set[str] = set()
        self._is_leaving = False
        self._spread_s = 0.0

    # --- where a world is

    async def have_world(self, id: str) -> Peer | None:
        """Take the world, or return the server that has it; None if there is no such world."""
        try:
            async with asyncio.timeout(_FOUND_S):
                while self.worlds.get(id) is None:
                    # Wait while the world is being given away or deleted here.
                    if not self.saver.has(id):
                        if (found := await self._database.ask(ownership.find, id)) is None:
                            return None
                        if (peer := await self._reach(found)) is not None:
                            return peer
                    if self.worlds.get(id) is None:
                        await asyncio.sleep(_SOON_S)
        except TimeoutError:
            why = f"no server has the world {id!r}, and this one cannot claim it"
            raise Unavailable(why) from None
        return None

    async def have_key(self, sent: bytes, key: ParsedKey, *, afresh: bool = False) -> Peer | None:
        """Take the world of this key, or return the server that has it."""
        if not afresh and (peer := self._routes.get(sent)) is not None:
            return peer
        known = None
        if key.kind in (KeyKind.V5, KeyKind.LEGACY):
            known = await self._database.ask(ownership.find_key, key)
        id = DEFAULT_WORLD if known is None else known.id
        peer = await self.have_world(id)
        if peer is not None and known is not None:
            if len(self._routes) >= ROUTES_MAX:
                self._routes.clear()
            self._routes[sent] = peer
        return peer

    async def _reach(self, found: Found) -> Peer | None:
        """Return the server that has the world, or None to look again after a claim."""
        # A session with this server's URL is the present one, or one that is about to end.
        if found.owner is not None and found.owner.url != self._session.address.url:
            return found.owner
        if found.format > FORMAT:
            raise Unavailable(
                f"the world {found.id!r} was written by a later version; it waits for a server of "
                "that version"
            )
        if not self._is_leaving:
            await self._claim_once(found)
            return None
        for other in await self._others():
            return other
        raise Unavailable("this server is stopping, and there is no other")

    # --- claiming

    async def _claim_once(self, found: Found) -> None:
        """Claim a world for all requests that want it, even if they give up meanwhile."""
        claiming = self._claiming.get(found.id)
        if claiming is None:
            claiming = self._claiming[found.id] = asyncio.ensure_future(self._claim(found))
            claiming.add_done_callback(lambda _: self._claiming.pop(found.id))
        await asyncio.shield(claiming)

    async def _claim(self, found: Found) -> None:
        session = await self._session.ready()
        if self.saver.has(found.id):
            return
        claimed = await self._database.ask(ownership.claim, found, session)
        if claimed is None:
            return
        id = found.id
        # In a separate statement, which sees everything that was committed before the claim.
        async with self._database.connection(_LOAD_S) as connection:
            saved = await commits.load(connection, claimed.wid)
        if id == DEFAULT_WORLD:
            # The owner of `default` manages the tokens of teams, and needs the latest.
            with suppress(SessionLost):
                await self._session.sign()
        if claimed.session != self._session.number or self.saver.has(id):
            return
        self.saver.claims[id] = claimed
        try:
            spec = library.spec_of(saved, id=id)
            world = await self.worlds.restore_aside(spec, saved)
        except (NotRestored, FixtureError) as error:
            raise StoreError(f"the world {id!r} cannot be read: {error}") from error
        finally:
            self.saver.claims.pop(id, None)
        self.worlds.measured.taken_over.inc()
        self.worlds.wake_one(world)
        log.info("the world %r is here now", id)

    async def reserve_key(self, world: str, sent: str, key: ParsedKey) -> ReservedKey | None:
        """Reserve the key for this world for some seconds; None if another world has it."""
        fingerprint = sha256(self.worlds.secret + sent.encode()).hexdigest()
        at = await self._database.ask(ownership.reserve_key, fingerprint, world)
        if at is None:
            return None
        reserved = ReservedKey(fingerprint, at)
        # Afterwards, since the world for which it was reserved until now may have it.
        known = await self._database.ask(ownership.find_key, key)
        if known is None or known.id == world:
            return reserved
        await self.free_keys([reserved])
        return None

    async def free_keys(self, reserved: Sequence[ReservedKey]) -> None:
        """Free keys that were reserved for a request; if this fails, they are freed by time."""
        with suppress(Unavailable):
            for fingerprint, at in reserved:
                await self._database.ask(ownership.free_key, fingerprint, at)

    @asynccontextmanager
    async def reserve(self, id: str, team: str) -> AsyncIterator[str]:
        """Reserve the id of a world that is created inside the block.

        Raises WorldTaken, TooManyWorlds, or StoreError.
        """
        session = await self._session.ready()
        async with self._database.connection() as connection:
            id, claimed = await ownership.reserve(connection, id, team, session, self.worlds.limits)
        self.saver.claims[id] = claimed
        try:
            yield id
        finally:
            self.saver.claims.pop(id, None)
            if not self.saver.has(id):
                # If this fails, the id is freed when the session ends.
                with suppress(Unavailable):
                    await self._database.ask(ownership.take_back, claimed.wid)

    # --- losing

    def _lose(self, world: World) -> None:
        """Forget a world that is no longer owned."""
        self.worlds.measured.lost.inc()
        self.saver.drop([world.id])
        self.worlds.evict(world)

    def _lose_all(self) -> None:
        """Forget all worlds: the session has ended, so others may own them."""
        for world in self.worlds:
            self._lose(world)
        self.saver.drop_all()

    # --- forwarding

    async def carry(
        self, peer: Peer, url: str, scope: Any, receive: Any, send: Any, body: bytes
    ) -> bool:
        """Forward the request to that server; return False if it no longer has the world."""
        try:
            if await self._forwarding.forward(peer, url, scope, receive, send, body):
                self.worlds.measured.carried.inc()
                return True
        except REFUSED:
            # Its session has ended already, or is ended here if it is silent.
            await self._database.ask(ownership.end_silent, self._session.number, [peer.session])
            since_s = scope.setdefault(_REFUSED, time.monotonic())
            if time.monotonic() - since_s > _FOUND_S:
                raise Unavailable(
                    f"the server {peer.name!r} has the world, and cannot be reached at {url}"
                ) from None
        except Unavailable:
            self._forget_routes(peer.session)
            raise
        self._forget_routes(peer.session)
        # The world may be moving from one server to another.
        await asyncio.sleep(_SOON_S)
        return False

    def _forget_routes(self, session: int) -> None:
        """Forget which keys lead to worlds of this session."""
        self._routes = {key: peer for key, peer in self._routes.items() if peer.session != session}

    # --- all servers

    @property
    def name(self) -> str:
        """The name of this server."""
        return self._session.address.name

    @property
    def is_current(self) -> bool:
        """Whether this server has a live session, and is not stopping."""
        is_alive = self._session.number and self._session.silent_s < SILENT_S
        return bool(is_alive) and not self._is_leaving

    async def ask_all(
        self, path: str, query: bytes, headers: Sequence[tuple[bytes, bytes]]
    ) -> list[bytes]:
        """Send a GET to all other servers, and return the bodies of the answers."""
        target = path + ("?" + query.decode("latin-1") if query else "")
        others = await self._others()
        asked = [self._forwarding.ask(one.control_url, target, headers) for one in others]
        return [body for body in await asyncio.gather(*asked) if body is not None]

    async def list_others(self, known: Iterable[str]) -> list[KeptWorld]:
        """Return all worlds except the known ones, ordered by id."""
        return await self._database.ask(ownership.list_others, list(known))

    async def _others(self) -> list[ServerRow]:
        """Return the other live servers that are not stopping."""
        rows, own = await self._database.ask(ownership.servers), self._session.number
        return [row for row in rows if row.state == "live" and row.session != own]

    async def servers(self) -> list[ServerRow]:
        """Return all live servers, ordered by name."""
        return await self._database.ask(ownership.servers)

    def _take_tokens(self, tokens: str) -> None:
        if tokens != self._tokens and self.saver.new_tokens is None:
            self._tokens = tokens
            self.on_tokens(tokens)

    # --- sweeping

    async def _repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do this each second, until canceled."""
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                await work()
            except (StoreError, SessionLost) as error:
                log.warning("cannot see other servers and their worlds: %s", describe(error))

    async def _watch_others(self) -> None:
        """End silent sessions, and cancel requests at servers whose session ended."""
        used = self._forwarding.sessions
        living = await self._database.ask(ownership.end_silent, self._session.number, used)
        known = {*used, *(peer.session for peer in self._routes.values())}
        for session in known - living:
            self._forwarding.end(session)
            self._forget_routes(session)

    async def _sweep(self) -> None:
        """Claim due worlds without an owner, delete leftovers, and spread worlds."""
        if self._is_leaving or not self._session.number:
            return
        unused_s = self.worlds.limits.unused_after_s
        number, ask = self._session.number, self._database.ask
        await ask(ownership.sweep, number, self.saver.unwritten, unused_s)
        passed_over = [*self._unreadable, *(world.id for world in self.worlds)]
        due = await ask(ownership.due, number, passed_over, DUE_MAX)
        for id in due:
            try:
                await self.have_world(id)
            except StoreError as error:
                log.error("%s", error)
                if not isinstance(error, Unavailable):
                    self._unreadable.add(id)
        if time.monotonic() - self._spread_s > SPREAD_S:
            self._spread_s = time.monotonic()
            await self._spread()

    async def _spread(self) -> None:
        """Give some idle worlds to the server with the fewest, if this one has many more."""
        servers = await self._database.ask(ownership.servers)
        counts = {row.session: row.worlds for row in servers if row.state == "live"}
        mine = counts.get(self._session.number, 0)
        mean = sum(counts.values()) / max(1, len(counts))
        if mine - mean < 2 or mine < mean * 1.5:
            return
        idle = [world for world in self.worlds if is_idle(self.worlds, world)]
        idle.sort(key=lambda world: world.touched_s)
        chosen = idle[: min(SPREAD_MAX, int(mine - mean))]
        await self._give_away(chosen, to=min(counts, key=counts.__getitem__))

    async def _give_away(self, worlds: Sequence[World], *, to: int | None) -> None:
        """Write the rest of these worlds, answer waiting requests, and give the worlds away."""
        ids, session = [world.id for world in worlds], self._session.number
        for world in worlds:
            self.worlds.hide(world)
        try:
            await self.saver.flush(worlds)
            await self._session.run(ANSWER_S, ownership.give, ids, session, to)
        finally:
            self.saver.drop(ids)
            for world in worlds:
                self.worlds.evict(world)

    # --- beginning and ending

    async def begin(self) -> None:
        """Begin a session, and make sure that a server has `default`. Raises StoreError."""
        try:
            await self._database.open()
            await self._session.connect()
        except FAILURES as error:
            raise self._database.unreachable(error) from error
        run, watch, sweep = self._supervisor.run, self._watch_others, self._sweep
        run("keeping the session", self._session.keep)
        run("writing to PostgreSQL", self.saver.keep_writing)
        run("watching the other servers", partial(self._repeat, watch))
        run("looking for worlds with something due", partial(self._repeat, sweep))
        try:
            await self.have_world(DEFAULT_WORLD)
        except StoreError as error:
            # It is of a later version, or cannot be read. Requests for other worlds are answered.
            log.error("%s", error)
        if await self._database.ask(ownership.find, DEFAULT_WORLD) is not None:
            self._begin_default(self.worlds, False)
            return
        # Another server that starts at the same time may create it.
        with suppress(WorldTaken, WorldLost, Unavailable):
            async with self.reserve(DEFAULT_WORLD, ""):
                self._begin_default(self.worlds, True)
                await self.saver.saved(self.worlds.get(DEFAULT_WORLD))

    async def leave(self) -> None:
        """Give all worlds away, to be claimed by the other servers or the next one."""
        self._is_leaving = True
        try:
            await self._database.ask(ownership.leave, self._session.number)
            async with asyncio.timeout(_LEAVE_S):
                await self._give_away(self.saver.worlds, to=None)
        except (*FAILURES, SessionLost, StoreError) as error:
            log.error("not all worlds were given away: %s", describe(error))

    async def close(self) -> None:
        """Stop all tasks, and close all connections."""
        await self._supervisor.close()
        await self.saver.close()
        await self._forwarding.close()
        await self._session.close()
        await self._database.close()


def is_idle(worlds: Worlds, world: World) -> bool:
    """Whether the world can move without users noticing."""
    return (
        world.id != DEFAULT_WORLD
        and time.monotonic() - world.touched_s > SPREAD_S
        and world.outbox.is_idle
        and not worlds.lock_of(world.id).locked()
        and not world.has_waiting_clients
    )
