"""The composition root: the only place that creates live objects and connects them."""

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from starlette.types import Scope

from sandbox import __version__, beginning, library
from sandbox.control import routes
from sandbox.control.control import Control
from sandbox.control.rows import PREFIX, Services
from sandbox.control.who import Tokens
from sandbox.descriptors import shares
from sandbox.domain.instants import from_ms
from sandbox.domain.profile import Profile
from sandbox.domain.values import Value
from sandbox.keeping import must_have_driver, renew, tokens_of
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
from sandbox.worlds.registry import Ticks, Worlds
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from sandbox.control.rows import Act
    from sandbox.scenario_examples import Step
    from sandbox.scenario_examples.in_world import PlayedStep
    from sandbox.scenarios.shapes import Scenario
    from sandbox.servers.fleet import Fleet
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
    from starlette.routing import Mount

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
    kept = _kept(settings, system_clock, ticks, dispatcher, fixture)
    worlds, fleet = kept.worlds, kept.fleet
    dispatcher.measured = worlds.measured
    token = _token(settings)
    platform = Platform(
        worlds,
        turns=dispatcher,
        explain_headers=settings.explain_headers,
        log_requests=settings.log_requests,
        elsewhere=fleet,
    )
    inside = Inside(platform)
    services = _services(
        settings,
        kept,
        guard,
        fixture,
        inside=inside,
        tokens=kept.tokens_with(token),
    )
    app = Surfaces(
        platform=platform,
        control=Control(services, ticks=ticks),
        control_port=settings.control_port,
        # A client with the token is no page of another site.
        hosts=Hosts((settings.host, *settings.allow_hosts)) if token is None else None,
        version=__version__,
        on_begin=worlds.wake if fleet is None else fleet.begin,
        beside=worlds.measured.watch_loop,
        on_end=[inside.close, dispatcher.close, *kept.closers],
    )
    return Sandbox(
        app=app,
        is_for_control=app.is_for_control,
        worlds=worlds,
        token=token,
        store=services.store,
        leave=None if fleet is None else fleet.leave,
    )


def _token(settings: Settings) -> str | None:
    """The token of the operator; one that is made up where others can reach the server."""
    if settings.token is None and not settings.is_private:
        return secrets.token_urlsafe(24)
    return settings.token


class _Kept(Value, frozen=True, gc=True):
    """The worlds, the clock, and what was kept of the tokens of teams.

    `sharing` connects the server with others, if they share worlds.
    """

    worlds: Worlds
    clock: SystemClock
    teams: str
    sharing: "Sharing | None" = None

    @property
    def fleet(self) -> "Fleet | None":
        """The servers that share worlds, if they do."""
        return None if self.sharing is None else self.sharing.fleet

    @property
    def closers(self) -> list[Callable[[], Awaitable[None]]]:
        """What is to be done at the end."""
        if self.fleet is not None:
            return [self.fleet.close]
        return [] if self.worlds.saver is None else [self.worlds.saver.close]

    def tokens_with(self, operators: str | None) -> Tokens:
        """All tokens of the control API. Raises StoreError."""
        tokens = tokens_of(
            operators,
            self.teams,
            self.worlds.saver,
            now=lambda: from_ms(int(self.clock() * 1000)),
        )
        if self.sharing is not None:
            self.sharing.on_tokens = partial(renew, tokens)
        return tokens


def _kept(
    settings: Settings,
    system_clock: SystemClock,
    ticks: Ticks,
    scheduler: Scheduler[World],
    fixture: Fixture,
) -> _Kept:
    """The worlds as the settings have them. Raises as `build` does."""
    if settings.database is None:
        own = beginning.own_worlds(settings, system_clock, ticks, scheduler, fixture)
        return _Kept(own[0], system_clock, own[1])
    must_have_driver()
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
    return _Kept(worlds, sharing.clock, agreed.tokens, sharing)


def _services(
    settings: Settings,
    kept: _Kept,
    guard: Guard,
    fixture: Fixture,
    *,
    inside: Inside,
    tokens: Tokens,
) -> Services:
    """The services of the control API."""
    worlds = kept.worlds
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
        repeat=partial(_repeat, profile=settings.profile),
        play=partial(_play, inside=inside),
        why_not_to=guard.why_not_to,
        platform_url=settings.platform_url,
        needs_token=tokens.are_needed,
        tokens=tokens,
        system_clock=kept.clock,
        inside=inside,
        control_document=routes.document,
        ca=settings.ca,
        elsewhere=kept.fleet,
    )


def _prove(scenario: "Scenario") -> list["Step"]:
    """The results of a scenario's examples. Raises ScenarioError for unknown names."""
    from sandbox.scenario_examples import run_examples

    return list(run_examples(scenario, build, within_s=_PROVED_WITHIN_S))


def _repeat(
    begin: Mapping[str, Any],
    named: Mapping[str, Mapping[str, str]],
    steps: Sequence[Any],
    *,
    profile: Profile,
) -> str | None:
    """What of these requests does not come again in a sandbox of its own, in words."""
    from sandbox.scenario_examples.repeating import repeat

    return repeat(begin, named, steps, build, profile=profile, within_s=_PROVED_WITHIN_S)


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
