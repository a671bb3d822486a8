"""Serving a sandbox on real sockets with uvicorn, and its log."""

import asyncio
import gc
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.lifespan.off import LifespanOff
from uvicorn.loops.auto import auto_loop_factory

from sandbox import descriptors
from sandbox.app import Sandbox, build
from sandbox.banner import announce, take_leave
from sandbox.domain.printable import printable
from sandbox.http.connections import ConnectionPool
from sandbox.http.protocol import Protocol
from sandbox.http.refusals import Application
from sandbox.library import scenario_file
from sandbox.platform import ahead
from sandbox.settings import LogFormat, Settings, SettingsError
from sandbox.surfaces import Surfaces

if TYPE_CHECKING:
    from sandbox.certificates import Tls
    from sandbox.scenario_reload import ScenarioReloader

log = logging.getLogger("sandbox.server")

_BACKLOG: Final = 2048
_ACCEPTED_AT_ONCE: Final = 4
"""asyncio's own loop accepts so many connections before it looks at any of them, and each takes a
file, also when it is refused afterwards. uvloop accepts them one by one."""
_UNREAD_BYTES: Final = 65_536
"""Size of a socket's receive buffer, and of one read. With larger reads, many clients that send
much at the same moment would keep all others waiting."""
_GRACE_S: Final = 2
_BETWEEN_PARTS_S: Final = 0.01
"""In between, requests are answered that came meanwhile."""
_NO_MORE: Final = object()
_LAST_WORDS_S: Final = 1.0
"""So long a request that was cut may take to answer."""
_GC_AFTER: Final = 5_000
"""Objects created between two collections. A request leaves no cycles, only its journal entry, so
the default of 700 would find nothing again and again. A collection of this many takes a few
milliseconds, during which no request is served."""
_GC_MIDDLE: Final = 3
"""After so many collections, what survived one of them is looked at once more, all together."""
_GC_NEVER: Final = 100_000
"""Objects that survive two collections are state and stay: searching all of them would take long
and find nothing."""


class _Lifespan(LifespanOff):
    """Begins and ends the sandbox without messages of ASGI.

    Starlette would take them, and importing it takes a tenth of the start.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        app = config.loaded_app
        self._life = app.lifespan() if isinstance(app, Surfaces) else nullcontext()

    async def startup(self) -> None:
        """Begin. Raises what the beginning raises."""
        await self._life.__aenter__()

    async def shutdown(self) -> None:
        """End, after the requests that were cut have said so to their clients."""
        own = asyncio.current_task()
        cut = [one for one in asyncio.all_tasks() if one is not own and one.cancelling()]
        if cut:
            await asyncio.wait(cut, timeout=_LAST_WORDS_S)
        await self._life.__aexit__(None, None, None)


class _Server(uvicorn.Server):
    """A server that calls a function when it is ready, and runs a task while it serves."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_ready: Callable[[], None],
        beside: Callable[[], Coroutine[Any, Any, None]] | None,
        leave: Callable[[], Awaitable[None]] | None,
        on_end: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._beside = beside
        self._leave = leave
        self._on_end = on_end
        self._task: asyncio.Task[None] | None = None
        self._loading: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then announce it."""
        await super().startup(sockets)
        _queue(sockets or [])
        if self.started:
            self._loading = asyncio.create_task(_load_ahead())
            # Existing objects stay; collections need not search them again and again.
            gc.freeze()
            gc.set_threshold(_GC_AFTER, _GC_MIDDLE, _GC_NEVER)
            gc.enable()
            self._on_ready()
            if self._beside is not None:
                self._task = asyncio.create_task(self._beside())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the task, hand the worlds over, then end the server."""
        for task in (self._task, self._loading):
            if task is not None:
                task.cancel()
        if self._leave is not None:
            await self._leave()
        await super().shutdown(sockets)
        self._on_end()


async def _load_ahead() -> None:
    """Load what the first payment needs, after the requests that wait for the server."""
    parts = ahead.parts()
    while True:
        await asyncio.sleep(_BETWEEN_PARTS_S)
        if next(parts, _NO_MORE) is _NO_MORE:
            return


def serve(settings: Settings, remarks: Sequence[str] = ()) -> None:
    """Serve until interrupted. The log begins with the remarks.

    Raises SettingsError, FixtureError or ScenarioError, before anything is served.
    """
    _set_up_logging(settings.log_format)
    for remark in remarks:
        log.warning("%s", remark)
    descriptors.raise_limit()
    tls = tls_of(settings)
    settings, sockets = bound(replace(settings, ca=tls.ca if tls else None))
    # Take the version before the content is read, so no change in between is missed.
    watcher = _watcher(settings)
    sandbox = build(settings)
    # Ctrl-C is how it is meant to be ended, and no failure.
    with suppress(KeyboardInterrupt):
        sandbox.worlds.slices.owns_collector = True
        _Server(
            config_of(sandbox.app, pool_of(sandbox, settings), tls),
            on_ready=lambda: announce(sandbox, settings),
            beside=None if watcher is None else partial(watcher.watch, sandbox.worlds.default),
            leave=sandbox.leave,
            on_end=lambda: take_leave(sandbox, settings),
        ).run(sockets)


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop of the kind that serves best here."""
    return auto_loop_factory()()


@asynccontextmanager
async def serving(
    app: Application, sockets: list[socket.socket], pool: ConnectionPool | None = None
) -> AsyncIterator[None]:
    """Serve on the loop that is running until the block ends.

    Signal handlers and garbage collection stay as the process has them.
    """
    config = config_of(app, pool or ConnectionPool())
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets)
    _queue(sockets)
    try:
        yield
    finally:
        await server.shutdown(sockets)


def bound(settings: Settings) -> tuple[Settings, list[socket.socket]]:
    """The settings with the actual address and ports, and their sockets.

    Raises SettingsError.
    """
    sockets = [bind(settings.host, settings.port, "--port")]
    address, port, *_ = sockets[0].getsockname()
    settings = replace(settings, port=port, bound_address=address)
    if settings.control_port is not None:
        # The same address: a name may lead to another one when it is looked up again.
        sockets.append(bind(address, settings.control_port, "--control-port"))
        settings = replace(settings, control_port=sockets[1].getsockname()[1])
    return settings, sockets


def pool_of(sandbox: Sandbox, settings: Settings) -> ConnectionPool:
    """The pool that counts the connections of a sandbox. Raises SettingsError."""
    return ConnectionPool(
        places=descriptors.shares(settings.connections_max),
        control_port=settings.control_port,
        is_for_control=sandbox.is_for_control,
    )


def _queue(sockets: list[socket.socket]) -> None:
    """Let many clients wait until they are accepted, though few are at once."""
    for one in sockets:
        one.listen(_BACKLOG)


def tls_of(settings: Settings) -> "Tls | None":
    """The TLS of a server; None if it speaks plain HTTP. Raises SettingsError."""
    if not settings.is_tls:
        return None
    from sandbox import certificates

    try:
        if settings.tls_cert is not None:
            return certificates.given(settings.tls_cert, settings.tls_key)
        hosts = (settings.host, *settings.allow_hosts)
        return certificates.own(settings.tls_folder or certificates.default_folder(), hosts)
    except certificates.CertificateError as error:
        raise SettingsError(str(error)) from None


def config_of(app: Application, pool: ConnectionPool, tls: "Tls | None" = None) -> uvicorn.Config:
    """The settings of uvicorn: our protocol on the connections of this pool."""
    config = uvicorn.Config(
        app,
        http=partial(Protocol, pool=pool),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        backlog=_ACCEPTED_AT_ONCE,
        log_config=None,
        # Without a level of its own, uvicorn prepares trace lines for every request.
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    config.load()
    config.lifespan_class = _Lifespan
    if isinstance(app, Surfaces):
        app.turns.after_each_turn(pool.batch.send)
    config.ssl = tls.context if tls else None
    return config


def _watcher(settings: Settings) -> "ScenarioReloader | None":
    if not settings.watch:
        return None
    from sandbox.scenario_reload import ScenarioReloader

    assert settings.scenario is not None
    return ScenarioReloader(scenario_file(settings.scenario))


def bind(host: str, port: int, option: str) -> socket.socket:
    """A bound socket. Raises SettingsError naming the option at fault."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # The connections inherit it; the system would let some megabytes of each wait.
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _UNREAD_BYTES)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError) as error:
        bound.close()
        # `make run` says how its port is chosen.
        under_make = os.environ.get("SANDBOX_PORT_HINT") if option == "--port" else None
        how = under_make or f"{option}, or 0 for any free one"
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error}; choose another with {how}"
        ) from error
    bound.listen(_BACKLOG)
    return bound


# --- the log --------------------------------------------------------------------------------


class _JsonLines(logging.Formatter):
    """One JSON object per record; that of a request has fields of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, with its traceback if it has one."""
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().rstrip(),
        }
        line |= getattr(record, "request", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


class _TextLines(logging.Formatter):
    """One line per record, even if clients send line breaks; a traceback is indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text that a terminal prints and does not obey."""
        lines = [f"{record.levelname} {printable(record.getMessage().rstrip())}"]
        if record.exc_info:
            traceback = self.formatException(record.exc_info).splitlines()
            lines += [f"  {printable(line)}" for line in traceback]
        return "\n".join(lines)


def _set_up_logging(log_format: LogFormat) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if log_format == "json" else _TextLines())
    for name, level in (("sandbox", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
