"""The composition root: the only place where live things are made and put together."""

import logging
import secrets
from asyncio import CancelledError
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox import __version__, library
from sandbox.control.control import Control
from sandbox.control.rows import PREFIX, ControlFault, Services
from sandbox.descriptors import shares
from sandbox.domain.faults import MISDIRECTED, UNAVAILABLE, Refusal
from sandbox.platform.application import Platform
from sandbox.platform.hosts import Hosts, why_refused
from sandbox.platform.rare_log import RareLog
from sandbox.platform.sending import ABORT
from sandbox.scenarios.loading import ScenarioError
from sandbox.settings import Settings, SettingsError
from sandbox.store.files.port import SECRET_BYTES, StateFile, StoreError
from sandbox.store.fixture import Fixture, FixtureError
from sandbox.store.steps import run_through
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.sender import Sender, Sending
from sandbox.worlds.background import Scheduler
from sandbox.worlds.clock import SystemClock, system_seconds
from sandbox.worlds.dispatcher import Dispatcher
from sandbox.worlds.registry import Ticks, Worlds
from sandbox.worlds.saved_world import NotRestored, SavedWorld
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import DEFAULT_WORLD, World

if TYPE_CHECKING:
    from sandbox.worlds.saver import Saver

log = logging.getLogger("sandbox.store")
requests_log = logging.getLogger("sandbox.requests")

_CONTROL_PATHS: Final = PREFIX + "/"

_STOPPING: Final = "The server is being stopped; the request was not carried out to its end."


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A sandbox ready to be served: the application, its worlds, and the control token.

    `store` says where the worlds are kept, `is_for_control` which requests go to the control
    surface.
    """

    app: ASGIApp
    is_for_control: Callable[[Scope], bool]
    worlds: Worlds
    token: str | None = field(repr=False)
    store: str


def build(
    settings: Settings,
    *,
    system_clock: SystemClock = system_seconds,
    ticks: Ticks = monotonic,
    sender: Sending | None = None,
) -> Sandbox:
    """Put a sandbox together, with the world `default` filled.

    Webhooks go over the network unless somebody else sends them.

    Raises FixtureError when the fixture cannot be used, ScenarioError when the scenario cannot,
    SettingsError when a setting cannot, StoreError when the state file cannot.
    """
    fixture = _fixture(settings)
    guard = _guard(settings)
    dispatcher = Dispatcher(
        sender or _sender(settings, guard),
        header_prefix=settings.profile.webhook_header_prefix,
    )
    worlds = _worlds(settings, system_clock, ticks, dispatcher, fixture)
    saver = worlds.saver
    token = settings.token
    if token is None and not settings.is_private:
        token = secrets.token_urlsafe(24)
    services = _services(settings, worlds, guard, fixture, needs_token=token is not None)
    control = Control(services, token=token)
    platform = Platform(
        worlds,
        turn=dispatcher.turn,
        explain_headers=settings.explain_headers,
        log_requests=settings.log_requests,
    )
    app = Surfaces(
        platform=platform,
        control=control,
        control_port=settings.control_port,
        # Who has the token is no page of another site.
        hosts=Hosts((settings.host, *settings.allow_hosts)) if token is None else None,
        on_begin=worlds.wake,
        on_end=[
            dispatcher.close,
            *([worlds.note_reading, saver.close] if saver is not None else []),
        ],
    )
    return Sandbox(
        app=app, is_for_control=app.is_for_control, worlds=worlds, token=token, store=services.store
    )


def _fixture(settings: Settings) -> Fixture:
    """What the world `default` begins with. Raises FixtureError."""
    fixture = library.fixture_or_file(settings.fixture)
    if fixture.document is not None:
        from sandbox.worlds.secret_documents import refuse_secrets_of_fixture

        try:
            refuse_secrets_of_fixture(fixture.document, settings.profile.key_format)
        except NotRestored as error:
            raise FixtureError(f"{settings.fixture}: {error}") from None
    return fixture


def _services(
    settings: Settings, worlds: Worlds, guard: Guard, fixture: Fixture, *, needs_token: bool
) -> Services:
    """What the control surface works on."""
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
        why_not_to=guard.why_not_to,
        platform_url=settings.platform_url,
        needs_token=needs_token,
    )


def _worlds(
    settings: Settings, system_clock: SystemClock, ticks: Ticks, host: Scheduler, fixture: Fixture
) -> Worlds:
    """The worlds of an earlier run, if one is kept, and `default`. Raises as `build` does."""
    saver = None if settings.store is None else _saver(settings.store)
    worlds = Worlds(
        profile=settings.profile,
        system_clock=system_clock,
        ticks=ticks,
        limits=settings.limits,
        host=host,
        saver=saver,
        known_keys=settings.has_known_keys,
    )
    if saver is None:
        _have_secret(worlds, None)
        _begin(worlds, settings, fixture)
        return worlds
    try:
        assert settings.store is not None
        restore_all(worlds, saver.file, settings.store)
        _have_secret(worlds, saver.file)
        _begin(worlds, settings, fixture)
        saver.save()
    except BaseException:
        saver.file.close()
        raise
    return worlds


def _saver(path: Path) -> "Saver":
    """What writes to the state file, which is opened and locked. Raises StoreError."""
    from sandbox.store.files.opening import open_file
    from sandbox.worlds.saver import Saver

    return Saver(open_file(path))


def _have_secret(worlds: Worlds, file: StateFile | None) -> None:
    """What the keys of new worlds are made of, where they are not to be known (decision 45).

    A file keeps it from its first start on; in memory it is another one at each start.
    """
    if worlds.known_keys:
        return
    if not worlds.secret:
        worlds.secret = secrets.token_bytes(SECRET_BYTES)
        if file is not None:
            file.keep_secret(worlds.secret)
    known = ", ".join(sorted(world.id for world in worlds if world.spec.keys_are_known))
    if known:
        log.warning(
            "anybody can work out the API keys of these worlds, which began on loopback or with "
            "--known-keys: %s; to have others, name another file with --store",
            known,
        )


def restore_all(worlds: Worlds, file: StateFile, path: Path) -> None:
    """Fill the worlds with what the file holds. Raises StoreError; then nothing was written."""
    from sandbox.worlds.restore import spec_of

    loaded = file.load()
    worlds.secret = file.secret
    for id, tables in loaded.items():

        def read(table: str, id: str, world_id: str = id) -> str:
            text = file.read(world_id, table, id)
            if text is None:
                raise StoreError(f"{file.name}: {world_id}.{table} has no {id}")
            return text

        kept = SavedWorld(tables, read, is_from_file=True, is_trusted=not file.is_for_people)
        try:
            run_through(worlds.restoring(spec_of(kept, library.fixture_of, id=id), kept))
        except (NotRestored, FixtureError) as error:
            from sandbox.store.files.disk import about_good_copy, cannot

            why = f"world {id!r}: {error}"
            raise cannot(path, "be read", why, about_good_copy(path)) from None
    file.keep_good_copy()


def _begin(worlds: Worlds, settings: Settings, fixture: Fixture) -> None:
    """The world `default` as the settings have it, unless an earlier run left one."""
    spec = WorldSpec(
        id=DEFAULT_WORLD,
        fixture=fixture,
        seed=settings.seed,
        clock=settings.clock,
        generated_data=settings.generated_data,
    )
    kept = worlds.get(DEFAULT_WORLD)
    if kept is not None and (unheard := _not_heeded(settings, kept.spec)):
        log.warning(
            "%s did not apply: the state file holds the world 'default' already; reset it, or "
            "name another file",
            ", ".join(unheard),
        )
    try:
        default = kept or worlds.create(spec)
    except NotRestored as error:
        raise FixtureError(f"{settings.fixture}: {error}") from None
    if settings.scenario is not None:
        _run(settings.scenario, default)


def _not_heeded(settings: Settings, began: WorldSpec) -> list[str]:
    """The options that were given, only say how a world begins, and are not how this one did."""
    usual = Settings()
    told = {
        "--fixture": (Path(settings.fixture).stem, began.fixture.name, usual.fixture),
        "--seed": (settings.seed, began.seed, usual.seed),
        "--clock": (settings.clock, began.clock, usual.clock),
        "--invent": (settings.generated_data, began.generated_data, usual.generated_data),
    }
    return [option for option, (given, *others) in told.items() if given not in others]


def _guard(settings: Settings) -> Guard:
    """What keeps webhooks from internal addresses. Raises SettingsError."""
    try:
        return Guard(is_open=settings.is_private, allowed=settings.webhooks_to)
    except ValueError as error:
        raise SettingsError(f"--webhooks-to: {error}") from error


def _sender(settings: Settings, guard: Guard) -> Sender:
    """What sends webhooks over the network, within its share. Raises SettingsError."""
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
        world.run_scenario(scenario)
    except ScenarioError as error:
        raise ScenarioError(f"{name_or_path}: {error}", error.nearest) from None


class Surfaces:
    """Two surfaces of one server. Both answer everything that comes to them, errors included.

    On one port the path's prefix decides; with a `control_port` the port that was asked does. With
    `hosts` a request for another one reaches neither.
    Starlette's router stands behind them: it serves the lifespan, and nothing that is asked for
    reaches its redirects and plain-text answers.
    """

    def __init__(
        self,
        *,
        platform: Platform,
        control: Control,
        control_port: int | None,
        hosts: Hosts | None,
        on_begin: Callable[[], None],
        on_end: Sequence[Callable[[], Awaitable[None]]],
    ) -> None:
        self._platform = platform
        self._control = control
        self._control_port = control_port
        self._hosts = hosts
        self._rare_log = RareLog(requests_log)

        @asynccontextmanager
        async def lifespan(_: object) -> AsyncIterator[None]:
            on_begin()
            yield
            for end in on_end:
                await end()

        self._rest = Router(redirect_slashes=False, default=platform, lifespan=lifespan)

    def is_for_control(self, scope: Scope) -> bool:
        """Whether the control surface answers this request."""
        if self._control_port is None:
            return bool(scope["path"].startswith(_CONTROL_PATHS))
        server = scope.get("server")
        return server is not None and server[1] == self._control_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request to its surface."""
        try:
            if scope["type"] == "lifespan":
                await self._rest(scope, receive, send)
            elif self._hosts is not None and (host := self._hosts.refuses(scope)) is not None:
                await self._refuse(scope, send, host)
            elif self.is_for_control(scope):
                await self._control(scope, receive, send)
            else:
                await self._platform(scope, receive, send)
        except CancelledError:
            # A server cancels a request for one reason. Elsewhere it may have others.
            if ABORT not in scope:
                raise
            await self._say_stopping(scope, receive, send)

    async def _say_stopping(self, scope: Scope, receive: Receive, send: Send) -> None:
        """End a request that the server does not wait for any longer, because it stops."""
        said = {"error": UNAVAILABLE.code}
        if self.is_for_control(scope):
            said |= {"message": _STOPPING, "details": ""}
        else:
            said |= {"detail": _STOPPING}
        body = to_json(said)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        try:
            status = UNAVAILABLE.status
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        except RuntimeError:
            # Its answer had begun.
            scope[ABORT]()
            while (await receive())["type"] != "http.disconnect":
                pass

    async def _refuse(self, scope: Scope, send: Send, host: bytes) -> None:
        """Answer a request for another host as its surface does (assumed D25-hosts)."""
        why = why_refused(host)
        self._rare_log.warn("host", f"a request was refused (421): {why}")
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif self.is_for_control(scope):
            await self._control.refuse(
                send, ControlFault(MISDIRECTED.status, MISDIRECTED.code, why)
            )
        else:
            await self._platform.refuse(scope, send, Refusal(MISDIRECTED, why))
