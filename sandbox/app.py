"""The composition root: the only place that creates live objects and connects them."""

import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from starlette.routing import Mount
from starlette.types import Scope

from sandbox import __version__, beginning, library
from sandbox.control import routes
from sandbox.control.control import Control
from sandbox.control.rows import PREFIX, Services
from sandbox.control.who import Tokens
from sandbox.descriptors import shares
from sandbox.domain.instants import from_ms
from sandbox.keeping import renew, tokens_of
from sandbox.platform.application import Platform
from sandbox.platform.hosts import Hosts
from sandbox.platform.inside import Inside
from sandbox.platform.sending import close_connection
from sandbox.settings import Settings, SettingsError
from sandbox.store.fixture import Fixture
from sandbox.surfaces import Surfaces
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.sender import Sender, Sending
from sandbox.worlds.background import Scheduler
from sandbox.worlds.clock import SystemClock, system_seconds
from sandbox.worlds.dispatcher import Dispatcher
from sandbox.worlds.elsewhere import Elsewhere
from sandbox.worlds.registry import Ticks, Worlds
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from sandbox.control.rows import Act
    from sandbox.scenario_examples import Step
    from sandbox.scenario_examples.in_world import PlayedStep
    from sandbox.scenarios.shapes import Scenario
    from sandbox.sharing import Sharing

log = logging.getLogger("sandbox.store")

_PROVED_WITHIN_S: Final = 30.0
"""So long the examples of a scenario may take when the control API runs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A sandbox ready to be served: the application, its worlds, and the control token.

    `store` names the place of the worlds, `is_for_control` selects the requests for the control
    API. `leave` hands the worlds over to other servers, if worlds are shared.
    """

    app: Surfaces
    is_for_control: Callable[[Scope], bool]
    worlds: Worlds
    token: str | None = field(repr=False)
    store: str
    leave: Callable[[], Awaitable[None]] | None = None


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
    fixture = beginning.fixture_of(settings)
    guard = _guard(settings)
    dispatcher = Dispatcher(
        sender or _sender(settings, guard),
        header_prefix=settings.profile.webhook_header_prefix,
    )
    beginning.check_webhooks(settings, guard)
    sharing: Sharing | None = None
    if settings.database is None:
        worlds, teams = beginning.own_worlds(settings, system_clock, ticks, dispatcher, fixture)
    else:
        sharing, worlds, teams = _shared(settings, ticks, dispatcher, fixture)
        system_clock = sharing.clock
    token = settings.token
    if token is None and not settings.is_private:
        token = secrets.token_urlsafe(24)
    platform = Platform(
        worlds,
        turn=dispatcher.turn,
        explain_headers=settings.explain_headers,
        log_requests=settings.log_requests,
        elsewhere=None if sharing is None else sharing.fleet,
    )
    inside = Inside(platform)
    now = lambda: from_ms(int(system_clock() * 1000))  # noqa: E731
    tokens = tokens_of(token, teams, worlds.saver, now=now)
    if sharing is not None:
        sharing.on_tokens = partial(renew, tokens)
    services = _services(
        settings,
        worlds,
        guard,
        fixture,
        inside=inside,
        tokens=tokens,
        system_clock=system_clock,
        elsewhere=None if sharing is None else sharing.fleet,
    )
    control = Control(services, ticks=ticks)
    app = Surfaces(
        platform=platform,
        control=control,
        control_port=settings.control_port,
        # A client with the token is no page of another site.
        hosts=Hosts((settings.host, *settings.allow_hosts)) if token is None else None,
        version=__version__,
        on_begin=worlds.wake if sharing is None else sharing.fleet.begin,
        on_end=[inside.close, dispatcher.close, *_closers(worlds, sharing)],
    )
    return Sandbox(
        app=app,
        is_for_control=app.is_for_control,
        worlds=worlds,
        token=token,
        store=services.store,
        leave=None if sharing is None else sharing.fleet.leave,
    )


def _shared(
    settings: Settings, ticks: Ticks, scheduler: Scheduler[World], fixture: Fixture
) -> "tuple[Sharing, Worlds, str]":
    """A server among others, its worlds, and the tokens of teams. Raises as `build` does."""
    from sandbox.sharing import Sharing, agree

    agreed = agree(settings, fixture)
    sharing = Sharing(
        settings,
        begin_default=partial(beginning.begin, settings=settings, fixture=fixture),
        abort=close_connection,
    )
    worlds = beginning.shared_worlds(
        settings,
        sharing.clock,
        ticks,
        scheduler,
        fixture,
        saver=sharing.saver,
        agreed=agreed,
    )
    sharing.connect(worlds)
    return sharing, worlds, agreed.tokens


def _closers(worlds: Worlds, sharing: "Sharing | None") -> list[Callable[[], Awaitable[None]]]:
    if sharing is not None:
        return [sharing.fleet.close]
    return [] if worlds.saver is None else [worlds.saver.close]


def _services(
    settings: Settings,
    worlds: Worlds,
    guard: Guard,
    fixture: Fixture,
    *,
    inside: Inside,
    tokens: Tokens,
    system_clock: SystemClock,
    elsewhere: Elsewhere | None,
) -> Services:
    """The services of the control API."""
    return Services(
        worlds=worlds,
        version=__version__,
        store="memory" if worlds.saver is None else worlds.saver.name,
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
        elsewhere=elsewhere,
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
