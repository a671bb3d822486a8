"""Startup of a server: the worlds of an earlier run, and the world `default` by the settings."""

import asyncio
import logging
import secrets
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace
from pydantic_core import to_json

from sandbox import __version__, library
from sandbox.control.identity import Tokens
from sandbox.domain.field_types import HttpUrl
from sandbox.domain.instants import from_ms
from sandbox.domain.secrets import find_secret
from sandbox.scenarios.parser import ScenarioError, read_scenario
from sandbox.scenarios.scenario import Scenario
from sandbox.settings import Settings, SettingsError, is_database
from sandbox.store.documents import from_document
from sandbox.store.files.port import SECRET_BYTES, StateFile, StoreError
from sandbox.store.fixture import Fixture, FixtureError
from sandbox.store.world_documents import NotRestored, SavedWorld
from sandbox.tokens import parse_tokens
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.outbox import TooManyEndpoints, declare
from sandbox.worlds.background import Background
from sandbox.worlds.clock import SystemClock
from sandbox.worlds.lifecycle import run_scenario
from sandbox.worlds.registry import Ticks, Worlds
from sandbox.worlds.saver import FileSaver
from sandbox.worlds.snapshot import refuse_secrets_of_fixture
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import DEFAULT_WORLD, World

if TYPE_CHECKING:
    # It needs asyncpg, which is an optional extra.
    from sandbox.cluster.server import ClusterServer


LOOKS_EVERY_S: Final = 0.25

reload_log = logging.getLogger("sandbox.scenario_reload")
log = logging.getLogger("sandbox.store")


class ScenarioReloader:
    """Watches a scenario file from the moment when this object is created.

    A file that was replaced, removed or restored counts as changed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._look()

    def _look(self) -> tuple[int, int, int] | None:
        """Return a value that changes with the file; None if there is no file."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    async def watch(self, worlds: Worlds) -> None:
        """Run each new version of the file in the world `default`, until canceled.

        An unusable version is logged and changes nothing. A new version replaces any scenario that
        was set in the meantime (assumed D24).
        """
        seen = self._seen
        while True:
            await asyncio.sleep(LOOKS_EVERY_S)
            before, seen = seen, self._look()
            # A file that is still being written is not read in part.
            if seen == self._seen or seen != before:
                continue
            self._seen = seen
            try:
                await self._read_again(worlds)
            except Exception:
                reload_log.exception("reading %s again failed: a defect of the sandbox", self._path)

    async def _read_again(self, worlds: Worlds) -> None:
        try:
            # In a thread, so that requests are answered meanwhile.
            scenario = await asyncio.to_thread(read_scenario, self._path)
            # A saved world or a mark may have taken its place since the start.
            _run(scenario, str(self._path), worlds.default)
            reload_log.info("reloaded scenario %r from %s", scenario.name, self._path)
        except ScenarioError as error:
            world = worlds.default
            running = world.scenario and f"scenario {world.scenario.scenario.name!r} keeps running"
            # The message quotes names from the file.
            message = world.profile.scrub(str(error))
            reload_log.warning("%s; %s", message, running or "no scenario runs")


# --- stores -------------------------------------------------------------------------------------


def open_store(store: str) -> StateFile:
    """Open a state file, or the worlds in a database that no server uses. Raises StoreError."""
    if not is_database(store):
        # Imported late, because it needs TinyDB, SQLite and file locks.
        from sandbox.store.files.file_kinds import open_file  # noqa: PLC0415

        return open_file(Path(store))
    must_have_driver()
    from sandbox.cluster.archive import Archive  # noqa: PLC0415 - needs an optional package

    return Archive(store)


def name_store(store: str) -> str:
    """Return the name of a store for messages, without a password."""
    if not is_database(store):
        return store
    from sandbox.cluster.database import name_of  # noqa: PLC0415 - needs an optional package

    return name_of(store)


def have_secret(worlds: Worlds, file: StateFile | None) -> None:
    """Set the secret for the keys of new worlds, unless these are the documented keys.

    A state file stores it; without a file, each start generates a new one.
    """
    if worlds.known_keys:
        return
    if not worlds.secret:
        worlds.secret = secrets.token_bytes(SECRET_BYTES)
        if file is not None:
            file.keep(secret=worlds.secret.hex())
    known = ", ".join(sorted(world.id for world in worlds if world.spec.are_keys_known))
    if known:
        log.warning(
            "the API keys of these worlds are publicly known, because they began on loopback or "
            "with --known-keys: %s; for other keys, name another file with --store",
            known,
        )


def restore_all(worlds: Worlds, file: StateFile, path: Path) -> None:
    """Restore the worlds in the file. Raises StoreError; then nothing was written."""
    loaded = file.load()
    worlds.secret = file.secret
    for id, tables in loaded.items():
        saved = SavedWorld(tables, is_from_file=True, is_trusted=not file.is_for_people)
        try:
            worlds.restore(library.spec_of(saved, id=id), saved)
        except (NotRestored, FixtureError) as error:
            from sandbox.store.files.disk import unusable  # noqa: PLC0415 - needs file locks

            raise unusable(path, f"world {id!r}: {error}") from None
    file.keep_good_copy()


def must_have_driver() -> None:
    """Raise StoreError unless the driver for PostgreSQL is installed."""
    if find_spec("asyncpg") is None:
        raise StoreError(
            "--store: PostgreSQL needs the package asyncpg; install it beside the sandbox with "
            "`pip install asyncpg`"
        )


# --- beginning ----------------------------------------------------------------------------------


def fixture_of(settings: Settings) -> Fixture:
    """Return the fixture of the world `default`. Raises FixtureError."""
    fixture = library.fixture_or_file(settings.fixture)
    if fixture.document is not None:
        try:
            refuse_secrets_of_fixture(fixture.document, settings.profile.key_format)
        except NotRestored as error:
            raise FixtureError(f"{settings.fixture}: {error}") from None
    return fixture


class Kept(Struct, frozen=True):
    """The worlds, and the stored tokens of teams.

    `cluster` connects the server with the others, if they share worlds.
    """

    worlds: Worlds
    teams: str
    cluster: "ClusterServer | None" = None

    def tokens_with(self, operators: str | None) -> Tokens:
        """Return all tokens of the control API. Raises StoreError."""
        saver = self.worlds.saver
        try:
            known = parse_tokens(self.teams)
        except ValueError as error:
            assert saver is not None
            raise StoreError(f"{saver.name} cannot be read: tokens: {error}") from None
        tokens = Tokens(
            None if operators is None else operators.encode(),
            known,
            keep=(lambda _: None) if saver is None else saver.keep_tokens,
            now=lambda: from_ms(int(self.worlds.system_clock() * 1000)),
        )
        if self.cluster is not None:
            self.cluster.on_tokens = tokens.renew
        return tokens


def keep_worlds(
    settings: Settings,
    fixture: Fixture,
    background: Background,
    system_clock: SystemClock,
    ticks: Ticks,
) -> Kept:
    """Return the worlds, with `default`, in the store of the settings. Raises like `build`."""
    spec = WorldSpec(
        id=DEFAULT_WORLD,
        fixture=fixture,
        seed=settings.seed,
        clock=settings.clock,
        generated_data=settings.generated_data,
    )
    make = partial(
        Worlds,
        ticks=ticks,
        background=background,
        known_keys=settings.has_known_keys,
    )
    if settings.database is not None:
        return _share_worlds(settings, settings.database, spec, make)
    if settings.store is None:
        worlds = make(system_clock=system_clock)
        have_secret(worlds, None)
        begin(worlds, settings, spec)
        return Kept(worlds, "")
    saver = FileSaver(open_store(str(settings.store)))
    worlds = make(system_clock=system_clock, saver=saver)
    try:
        restore_all(worlds, saver.file, settings.store)
        have_secret(worlds, saver.file)
        begin(worlds, settings, spec)
        saver.save()
        return Kept(worlds, saver.file.tokens)
    except BaseException:
        saver.file.close()
        raise


def _share_worlds(
    settings: Settings,
    database: str,
    spec: WorldSpec,
    make: Callable[..., Worlds],
) -> Kept:
    """Return the worlds of a server that shares them with others through PostgreSQL."""
    must_have_driver()
    # They need an optional package.
    from sandbox.cluster.server import ClusterServer  # noqa: PLC0415
    from sandbox.cluster.session import Address  # noqa: PLC0415
    from sandbox.cluster.setup import agree  # noqa: PLC0415

    _check_shared(settings)
    url = settings.advertised_url
    secret, tokens = agree(database, _in_common(settings, spec.fixture), url)
    server = ClusterServer(
        database,
        Address(
            name=settings.server_name or url.partition("://")[2],
            url=url,
            control_url=settings.advertised_control_url,
            version=__version__,
        ),
        begin_default=partial(_begin_shared, settings=settings, spec=spec),
    )
    worlds = make(saver=server.saver, system_clock=server.clock)
    worlds.secret = secret
    try:
        worlds.likeness = worlds.make(replace(spec, are_keys_known=worlds.known_keys))
    except NotRestored as error:
        raise FixtureError(f"{settings.fixture}: {error}") from None
    server.worlds = worlds
    worlds.measured.share(lambda: server.is_current)
    return Kept(worlds, tokens, server)


def _check_shared(settings: Settings) -> None:
    """Raise SettingsError for settings that servers with shared worlds cannot have."""
    if settings.watch:
        raise SettingsError(
            "--watch: the world 'default' may be on another server; start a scenario with "
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


def _in_common(settings: Settings, fixture: Fixture) -> dict[str, str]:
    """Return the values that must be the same on all servers, by option."""
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


def _begin_shared(worlds: Worlds, is_new: bool, *, settings: Settings, spec: WorldSpec) -> None:
    """Begin the world `default`, unless the database has it."""
    if is_new:
        begin(worlds, settings, spec)
        return
    usual = Settings()
    given = {
        "--webhook": settings.webhooks != usual.webhooks,
        "--scenario": settings.scenario != usual.scenario,
        "--clock": settings.clock != usual.clock,
        "--invent": settings.generated_data != usual.generated_data,
    }
    if ignored := ", ".join(option for option, is_given in given.items() if is_given):
        log.warning("%s did not apply: the database already has the world 'default'", ignored)


def begin(worlds: Worlds, settings: Settings, spec: WorldSpec) -> None:
    """Begin the world `default` by the settings, unless an earlier run left one."""
    saved = worlds.get(DEFAULT_WORLD)
    if saved is not None and (ignored := _ignored_options(settings, saved.spec)):
        log.warning(
            "%s did not apply: the state file already has the world 'default'; reset it, or "
            "name another file",
            ", ".join(ignored),
        )
    try:
        default = saved or worlds.create(spec)
    except NotRestored as error:
        raise FixtureError(f"{settings.fixture}: {error}") from None
    _register(settings.webhooks, default)
    if settings.scenario is not None:
        scenario = read_scenario(library.scenario_file(settings.scenario))
        _run(scenario, settings.scenario, default)


def guard_webhooks(settings: Settings) -> Guard:
    """Return the guard that keeps webhooks from internal addresses.

    Raises SettingsError, also for a URL to which no webhook may go, and for unusable certificates.
    """
    try:
        guard = Guard(is_open=settings.is_private, allowed=settings.webhooks_to)
    except ValueError as error:
        raise SettingsError(f"--webhooks-to: {error}") from error
    if (ca := settings.webhooks_ca) is not None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(ca)
        except OSError as error:
            why = error.strerror or error
            raise SettingsError(
                f"--webhooks-ca {ca}: {why}; name a file with certificates in PEM"
            ) from None
    for url in settings.webhooks:
        try:
            from_document(HttpUrl, url)
        except ValueError as error:
            raise SettingsError(f"--webhook: {url[:200]!r}: {error}") from None
        if secret := find_secret(unquote(url), settings.profile.key_format):
            raise SettingsError(f"--webhook: {secret.sentence}")
        if problem := guard.why_not_to(urlsplit(url).hostname or ""):
            raise SettingsError(f"--webhook: {problem}")
    return guard


def _register(urls: Sequence[str], world: World) -> None:
    """Register endpoints for these URLs, unless there are some. Raises SettingsError."""
    taken = {one.url for one in world.outbox.endpoints.values()}
    new = [url for url in dict.fromkeys(urls) if url not in taken]
    ids = (f"start-{number}" for number in count(1))
    free = (id for id in ids if id not in world.outbox.endpoints)
    common = {"description": "given at the start", "created_at": world.now()}
    endpoints = {next(free): {"url": url, **common} for url in new}
    try:
        declare(world, endpoints)
    except TooManyEndpoints as error:
        raise SettingsError(f"--webhook: {error}") from None


def _ignored_options(settings: Settings, began: WorldSpec) -> list[str]:
    """List the given options that only apply to new worlds, and differ from how this one began."""
    usual = Settings()
    values = {
        "--fixture": (Path(settings.fixture).stem, began.fixture.name, usual.fixture),
        "--seed": (settings.seed, began.seed, usual.seed),
        "--clock": (settings.clock, began.clock, usual.clock),
        "--invent": (settings.generated_data, began.generated_data, usual.generated_data),
    }
    return [option for option, (given, *others) in values.items() if given not in others]


def _run(scenario: Scenario, named: str, world: World) -> None:
    """Run the scenario in the world. Raises ScenarioError with the name that the user gave."""
    try:
        run_scenario(world, scenario)
    except ScenarioError as error:
        raise ScenarioError(f"{named}: {error}", error.nearest) from None
