"""The composition root: the only place that creates live objects and connects them."""

import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from starlette.routing import Mount
from starlette.types import Scope

from sandbox import __version__, library
from sandbox.control import routes
from sandbox.control.control import Control
from sandbox.control.rows import PREFIX, Services
from sandbox.control.who import Tokens
from sandbox.descriptors import shares
from sandbox.domain.field_types import HttpUrl
from sandbox.domain.instants import from_ms
from sandbox.domain.secret_text import secret_in
from sandbox.keeping import have_secret, restore_all, saver_of, tokens_of
from sandbox.platform.application import Platform
from sandbox.platform.hosts import Hosts
from sandbox.platform.inside import Inside
from sandbox.platform.payments import expiry
from sandbox.scenarios.loading import ScenarioError
from sandbox.settings import Settings, SettingsError
from sandbox.store.documents import read_value
from sandbox.store.fixture import Fixture, FixtureError
from sandbox.store.saved_world import NotRestored
from sandbox.surfaces import Surfaces
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.declared import TooManyEndpoints, declare, endpoint_of
from sandbox.webhooks.sender import Sender, Sending
from sandbox.worlds.background import Scheduler
from sandbox.worlds.clock import SystemClock, system_seconds
from sandbox.worlds.dispatcher import Dispatcher
from sandbox.worlds.registry import Ticks, Worlds
from sandbox.worlds.scenarios import run_scenario
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import DEFAULT_WORLD, World

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from sandbox.control.rows import Act
    from sandbox.scenario_examples import Step
    from sandbox.scenario_examples.in_world import PlayedStep
    from sandbox.scenarios.shapes import Scenario

log = logging.getLogger("sandbox.store")

_PROVED_WITHIN_S: Final = 30.0
"""So long the examples of a scenario may take when the control API runs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A sandbox ready to be served: the application, its worlds, and the control token.

    `store` names the place of the worlds, `is_for_control` selects the requests for the control
    API.
    """

    app: Surfaces
    is_for_control: Callable[[Scope], bool]
    worlds: Worlds
    token: str | None = field(repr=False)
    store: str


def create_app(settings: Settings | None = None) -> "Starlette":
    """A sandbox as a Starlette application, to be served or mounted.

    `uat-sandbox serve` serves the same two surfaces without Starlette's middleware around them.
    An application that mounts this one runs its lifespan too: it resumes unfinished work of an
    earlier run, and writes the last changes to a state file. Raises as `build` does.
    """
    from starlette.applications import Starlette

    surfaces = build(settings or Settings()).app
    routes = [Mount(PREFIX, surfaces.mounted(PREFIX)), Mount("", surfaces.mounted(""))]
    return Starlette(routes=routes, lifespan=surfaces.lifespan)


def build(
    settings: Settings,
    *,
    system_clock: SystemClock = system_seconds,
    ticks: Ticks = monotonic,
    sender: Sending | None = None,
) -> Sandbox:
    """Put a sandbox together, with the world `default` filled.

    Webhooks go over the network unless another sender is given.

    Raises FixtureError when the fixture cannot be used, ScenarioError when the scenario cannot,
    SettingsError when a setting cannot, StoreError when the state file cannot.
    """
    fixture = _fixture(settings)
    guard = _guard(settings)
    dispatcher = Dispatcher(
        sender or _sender(settings, guard),
        header_prefix=settings.profile.webhook_header_prefix,
    )
    _check_webhooks(settings, guard)
    worlds = _worlds(settings, system_clock, ticks, dispatcher, fixture)
    saver = worlds.saver
    token = settings.token
    if token is None and not settings.is_private:
        token = secrets.token_urlsafe(24)
    platform = Platform(
        worlds,
        turn=dispatcher.turn,
        explain_headers=settings.explain_headers,
        log_requests=settings.log_requests,
    )
    inside = Inside(platform)
    services = _services(
        settings,
        worlds,
        guard,
        fixture,
        inside=inside,
        tokens=tokens_of(token, saver, now=lambda: from_ms(int(system_clock() * 1000))),
        system_clock=system_clock,
    )
    control = Control(services, ticks=ticks)
    app = Surfaces(
        platform=platform,
        control=control,
        control_port=settings.control_port,
        # A client with the token is no page of another site.
        hosts=Hosts((settings.host, *settings.allow_hosts)) if token is None else None,
        version=__version__,
        on_begin=worlds.wake,
        on_end=[
            inside.close,
            dispatcher.close,
            *([saver.close] if saver is not None else []),
        ],
    )
    return Sandbox(
        app=app, is_for_control=app.is_for_control, worlds=worlds, token=token, store=services.store
    )


def _fixture(settings: Settings) -> Fixture:
    """The fixture of the world `default`. Raises FixtureError."""
    fixture = library.fixture_or_file(settings.fixture)
    if fixture.document is not None:
        from sandbox.worlds.secret_documents import refuse_secrets_of_fixture

        try:
            refuse_secrets_of_fixture(fixture.document, settings.profile.key_format)
        except NotRestored as error:
            raise FixtureError(f"{settings.fixture}: {error}") from None
    return fixture


def _services(
    settings: Settings,
    worlds: Worlds,
    guard: Guard,
    fixture: Fixture,
    *,
    inside: Inside,
    tokens: Tokens,
    system_clock: SystemClock,
) -> Services:
    """The services of the control API."""
    return Services(
        worlds=worlds,
        version=__version__,
        store="memory" if worlds.saver is None else worlds.saver.file.name,
        default_fixture=fixture,
        default_seed=settings.seed,
        fixtures=library.fixture,
        fixture_of=library.fixture_of,
        fixture_names=library.fixture_names,
        samples=library.sample,
        scenarios=library.scenarios,
        scenario=library.scenario,
        scenario_text=library.scenario_text,
        prove=_prove,
        play=partial(_play, inside=inside),
        why_not_to=guard.why_not_to,
        platform_url=settings.platform_url,
        needs_token=tokens.are_needed,
        tokens=tokens,
        system_clock=system_clock,
        inside=inside,
        control_document=routes.document,
        ca=settings.ca,
    )


def _prove(scenario: "Scenario") -> list["Step"]:
    """The results of a scenario's examples. Raises ScenarioError for unknown names."""
    from sandbox.scenario_examples import run_examples

    return list(run_examples(scenario, build, within_s=_PROVED_WITHIN_S))


async def _play(
    world: World, scenario: "Scenario", numbers: range, act: "Act", *, inside: Inside
) -> "list[PlayedStep]":
    """The steps of a scenario's examples in a world that runs."""
    from sandbox.scenario_examples.in_world import play_in_world

    return await play_in_world(
        world, scenario.example, numbers, inside=inside, act=act, within_s=_PROVED_WITHIN_S
    )


def _worlds(
    settings: Settings,
    system_clock: SystemClock,
    ticks: Ticks,
    scheduler: Scheduler[World],
    fixture: Fixture,
) -> Worlds:
    """The worlds of an earlier run, if there is a store, and `default`. Raises as `build` does."""
    saver = None if settings.store is None else saver_of(settings.store)
    worlds = Worlds(
        profile=settings.profile,
        system_clock=system_clock,
        ticks=ticks,
        limits=settings.limits,
        scheduler=scheduler,
        on_timer=expiry.carry_out,
        saver=saver,
        known_keys=settings.has_known_keys,
    )
    if saver is None:
        have_secret(worlds, None)
        _begin(worlds, settings, fixture)
        return worlds
    try:
        assert settings.store is not None
        restore_all(worlds, saver.file, settings.store)
        have_secret(worlds, saver.file)
        _begin(worlds, settings, fixture)
        saver.save()
    except BaseException:
        saver.file.close()
        raise
    return worlds


def _begin(worlds: Worlds, settings: Settings, fixture: Fixture) -> None:
    """The world `default` as the settings have it, unless an earlier run left one."""
    spec = WorldSpec(
        id=DEFAULT_WORLD,
        fixture=fixture,
        seed=settings.seed,
        clock=settings.clock,
        generated_data=settings.generated_data,
    )
    saved = worlds.get(DEFAULT_WORLD)
    if saved is not None and (unheard := _not_heeded(settings, saved.spec)):
        log.warning(
            "%s did not apply: the state file holds the world 'default' already; reset it, or "
            "name another file",
            ", ".join(unheard),
        )
    try:
        default = saved or worlds.create(spec)
    except NotRestored as error:
        raise FixtureError(f"{settings.fixture}: {error}") from None
    _register(settings.webhooks, default)
    if settings.scenario is not None:
        _run(settings.scenario, default)


def _check_webhooks(settings: Settings, guard: Guard) -> None:
    """Raises SettingsError for a URL that no webhook may go to."""
    for url in settings.webhooks:
        try:
            read_value(HttpUrl, url)
        except ValueError as error:
            raise SettingsError(f"--webhook: {url[:200]!r}: {error}") from None
        if secret := secret_in(unquote(url), settings.profile.key_format):
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


def _guard(settings: Settings) -> Guard:
    """The guard that keeps webhooks from internal addresses. Raises SettingsError."""
    try:
        return Guard(is_open=settings.is_private, allowed=settings.webhooks_to)
    except ValueError as error:
        raise SettingsError(f"--webhooks-to: {error}") from error


def _sender(settings: Settings, guard: Guard) -> Sender:
    """The sender of webhooks, with its share of connections. Raises SettingsError."""
    return Sender(
        guard,
        user_agent=f"uat-sandbox/{__version__}",
        mask=settings.profile.scrub,
        connections_max=shares(settings.connections_max).webhooks,
    )


def _run(name_or_path: str, world: World) -> None:
    """Have the scenario run in the world. Raises ScenarioError."""
    scenario = library.scenario_or_file(name_or_path)
    try:
        run_scenario(world, scenario)
    except ScenarioError as error:
        raise ScenarioError(f"{name_or_path}: {error}", error.nearest) from None
