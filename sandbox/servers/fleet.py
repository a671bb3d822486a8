"""The servers that share worlds: finding, taking over, carrying and handing over."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from typing import Any, Final

import asyncpg

from sandbox.domain.keys import KeyKind, ParsedKey
from sandbox.servers import claiming, finding
from sandbox.servers.carrying import Carrier, Refused
from sandbox.servers.claiming import Claim
from sandbox.servers.finding import Whereabouts
from sandbox.servers.held import Held
from sandbox.servers.lasting import lasting
from sandbox.servers.membership import Membership
from sandbox.servers.saving import SharedSaver
from sandbox.store.files.port import StoreError, Unavailable
from sandbox.store.fixture import FixtureError
from sandbox.store.postgres.database import AWAY, Database
from sandbox.store.postgres.loading import load
from sandbox.store.postgres.rows import Places
from sandbox.store.saved_world import NotRestored
from sandbox.worlds.elsewhere import KeptWorld, ServerRow
from sandbox.worlds.registry import Worlds
from sandbox.worlds.restore import FixtureOf, spec_of
from sandbox.worlds.spec import DEFAULT_WORLD
from sandbox.worlds.world import World

ROUTES_MAX: Final = 10_000
"""Keys of which the world's server is remembered; then all are forgotten, and looked up anew."""

SWEEP_S: Final = 1.0
SWEPT_AT_ONCE: Final = 20
SWEPT_ROWS: Final = 2_000
HAND_OVER_S: Final = 10.0
"""So long a server that ends hands its worlds over. The rest are taken over from it afterwards."""
_HANDED_AT_ONCE: Final = 4
_LAST_ROUNDS: Final = 4
_LAST_ROUND_S: Final = 0.05
"""So long a server that has handed its worlds over stays to say so: to requests that others sent on
before they knew, and that would else find a connection that is being closed. In several rounds,
since a busy machine may have kept it from reading for all of one."""
_TRIES: Final = 20
_TRY_AGAIN_S: Final = 0.1
_SOON_S: Final = 0.02

log = logging.getLogger("sandbox.servers")


class Fleet:
    """One server among those that share worlds. Fulfils `worlds.elsewhere.Elsewhere`."""

    def __init__(
        self,
        *,
        database: Database,
        membership: Membership,
        saver: SharedSaver,
        carrier: Carrier,
        worlds: Worlds,
        fixture_of: FixtureOf,
        beginning: Callable[[Worlds], Awaitable[None]],
    ) -> None:
        self._database = database
        self.membership = membership
        self._saver = saver
        self._carrier = carrier
        self._worlds = worlds
        self._fixture_of = fixture_of
        self._beginning = beginning
        self._routes: dict[bytes, str] = {}
        # The names of servers by their URLs, for balancers.
        self._names: dict[str, str] = {}
        self._claiming: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # --- where a world is

    async def exists(self, id: str) -> bool:
        """Whether there is such a world, on whatever server. Raises Unavailable."""
        return await self._fetch(finding.of_id, id) is not None

    async def have_world(self, id: str, *, for_control: bool = True) -> str | None:
        """Have the world be here; else the URL of the server that has it; None without one."""
        for _ in range(_TRIES):
            if self._worlds.get(id) is not None:
                return None
            found: Whereabouts | None = await self._fetch(finding.of_id, id)
            if found is None:
                return None
            url = await self._reach(found, for_control=for_control)
            if url is not None:
                return url
        raise Unavailable(f"no server has the world {id!r}, and this one cannot take it over")

    async def have_key(self, sent: bytes, key: ParsedKey, *, afresh: bool = False) -> str | None:
        """Have the world of this key be here; else the URL of the server that has it."""
        if not afresh and (url := self._routes.get(sent)) is not None:
            return url
        known = None
        if key.kind in (KeyKind.V5, KeyKind.LEGACY):
            known = await self._fetch(finding.of_key, key)
        id = DEFAULT_WORLD if known is None else known.id
        url = await self.have_world(id, for_control=False)
        if url is not None and known is not None:
            if len(self._routes) >= ROUTES_MAX:
                self._routes.clear()
            self._routes[sent] = url
        return url

    async def _reach(self, found: Whereabouts, *, for_control: bool) -> str | None:
        """The URL of the server that has the world; None once it is here, or if nobody knows."""
        me = self.membership
        if found.is_owned and not found.is_silent and found.owner != me.id:
            self._names[found.url] = self._names[found.control_url] = found.name
            return found.control_url if for_control else found.url
        if found.is_too_new:
            raise Unavailable(
                f"the world {found.id!r} was written by a later version; it waits for a server of "
                "that version"
            )
        if me.is_leaving and me.others:
            return me.others[0].control_url if for_control else me.others[0].url
        await self.claim(found)
        if self._worlds.get(found.id) is None:
            await asyncio.sleep(_TRY_AGAIN_S)
        return None

    # --- taking over

    async def claim(self, found: Whereabouts) -> None:
        """Take over the world, unless another server is quicker. Raises StoreError."""
        if self._worlds.get(found.id) is not None:
            # It came here after this was found. To take it over twice would fence off ourselves.
            return
        task = self._claiming.get(found.id)
        if task is None:
            task = asyncio.ensure_future(self._claim(found))
            self._claiming[found.id] = task
            task.add_done_callback(lambda _: self._claiming.pop(found.id, None))
        await asyncio.shield(task)

    async def _claim(self, found: Whereabouts) -> None:
        me = self.membership
        # Who is silent may only wait for PostgreSQL to come back.
        is_anothers = found.is_owned and found.owner != me.id
        if me.is_leaving or not me.is_current or (is_anothers and not me.may_take_over):
            return
        try:
            async with self._database.connection() as connection:
                claimed = await claiming.claim(
                    connection, found.id, me=me.id, epoch=found.epoch, owner=found.owner
                )
                if claimed is None:
                    return
                loaded = await load(connection, claimed.wid)
            if found.id == DEFAULT_WORLD:
                # Who has `default` keeps the tokens of teams, and has to know the latest.
                await me.refresh()
        except (*AWAY, asyncpg.PostgresError) as error:
            raise self._database.unreachable(error) from error
        self._saver.expect(found.id, claimed.epoch, claimed.wid, claimed.n, loaded.places)
        try:
            spec = spec_of(loaded.saved, self._fixture_of, id=found.id)
            world = await self._worlds.restore_aside(spec, loaded.saved)
        except (NotRestored, FixtureError) as error:
            self._saver.unexpect(found.id)
            raise StoreError(f"the world {found.id!r} cannot be read: {error}") from error
        self._worlds.measured.taken_over.inc()
        self._worlds.wake_one(world)
        log.info("the world %r is here now (epoch %d)", found.id, claimed.epoch)

    async def may_have_key(self, world: str, sent: str, key: ParsedKey) -> bool:
        """Whether the key is free for this world; if so, no other world gets it now."""
        known: Whereabouts | None = await self._fetch(finding.of_key, key)
        if known is not None and known.id != world:
            return False
        fingerprint = sha256(self._worlds.secret + sent.encode()).hexdigest()
        return bool(await self._fetch(claiming.reserve_key, fingerprint, world))

    @asynccontextmanager
    async def reserved(self, id: str, team: str) -> AsyncIterator[str]:
        """The id of a world that is made inside the block; nobody else makes one with it.

        Raises WorldTaken, TooManyWorlds, or StoreError.
        """
        try:
            async with self._database.connection() as connection:
                id, claimed = await claiming.reserve(
                    connection, id, team, me=self.membership.id, limits=self._worlds.limits
                )
        except (*AWAY, asyncpg.PostgresError) as error:
            raise self._database.unreachable(error) from error
        self._saver.expect(id, *_of_new(claimed))
        try:
            yield id
        finally:
            if self._worlds.get(id) is None:
                self._saver.unexpect(id)
                # If it cannot be freed now, it is once this server has ended.
                with suppress(Unavailable):
                    await self._fetch(claiming.take_back, id)

    # --- losing

    def lose(self, world: World) -> None:
        """Forget a world that another server has now."""
        self._worlds.measured.lost.inc()
        self._saver.let_go(world.id)
        self._worlds.hide(world)
        self._worlds.evict(world)

    def lose_all(self) -> None:
        """Forget all worlds: the others have declared this server dead."""
        for held in self._saver.held:
            self.lose(held.world)

    def _run(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- carrying

    async def carry(self, url: str, scope: Any, receive: Any, send: Any, body: bytes) -> bool:
        """Have that server answer the request; False if it does not have the world any more."""
        peer = next(
            (one for one in self.membership.peers.values() if url in (one.url, one.control_url)),
            None,
        )
        name = self._names.get(url, "")
        for _ in range(2):
            try:
                if await self._carrier.carry(url, name, scope, receive, send, body):
                    self._worlds.measured.carried.inc()
                    return True
                self._forget_routes(url)
                # It may be on its way from one server to another.
                await asyncio.sleep(_SOON_S)
                return False
            except Refused:
                await asyncio.sleep(_TRY_AGAIN_S)
        if peer is not None and peer.id != self.membership.id:
            log.warning("nobody answers at %s; its worlds are taken over", url)
            try:
                await self.membership.declare_dead(peer.id)
            except (*AWAY, asyncpg.PostgresError) as error:
                raise self._database.unreachable(error) from error
        self._forget_routes(url)
        return False

    def cut_the_dead(self) -> None:
        """End what is under way at servers that live no longer."""
        alive = {
            url for one in self.membership.peers.values() for url in (one.url, one.control_url)
        }
        for url in self._carrier.urls - alive:
            self._carrier.cut(url)
            self._forget_routes(url)

    def _forget_routes(self, url: str) -> None:
        self._routes = {sent: other for sent, other in self._routes.items() if other != url}

    # --- all servers

    @property
    def name(self) -> str:
        """The name of this server."""
        return self.membership.name

    @property
    def is_current(self) -> bool:
        """Whether this server is in contact with the others."""
        return self.membership.is_current and not self.membership.is_leaving

    async def ask_all(
        self, path: str, query: bytes, headers: Sequence[tuple[bytes, bytes]]
    ) -> list[bytes]:
        """What the other servers answer to this GET."""
        target = path + ("?" + query.decode("latin-1") if query else "")
        urls = await self._fetch(finding.others, self.membership.id)
        asked = [self._carrier.ask(url, target, headers) for url in urls]
        return [body for body in await asyncio.gather(*asked) if body is not None]

    async def kept_beside(self, known: Iterable[str]) -> list[KeptWorld]:
        """All worlds but the known ones, by id."""
        kept: list[KeptWorld] = await self._fetch(finding.kept_beside, list(known))
        return kept

    async def servers(self) -> list[ServerRow]:
        """All servers that live, by name."""
        return [ServerRow(*row) for row in await self._fetch(finding.servers)]

    async def _fetch(self, question: Callable[..., Awaitable[Any]], *values: Any) -> Any:
        try:
            async with self._database.connection() as connection:
                return await question(connection, *values)
        except (*AWAY, asyncpg.PostgresError) as error:
            raise self._database.unreachable(error) from error

    # --- life

    async def begin(self) -> None:
        """Join the others, and have `default` be somewhere. Raises StoreError."""
        try:
            await self._database.open()
            await self.membership.begin()
        except (*AWAY, asyncpg.PostgresError) as error:
            raise self._database.unreachable(error) from error
        self._saver.begin()
        await self._beginning(self._worlds)
        sweeping = lasting(self._sweep_on(), "looking for worlds with something due")
        self._tasks.add(sweeping)

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                await self._sweep()
            except Exception as error:
                why = str(error) or type(error).__name__
                log.warning("worlds with something due were not looked for: %s", why)

    async def _sweep(self) -> None:
        """Take over what is due and nobody has, and delete rows that no world has."""
        me = self.membership
        if me.is_leaving or not me.may_take_over:
            return
        async with self._database.connection() as connection:
            due = await claiming.due(connection, SWEPT_AT_ONCE)
            if (unused_s := self._worlds.limits.unused_after_s) is not None:
                await claiming.drop_unused(connection, unused_s)
            await claiming.sweep_rows(connection, SWEPT_ROWS)
        for id in due:
            await self.have_world(id)

    async def leave(self) -> None:
        """Hand all worlds over to the others, or leave them to whoever comes next."""
        try:
            await self.membership.say_leaving()
            await asyncio.wait_for(self._hand_over(), HAND_OVER_S)
            if self.membership.others:
                for _ in range(_LAST_ROUNDS):
                    await asyncio.sleep(_LAST_ROUND_S)
        except (*AWAY, asyncpg.PostgresError, StoreError) as error:
            log.error("not all worlds were handed over: %s", error or type(error).__name__)

    async def _hand_over(self) -> None:
        places = asyncio.Semaphore(_HANDED_AT_ONCE)

        async def one_of(held: Held) -> None:
            async with places:
                await self._release(held)

        await asyncio.gather(*map(one_of, self._saver.held))

    async def _release(self, held: Held) -> None:
        """Write the rest of a world, answer what waits for that, and leave it to the others."""
        world = held.world
        self._worlds.hide(world)
        self._saver.note(held)
        await self._saver.saved(world)
        if self._saver.let_go(world.id) is not None:
            async with self._database.connection() as connection:
                await claiming.release(connection, world.id, held.epoch)
            self._worlds.evict(world)

    async def close(self) -> None:
        """End: nothing of this server is left."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._saver.close()
        await self._carrier.close()
        try:
            await self.membership.end()
        except (*AWAY, asyncpg.PostgresError) as error:
            log.warning("the others were not told: %s", error or type(error).__name__)
        await self._database.close()


def _of_new(claimed: Claim) -> tuple[int, int, int, Places]:
    return claimed.epoch, claimed.wid, claimed.n, Places()
