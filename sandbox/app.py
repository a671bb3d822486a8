"""The Starlette application, and the composition root that connects all live objects."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Mount, Route, Router
from starlette.types import Lifespan

from sandbox import __version__, startup
from sandbox.control import routes as control
from sandbox.control.application import Control
from sandbox.control.console_files import welcome
from sandbox.control.context import Act, PlayedExample, Services
from sandbox.control.routing import PREFIX
from sandbox.domain.faults import BAD_GATEWAY, INTERNAL_ERROR, Refusal
from sandbox.domain.profile import Profile
from sandbox.measurements import Measured
from sandbox.middleware import (
    AnswerWhenStopped,
    CheckHost,
    SeparatePorts,
    surface_of,
)
from sandbox.platform import routes as platform
from sandbox.platform.application import Platform
from sandbox.platform.internal_client import InternalClient
from sandbox.platform.routing import NoteRootPath
from sandbox.platform.security import plain_host
from sandbox.platform.timers import carry_out
from sandbox.platform.wire import ConnectionClosed
from sandbox.scenarios.scenario import Scenario
from sandbox.settings import Settings
from sandbox.startup import Kept
from sandbox.store.fixture import Fixture
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.receivers import LocalReceivers
from sandbox.webhooks.worker import DeliveryWorker, Sending
from sandbox.worlds.background import Background
from sandbox.worlds.clock import SystemClock, system_seconds
from sandbox.worlds.due_timers import fire_due, wake
from sandbox.worlds.registry import Ticks, Worlds
from sandbox.worlds.world import World

_PROVED_WITHIN_S: Final = 30.0
"""Time limit for a scenario's examples when the control API runs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A sandbox ready to be served: the application, its worlds, and the control token.

    `store` says where the worlds are kept. `receivers` get their webhooks without a network.
    `leave` hands the worlds over to the other servers, if they are shared.
    """

    app: Starlette
    worlds: Worlds
    token: str | None = field(repr=False)
    store: str
    receivers: LocalReceivers
    leave: Callable[[], Awaitable[None]] | None = None

    def end_streams(self) -> None:
        """End the streams of all worlds, so that a server can stop."""
        for world in self.worlds:
            world.subscriptions.close()


def create_app(settings: Settings | None = None) -> Starlette:
    """Return the sandbox as a Starlette application, to be served or mounted.

    Its lifespan resumes unfinished work of an earlier run, and writes the last changes to a state
    file. Raises the errors of `build`.
    """
    return build(settings or Settings()).app


def build(
    settings: Settings,
    *,
    system_clock: SystemClock = system_seconds,
    ticks: Ticks = monotonic,
    sender: Sending | None = None,
) -> Sandbox:
    """Build a sandbox with its world `default`.

    Webhooks go over the network unless another sender is given, or a receiver in this process is
    added for their URL.
    Raises FixtureError, ScenarioError, SettingsError or StoreError for an unusable fixture,
    scenario, setting or store.
    """
    fixture = startup.fixture_of(settings)
    guard = startup.guard_webhooks(settings)
    measured = Measured()
    deliveries = _delivery_worker(settings, guard, sender, measured)
    background = Background(
        deliveries, wake, measured, settings.profile, settings.limits, carry_out
    )
    kept = startup.keep_worlds(settings, fixture, background, system_clock, ticks)
    worlds, cluster = kept.worlds, kept.cluster
    token = _token(settings)
    answering = Platform(
        worlds,
        explain_headers=settings.explain_headers,
        log_requests=settings.log_requests,
        body_bytes_max=settings.body_bytes_max,
        elsewhere=cluster,
    )
    inside = InternalClient(answering)
    services = _services(settings, kept, guard, fixture, inside=inside, token=token)
    app = Starlette(
        routes=[
            *platform.MOUNTS,
            Route("/", welcome),
            Route(PREFIX, welcome),
            Mount(PREFIX, app=Router(control.ROUTES, redirect_slashes=False)),
        ],
        middleware=_middleware(settings, token),
        exception_handlers={HTTPException: answer_unrouted, Exception: answer_defect},
        lifespan=_lifespan(kept, inside, deliveries),
    )
    app.router.redirect_slashes = False
    app.state.platform = answering
    app.state.control = Control(services)
    app.state.control_port = settings.control_port
    return Sandbox(
        app=app,
        worlds=worlds,
        token=token,
        store=services.store,
        receivers=deliveries.local_receivers,
        leave=None if cluster is None else cluster.leave,
    )


def _middleware(settings: Settings, token: str | None) -> list[Middleware]:
    """Return the middleware, outermost first."""
    # Pages of other sites do not have the token, so a server with one accepts any host.
    given = frozenset(map(plain_host, (settings.host, *settings.allow_hosts)))
    hosts = given if token is None else None
    found = [
        Middleware(NoteRootPath),
        Middleware(AnswerWhenStopped),
        Middleware(CheckHost, hosts=hosts),
    ]
    if settings.control_port is not None:
        found.append(Middleware(SeparatePorts))
    return found


async def answer_unrouted(request: Request, error: Exception) -> Any:
    """Let the platform or the control API answer Starlette's own 404 and 405, and journal them."""
    return surface_of(request.scope).respond


async def answer_defect(request: Request, error: Exception) -> Any:
    """Answer an error that nothing else caught; Starlette raises it again for the log."""
    refuse, refusal = surface_of(request.scope).refuse, Refusal(INTERNAL_ERROR)
    if isinstance(error, ConnectionClosed):
        # Other servers than ours cannot close a connection without an answer.
        why = f"{str(error).capitalize()}; only `sandbox serve` can close a connection."
        refusal = Refusal(BAD_GATEWAY, why)
    return lambda scope, receive, send: refuse(scope, send, refusal)


def _token(settings: Settings) -> str | None:
    """Return the operator's token; generate one if other machines can reach the server."""
    if settings.token is None and not settings.is_private:
        return secrets.token_urlsafe(24)
    return settings.token


def _lifespan(
    kept: Kept, inside: InternalClient, deliveries: DeliveryWorker
) -> Lifespan[Starlette]:
    """Resume the work of an earlier run; at shutdown end what runs, then save the worlds."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        deliveries.open()
        if kept.cluster is None:
            kept.worlds.wake()
        else:
            await kept.cluster.begin()
        watching = asyncio.create_task(kept.worlds.measured.watch_loop())
        yield
        watching.cancel()
        await inside.close()
        await deliveries.close()
        kept.worlds.stop()
        if kept.cluster is not None:
            await kept.cluster.close()
        elif kept.worlds.saver is not None:
            await kept.worlds.saver.close()

    return lifespan


def _services(
    settings: Settings,
    kept: Kept,
    guard: Guard,
    fixture: Fixture,
    *,
    inside: InternalClient,
    token: str | None,
) -> Services:
    """Return the services of the control API."""
    worlds = kept.worlds
    return Services(
        worlds=worlds,
        version=__version__,
        store="memory" if worlds.saver is None else worlds.saver.name,
        default_fixture=fixture,
        default_seed=settings.seed,
        prove=_prove,
        repeat=partial(_repeat, profile=settings.profile),
        play=partial(_play, inside=inside),
        why_not_to=guard.why_not_to,
        platform_url=settings.platform_url,
        tokens=kept.tokens_with(token),
        inside=inside,
        endpoints=control.CONTROL,
        ca=settings.ca,
        elsewhere=kept.cluster,
    )


def _prove(scenario: Scenario) -> dict[int, list[str]]:
    """Return the mistakes of a scenario's examples. Raises ScenarioError for unknown names."""
    # This needs an HTTP client, whose import would make every start a tenth longer.
    from sandbox.scenario_examples.own_sandbox import run_examples  # noqa: PLC0415

    steps = run_examples(scenario, build, within_s=_PROVED_WITHIN_S)
    return {step.number: step.mistakes for step in steps}


def _repeat(begin: Any, named: Any, steps: Any, *, profile: Profile) -> str | None:
    """Repeat these requests in a new sandbox, and say what differs; None if nothing does."""
    from sandbox.scenario_examples.repetition import repeat  # noqa: PLC0415 - needs the same client

    return repeat(begin, named, steps, build, profile=profile, within_s=_PROVED_WITHIN_S)


async def _play(
    world: World, scenario: Scenario, numbers: range, act: Act, *, inside: InternalClient
) -> list[PlayedExample]:
    """Play a scenario's examples in a running world, and return the steps."""
    # As above.
    from sandbox.scenario_examples.running_world import WorldStage, play_in_world  # noqa: PLC0415

    stage = WorldStage(world, inside, act)
    return await play_in_world(stage, scenario.example, numbers, within_s=_PROVED_WITHIN_S)


def _delivery_worker(
    settings: Settings, guard: Guard, sender: Sending | None, measured: Measured
) -> DeliveryWorker:
    """Return the worker that sends webhooks with this sender, or else over the network."""
    return DeliveryWorker(
        sender,
        open_client=partial(_webhook_client, settings, guard),
        header_prefix=settings.profile.webhook_header_prefix,
        measured=measured,
        after_attempt=fire_due,
        local_receivers=LocalReceivers(mask=settings.profile.scrub),
    )


def _webhook_client(settings: Settings, guard: Guard) -> Sending:
    """Return the client that sends webhooks over the network."""
    # Importing its HTTP client would make every start a sixth longer.
    from sandbox.webhooks.client import WebhookClient  # noqa: PLC0415

    return WebhookClient(guard, mask=settings.profile.scrub, ca=settings.webhooks_ca)
