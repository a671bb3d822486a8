"""Serving a sandbox on real sockets with uvicorn."""

import asyncio
import errno
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final

import uvicorn

from sandbox.app import Sandbox, build
from sandbox.library import scenario_file
from sandbox.server import tls as certificates
from sandbox.server.banner import announce, set_up_logging, take_leave
from sandbox.server.protocol import Protocol
from sandbox.server.tls import Tls
from sandbox.settings import Settings, SettingsError
from sandbox.startup import ScenarioReloader

log = logging.getLogger("sandbox.server")

_BACKLOG: Final = 2048
_GRACE_S: Final = 2
_HANDSHAKE_S: Final = 10.0

IDLE_S: Final = 150
"""Time limit between two requests of a connection: longer than proxies keep idle connections, which
is two minutes for Caddy. Otherwise the server would close some as the proxy sends a request.
Source: assumed D25-times."""

_LAST_ROUNDS: Final = 4
_LAST_ROUND_S: Final = 0.05
"""A server that has given its worlds away stays for this time, to answer or turn back requests that
a balancer and other servers send on idle connections before they notice. Several rounds, since a
busy machine may delay its reading for one."""


class Server(uvicorn.Server):
    """A uvicorn server of a sandbox. It limits TLS handshakes, and stops without delay."""

    def __init__(self, sandbox: Sandbox, settings: Settings, tls: Tls | None = None) -> None:
        self._sandbox, self._tls = sandbox, tls
        places = settings.connections_max
        config = uvicorn.Config(
            sandbox.app,
            http=Protocol,
            ws="none",
            lifespan="on",
            backlog=_BACKLOG,
            log_config=None,
            # Without an explicit level, uvicorn prepares trace lines for every request.
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_S,
            timeout_graceful_shutdown=_GRACE_S,
            # The number of connections at which uvicorn answers 503 (assumed D25-places).
            limit_concurrency=None if places is None else places + 1,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening; with TLS, like uvicorn but with a time limit for handshakes."""
        await super().startup([] if self._tls else sockets)
        await self.on_tick(0)
        if self._tls is None:
            return
        make = partial(
            Protocol,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        for one in sockets or ():
            server = await asyncio.get_running_loop().create_server(
                make,
                sock=one,
                ssl=self._tls.context,
                ssl_handshake_timeout=_HANDSHAKE_S,
                backlog=_BACKLOG,
            )
            self.servers.append(server)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Hand over the worlds, end the streams, and stop the server.

        uvicorn's own shutdown always waits a tenth of a second, so it is used only if it must be.
        """
        if self._sandbox.leave is not None:
            await self._sandbox.leave()
        self._sandbox.end_streams()
        for closing in (*self.servers, *(sockets or ())):
            closing.close()
        if self._sandbox.leave is not None:
            self.config.timeout_keep_alive = 0
            for _ in range(_LAST_ROUNDS):
                await asyncio.sleep(_LAST_ROUND_S)
        for connection in list(self.server_state.connections):
            connection.shutdown()
        # The loop reports closed connections in its next round.
        await asyncio.sleep(0)
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
        else:
            await self.lifespan.shutdown()


def serve(settings: Settings, remarks: Sequence[str] = ()) -> None:
    """Serve until interrupted. The remarks are logged first.

    Raises CertificateError and the errors of `build` before anything is served, and SystemExit at
    the end if not all changes could be written.
    """
    set_up_logging(settings.log_format)
    for remark in remarks:
        log.warning("%s", remark)
    tls = tls_of(settings)
    with bound(replace(settings, ca=tls.ca if tls else None)) as (settings, sockets):
        # Note the version before the content is read, so that no change in between is missed.
        watcher = None
        if settings.watch and settings.scenario is not None:
            watcher = ScenarioReloader(scenario_file(settings.scenario))
        sandbox = build(settings)

        async def serve_until_stopped() -> None:
            server = Server(sandbox, settings, tls)
            with server.capture_signals():
                async with serving(server, sockets) as stopped:
                    if server.started:
                        announce(sandbox, settings)
                    watching = None
                    if watcher is not None:
                        watching = asyncio.create_task(watcher.watch(sandbox.worlds))
                    await stopped
                    if watching is not None:
                        watching.cancel()
                take_leave(sandbox, settings)
                # Inside, so that it takes the place of the status of a signal.
                if (saver := sandbox.worlds.saver) is not None and saver.problem is not None:
                    sys.exit(1)

        # Ctrl-C is the normal way to stop it.
        with suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(serve_until_stopped())


@asynccontextmanager
async def serving(
    server: Server, sockets: list[socket.socket]
) -> AsyncIterator["asyncio.Task[None]"]:
    """Serve on the running loop until the block ends; yield a task that ends with a signal.

    The signal handlers of the process are not changed.
    """
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup(sockets)
    ticking = asyncio.create_task(server.main_loop())
    try:
        yield ticking
    finally:
        ticking.cancel()
        await server.shutdown(sockets)


def new_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop, of uvloop if it is installed."""
    make = uvicorn.Config("", log_config=None).get_loop_factory()
    return asyncio.new_event_loop() if make is None else make()


@contextmanager
def bound(settings: Settings) -> Iterator[tuple[Settings, list[socket.socket]]]:
    """Bind the sockets; yield the settings with the actual address and ports, and the sockets.

    The sockets are closed when the block ends. Raises SettingsError.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(bind(settings.host, settings.port, "--port"))]
        address, port, *_ = sockets[0].getsockname()
        settings = replace(settings, port=port, bound_address=address)
        if settings.control_port is not None:
            # By address, since another lookup of a name may give another address.
            control = stack.enter_context(bind(address, settings.control_port, "--control-port"))
            sockets.append(control)
            settings = replace(settings, control_port=control.getsockname()[1])
        yield settings, sockets


def tls_of(settings: Settings) -> Tls | None:
    """Return the TLS of a server; None if it speaks plain HTTP. Raises CertificateError."""
    if not settings.is_tls:
        return None
    if settings.tls_cert is not None:
        return certificates.load(settings.tls_cert, settings.tls_key)
    hosts = (settings.host, *settings.allow_hosts)
    return certificates.own(settings.tls_folder or certificates.default_folder(), hosts)


def bind(host: str, port: int, option: str) -> socket.socket:
    """Return a bound socket. Raises SettingsError naming the option at fault."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError, TypeError) as error:
        bound.close()
        # `make run` explains how to choose its port.
        under_make = os.environ.get("SANDBOX_PORT_HINT") if option == "--port" else None
        how = under_make or f"{option}, or 0 for any free one"
        if isinstance(error, socket.gaierror) or error.args[0] == errno.EADDRNOTAVAIL:
            how = "--host"
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error}; choose another with {how}"
        ) from error
    bound.listen(_BACKLOG)
    return bound
