"""Putting together a server that shares its worlds with others over PostgreSQL."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

from msgspec import Struct
from pydantic_core import to_json

from sandbox import __version__, library
from sandbox.servers.carrying import Carrier
from sandbox.servers.fleet import Fleet
from sandbox.servers.membership import Membership, SharedClock
from sandbox.servers.saving import SharedSaver
from sandbox.settings import Settings, SettingsError
from sandbox.store.files.port import SECRET_BYTES
from sandbox.store.fixture import Fixture
from sandbox.store.postgres.database import Database
from sandbox.store.postgres.schema import prepare, share
from sandbox.worlds.elsewhere import WorldLost
from sandbox.worlds.limits import WorldTaken
from sandbox.worlds.registry import Worlds
from sandbox.worlds.world import DEFAULT_WORLD

log = logging.getLogger("sandbox.servers")


class Agreed(Struct, frozen=True, gc=False):
    """What all servers have in common: the secret of keys, and the tokens of teams as JSON."""

    secret: bytes
    tokens: str


def agree(settings: Settings, fixture: Fixture) -> Agreed:
    """Prepare the database, and learn what its servers have in common. Raises StoreError.

    It is asked before anything is served, so what is wrong is said in one sentence.
    """
    assert settings.database is not None
    if settings.watch:
        raise SettingsError(
            "--watch: the world 'default' may be on another server; have a scenario run with "
            "`sandbox scenario run`"
        )
    if settings.is_tls:
        raise SettingsError(
            "--tls: servers that share worlds speak plain HTTP with each other; let the load "
            "balancer in front of them speak HTTPS"
        )
    if settings.token is None and not settings.is_private:
        raise SettingsError(
            "--store: servers that share worlds need the same token; give it to each of them with "
            "SANDBOX_TOKEN or --token-file"
        )
    # A loop may be running already where a sandbox is built inside another program.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(
            asyncio.run, _agree(settings.database, _common(settings, fixture))
        ).result()


async def _agree(url: str, common: dict[str, str]) -> Agreed:
    database = Database(url)
    await database.open()
    try:
        async with database.connection() as connection:
            await prepare(connection, database.name)
            own = secrets.token_hex(SECRET_BYTES)
            secret = await share(connection, database.name, common, own)
            tokens = await connection.fetchval(
                "SELECT value FROM uat_sandbox.meta WHERE name = 'tokens'"
            )
    finally:
        await database.close()
    return Agreed(bytes.fromhex(secret), tokens or "")


def _common(settings: Settings, fixture: Fixture) -> dict[str, str]:
    """What a server must have as the others have it, by option."""
    profile = repr(settings.profile).encode()
    document = b"" if fixture.document is None else to_json(fixture.document)
    return {
        "--fixture": f"{fixture.name} {sha256(document).hexdigest()[:12]}"
        if document
        else fixture.name,
        "--seed": str(settings.seed),
        "--profile": sha256(profile).hexdigest()[:12],
        "--known-keys": "yes" if settings.has_known_keys else "no",
    }


class Sharing:
    """A server among others, and what it needs of the rest of the application."""

    def __init__(
        self,
        settings: Settings,
        *,
        begin_default: Callable[[Worlds], None],
        abort: Callable[[Any, Any], Awaitable[None]],
    ) -> None:
        assert settings.database is not None
        self.clock = SharedClock()
        usual = Settings()
        given = {
            "--webhook": settings.webhooks != usual.webhooks,
            "--scenario": settings.scenario != usual.scenario,
            "--clock": settings.clock != usual.clock,
            "--invent": settings.generated_data != usual.generated_data,
        }
        self._unheard = [option for option, is_given in given.items() if is_given]
        self._begin_default = begin_default
        self.on_tokens: Callable[[str], None] = lambda tokens: None
        self._tokens = ""
        self._database = Database(settings.database)
        self._carrier = Carrier(abort)
        url = settings.advertised_url
        self._membership = Membership(
            self._database,
            name=settings.server_name or url.partition("://")[2],
            url=url,
            control_url=settings.advertised_control_url,
            version=__version__,
            clock=self.clock,
            on_dead=lambda: self.fleet.lose_all(),
            on_beat=self._beaten,
        )
        self.saver = SharedSaver(
            self._database, self._membership, on_lost=lambda world: self.fleet.lose(world)
        )

    def connect(self, worlds: Worlds) -> Fleet:
        """The fleet that moves these worlds."""
        self.fleet = Fleet(
            database=self._database,
            membership=self._membership,
            saver=self.saver,
            carrier=self._carrier,
            worlds=worlds,
            fixture_of=library.fixture_of,
            beginning=self._have_default,
        )
        return self.fleet

    async def _have_default(self, worlds: Worlds) -> None:
        """Have the world `default` be on one of the servers."""
        await self.fleet.have_world(DEFAULT_WORLD)
        if await self.fleet.exists(DEFAULT_WORLD):
            if self._unheard:
                log.warning(
                    "%s did not apply: the database holds the world 'default' already",
                    ", ".join(self._unheard),
                )
            return
        try:
            async with self.fleet.reserved(DEFAULT_WORLD, ""):
                self._begin_default(worlds)
                await self.saver.saved(worlds.get(DEFAULT_WORLD))
        except (WorldTaken, WorldLost):
            # Another server that starts now makes it.
            return

    async def _beaten(self, tokens: str) -> None:
        """The others were heard: of them, and of the tokens that one of them may have changed."""
        self.fleet.cut_the_dead()
        if tokens != self._tokens and not self.saver.has_new_tokens:
            self._tokens = tokens
            self.on_tokens(tokens)
