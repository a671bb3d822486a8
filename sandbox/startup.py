"""How a server begins: the worlds of an earlier run, and `default` as the settings have it."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace
from pydantic_core import to_json

from sandbox import __version__, library
from sandbox.domain.field_types import HttpUrl
from sandbox.domain.secrets import find_secret
from sandbox.persistence import have_secret, must_have_driver, restore_all, saver_of
from sandbox.platform import timers
from sandbox.scenarios.parser import ScenarioError
from sandbox.settings import Settings, SettingsError
from sandbox.store.documents import from_document
from sandbox.store.fixture import Fixture, FixtureError
from sandbox.store.saved_world import NotRestored
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.endpoints import TooManyEndpoints, declare, endpoint_of
from sandbox.worlds.background import Background, Saver
from sandbox.worlds.clock import SystemClock
from sandbox.worlds.registry import Ticks, Worlds
from sandbox.worlds.scenarios import run_scenario
from sandbox.worlds.secret_documents import refuse_secrets_of_fixture
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import DEFAULT_WORLD, World

if TYPE_CHECKING:
    # It needs asyncpg, which is an optional extra.
    from sandbox.cluster.server import ClusterServer

log = logging.getLogger("sandbox.store")


def fixture_of(settings: Settings) -> Fixture:
    """The fixture of the world `default`. Raises FixtureError."""
    fixture = library.fixture_or_file(settings.fixture)
    if fixture.document is not None:
        try:
            refuse_secrets_of_fixture(fixture.document, settings.profile.key_format)
        except NotRestored as error:
            raise FixtureError(f"{settings.fixture}: {error}") from None
    return fixture


def worlds_of(
    settings: Settings,
    system_clock: SystemClock,
    ticks: Ticks,
    background: Background,
    saver: Saver | None,
) -> Worlds:
    """No worlds yet."""
    return Worlds(
        profile=settings.profile,
        system_clock=system_clock,
        ticks=ticks,
        limits=settings.limits,
        background=background,
        on_timer=timers.carry_out,
        saver=saver,
        known_keys=settings.has_known_keys,
    )


def own_worlds(
    settings: Settings,
    system_clock: SystemClock,
    ticks: Ticks,
    background: Background,
    fixture: Fixture,
) -> tuple[Worlds, str]:
    """The worlds of an earlier run, if there is a state file, and `default`.

    Returns the tokens of teams as well, as the file has them. Raises as `build` does.
    """
    if settings.store is None:
        worlds = worlds_of(settings, system_clock, ticks, background, None)
        have_secret(worlds, None)
        begin(worlds, settings, fixture)
        return worlds, ""
    saver = saver_of(settings.store)
    worlds = worlds_of(settings, system_clock, ticks, background, saver)
    try:
        restore_all(worlds, saver.file, settings.store)
        have_secret(worlds, saver.file)
        begin(worlds, settings, fixture)
        saver.save()
        return worlds, saver.file.tokens
    except BaseException:
        saver.file.close()
        raise


def cluster(
    settings: Settings,
    ticks: Ticks,
    background: Background,
    fixture: Fixture,
    *,
    abort: Callable[[Any, Any], Awaitable[None]],
) -> tuple["ClusterServer", str]:
    """A server that shares its worlds with others over PostgreSQL.

    Returns the tokens of teams as well, as the database has them. Raises as `build` does.
    """
    must_have_driver()
    from sandbox.cluster.server import ClusterServer
    from sandbox.cluster.session import Address
    from sandbox.cluster.setup import agree

    assert settings.database is not None
    _check_shared(settings)
    secret, tokens = agree(settings.database, _in_common(settings, fixture))
    url = settings.advertised_url
    server = ClusterServer(
        settings.database,
        Address(
            name=settings.server_name or url.partition("://")[2],
            url=url,
            control_url=settings.advertised_control_url,
            version=__version__,
        ),
        fixture_of=library.fixture_of,
        begin_default=partial(_begin_shared, settings=settings, fixture=fixture),
        abort=abort,
    )
    worlds = worlds_of(settings, server.clock, ticks, background, server.saver)
    worlds.secret = secret
    try:
        spec = replace(_spec(settings, fixture), keys_are_known=worlds.known_keys)
        worlds.likeness = worlds.sketch(spec)
    except NotRestored as error:
        raise FixtureError(f"{settings.fixture}: {error}") from None
    server.worlds = worlds
    return server, tokens


def _check_shared(settings: Settings) -> None:
    """Raises SettingsError for what servers that share worlds cannot have."""
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


def _in_common(settings: Settings, fixture: Fixture) -> dict[str, str]:
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


def _begin_shared(worlds: Worlds, is_new: bool, *, settings: Settings, fixture: Fixture) -> None:
    """Make the world `default`, unless the database has it."""
    if is_new:
        begin(worlds, settings, fixture)
        return
    usual = Settings()
    given = {
        "--webhook": settings.webhooks != usual.webhooks,
        "--scenario": settings.scenario != usual.scenario,
        "--clock": settings.clock != usual.clock,
        "--invent": settings.generated_data != usual.generated_data,
    }
    if unheard := ", ".join(option for option, is_given in given.items() if is_given):
        log.warning("%s did not apply: the database holds the world 'default' already", unheard)


def _spec(settings: Settings, fixture: Fixture) -> WorldSpec:
    return WorldSpec(
        id=DEFAULT_WORLD,
        fixture=fixture,
        seed=settings.seed,
        clock=settings.clock,
        generated_data=settings.generated_data,
    )


def begin(worlds: Worlds, settings: Settings, fixture: Fixture) -> None:
    """The world `default` as the settings have it, unless an earlier run left one."""
    saved = worlds.get(DEFAULT_WORLD)
    if saved is not None and (unheard := _not_heeded(settings, saved.spec)):
        log.warning(
            "%s did not apply: the state file holds the world 'default' already; reset it, or "
            "name another file",
            ", ".join(unheard),
        )
    try:
        default = saved or worlds.create(_spec(settings, fixture))
    except NotRestored as error:
        raise FixtureError(f"{settings.fixture}: {error}") from None
    _register(settings.webhooks, default)
    if settings.scenario is not None:
        _run(settings.scenario, default)


def check_webhooks(settings: Settings, guard: Guard) -> None:
    """Raises SettingsError for a URL that no webhook may go to."""
    for url in settings.webhooks:
        try:
            from_document(HttpUrl, url)
        except ValueError as error:
            raise SettingsError(f"--webhook: {url[:200]!r}: {error}") from None
        if secret := find_secret(unquote(url), settings.profile.key_format):
            raise SettingsError(f"--webhook: {secret.sentence}")
        if problem := guard.why_not_to(urlsplit(url).hostname or ""):
            raise SettingsError(f"--webhook: {problem}")


def _register(urls: Sequence[str], world: World) -> None:
    """Have webhooks go to these URLs, unless they do already. Raises SettingsError."""
    taken = {one.url for one in world.outbox.endpoints.values()}
    new = [url for url in dict.fromkeys(urls) if url not in taken]
    ids = (f"start-{number}" for number in count(1))
    free = (id for id in ids if id not in world.outbox.endpoints)
    try:
        declare(
            world.store,
            [
                endpoint_of(
                    next(free),
                    {"url": url, "description": "given at the start"},
                    created_at=world.now(),
                    named_chars=world.draws.named_chars,
                )
                for url in new
            ],
        )
    except TooManyEndpoints as error:
        raise SettingsError(f"--webhook: {error}") from None


def _not_heeded(settings: Settings, began: WorldSpec) -> list[str]:
    """The given options that only apply to new worlds, and differ from this world's beginning."""
    usual = Settings()
    told = {
        "--fixture": (Path(settings.fixture).stem, began.fixture.name, usual.fixture),
        "--seed": (settings.seed, began.seed, usual.seed),
        "--clock": (settings.clock, began.clock, usual.clock),
        "--invent": (settings.generated_data, began.generated_data, usual.generated_data),
    }
    return [option for option, (given, *others) in told.items() if given not in others]


def _run(name_or_path: str, world: World) -> None:
    """Have the scenario run in the world. Raises ScenarioError."""
    scenario = library.scenario_or_file(name_or_path)
    try:
        run_scenario(world, scenario)
    except ScenarioError as error:
        raise ScenarioError(f"{name_or_path}: {error}", error.nearest) from None
