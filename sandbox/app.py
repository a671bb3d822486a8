"""The composition root: the only place where live things are made and put together."""

import secrets
from dataclasses import dataclass
from typing import Final

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox import __version__, library
from sandbox.api.platform import Platform
from sandbox.control.control import Control
from sandbox.control.rows import PREFIX, Services
from sandbox.settings import Settings
from sandbox.world.clock import Wall, wall_seconds
from sandbox.world.registry import Worlds
from sandbox.world.world import DEFAULT_WORLD, WorldSpec

_CONTROL_PATHS: Final = PREFIX + "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A sandbox ready to be served: the application, its worlds, and the control token."""

    app: ASGIApp
    worlds: Worlds
    token: str | None


def build(settings: Settings, *, wall: Wall = wall_seconds) -> Sandbox:
    """Put a sandbox together, with the world `default` filled.

    Raises FixtureError when the fixture cannot be used.
    """
    fixture = library.fixture_or_file(settings.fixture)
    worlds = Worlds(profile=settings.profile, wall=wall, limits=settings.limits)
    worlds.create(
        WorldSpec(
            id=DEFAULT_WORLD,
            fixture=fixture,
            seed=settings.seed,
            clock=settings.clock,
            invention=settings.invention,
        )
    )
    token = settings.token
    if token is None and not settings.is_loopback:
        token = secrets.token_urlsafe(24)
    services = Services(
        worlds=worlds,
        version=__version__,
        store="memory",
        default_fixture=fixture,
        default_seed=settings.seed,
        fixtures=library.fixture,
        fixture_names=library.fixture_names,
    )
    control = Control(services, token=token)
    platform = Platform(
        worlds, explain_headers=settings.explain_headers, log_requests=settings.log_requests
    )
    if settings.control_port is None:
        app: ASGIApp = ByPath(platform=platform, control=control)
    else:
        app = ByPort(platform=platform, control=control, control_port=settings.control_port)
    return Sandbox(app=app, worlds=worlds, token=token)


class _Surfaces:
    """Two surfaces of one server. Both answer everything that comes to them, errors included.

    Starlette's router stands behind them: it serves the lifespan, and nothing that is asked for
    reaches its redirects and plain-text answers.
    """

    def __init__(self, *, platform: ASGIApp, control: ASGIApp) -> None:
        self._platform = platform
        self._control = control
        self._rest = Router(redirect_slashes=False, default=platform)

    def is_for_control(self, scope: Scope) -> bool:
        """Whether the request is for the control surface."""
        raise NotImplementedError

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request to its surface."""
        if scope["type"] == "lifespan":
            await self._rest(scope, receive, send)
        elif self.is_for_control(scope):
            await self._control(scope, receive, send)
        else:
            await self._platform(scope, receive, send)


class ByPath(_Surfaces):
    """Both on one port: the path's prefix decides."""

    def is_for_control(self, scope: Scope) -> bool:
        return bool(scope["path"].startswith(_CONTROL_PATHS))


class ByPort(_Surfaces):
    """Each on a port of its own: the port that was asked decides."""

    def __init__(self, *, platform: ASGIApp, control: ASGIApp, control_port: int) -> None:
        super().__init__(platform=platform, control=control)
        self._control_port = control_port

    def is_for_control(self, scope: Scope) -> bool:
        server = scope.get("server")
        return server is not None and server[1] == self._control_port
