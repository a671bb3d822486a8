"""Serving a sandbox on real sockets with uvicorn, and printing the banner."""

import asyncio
import gc
import json
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.loops.auto import auto_loop_factory

from sandbox import __version__, descriptors
from sandbox.app import Sandbox, build
from sandbox.domain.printable import printable
from sandbox.http.connections import ConnectionPool
from sandbox.http.protocol import Protocol
from sandbox.http.refusals import Application
from sandbox.library import scenario_file
from sandbox.settings import LogFormat, Settings, SettingsError

if TYPE_CHECKING:
    from sandbox.scenario_reload import ScenarioReloader

_BACKLOG: Final = 2048
_ACCEPTED_AT_ONCE: Final = 4
"""asyncio's own loop accepts so many connections before it looks at any of them, and each takes a
file, also when it is refused afterwards. uvloop accepts them one by one."""
_UNREAD_BYTES: Final = 65_536
"""Size of a socket's receive buffer, and of one read. With larger reads, many clients that send
much at the same moment would keep all others waiting."""
_GRACE_S: Final = 2
_GC_AFTER: Final = 5_000
"""Objects created between two collections. A request leaves no cycles, only its journal entry, so
the default of 700 would find nothing again and again. A collection of this many takes a few
milliseconds, during which no request is served."""
_GC_MIDDLE: Final = 3
"""After so many collections, what survived one of them is looked at once more, all together."""
_GC_NEVER: Final = 100_000
"""Objects that survive two collections are state and stay: searching all of them would take long
and find nothing."""


class _Server(uvicorn.Server):
    """A server that calls a function when it is ready, and runs a task while it serves."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        on_ready: Callable[[], None],
        beside: Callable[[], Coroutine[Any, Any, None]] | None,
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._beside = beside
        self._task: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then announce it."""
        await super().startup(sockets)
        _queue(sockets or [])
        if self.started:
            # Existing objects stay; collections need not search them again and again.
            gc.freeze()
            gc.set_threshold(_GC_AFTER, _GC_MIDDLE, _GC_NEVER)
            gc.enable()
            self._on_ready()
            if self._beside is not None:
                self._task = asyncio.create_task(self._beside())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the task, then the server."""
        if self._task is not None:
            self._task.cancel()
        await super().shutdown(sockets)


def serve(settings: Settings) -> None:
    """Serve until interrupted.

    Raises SettingsError, FixtureError or ScenarioError, before anything is served.
    """
    _set_up_logging(settings.log_format)
    descriptors.raise_limit()
    settings, sockets = bound(settings)
    # Take the version before the content is read, so no change in between is missed.
    watcher = _watcher(settings)
    sandbox = build(settings)
    # Ctrl-C is how it is meant to be ended, and no failure.
    with suppress(KeyboardInterrupt):
        sandbox.worlds.slices.owns_collector = True
        _Server(
            _config(sandbox.app, pool_of(sandbox, settings)),
            on_ready=lambda: _announce(sandbox, settings),
            beside=None if watcher is None else partial(watcher.watch, sandbox.worlds.default),
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
    config = _config(app, pool or ConnectionPool())
    config.load()
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


def _config(app: Application, pool: ConnectionPool) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=partial(Protocol, pool=pool),  # type: ignore[arg-type]
        ws="none",
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
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error}; choose another with {option}, "
            "or 0 for any free one"
        ) from error
    bound.listen(_BACKLOG)
    return bound


# --- the banner -------------------------------------------------------------------------------


def _announce(sandbox: Sandbox, settings: Settings) -> None:
    facts = _facts(sandbox, settings)
    if settings.log_format == "json":
        print(json.dumps({"event": "started", **facts}), flush=True)
    else:
        print(_banner(facts), flush=True)


def _facts(sandbox: Sandbox, settings: Settings) -> dict[str, object]:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{settings.port}"
    control_port = settings.control_port or settings.port
    world = sandbox.worlds.default
    return {
        "version": __version__,
        "url": url,
        "control_url": f"http://{host}:{control_port}/_sandbox",
        # One that was given is known already, and logs are read by many (assumed D25-token).
        "token": sandbox.token if settings.token is None else None,
        "needs_token": sandbox.token is not None,
        "store": sandbox.store,
        "fixture": world.spec.fixture.name,
        "seed": world.spec.seed,
        "clock": world.clock.view(),
        "api_key_header": settings.profile.api_key_header,
        "keys": {name: key for name, (_, key) in world.cast.keys.items()},
        "known_keys": world.spec.keys_are_known,
        "terminals": world.cast.terminals,
    }


def _banner(facts: dict[str, object]) -> str:
    keys = facts["keys"]
    assert isinstance(keys, dict)
    width = max(map(len, keys), default=0)
    clock = facts["clock"]
    assert isinstance(clock, dict)
    first = keys.get("merchant") or next(iter(keys.values()), "(the fixture has no key)")
    lines = [
        f"uat-sandbox {facts['version']} serves the platform on {facts['url']}",
        f"world default: fixture {facts['fixture']}, seed {facts['seed']}, "
        f"clock {clock['mode']} at {clock['now']}, stored in {facts['store']}",
        "",
        "API keys of the world default:",
        *(f"  {name:<{width}}  {key}" for name, key in keys.items()),
        *_about_keys(facts),
        "",
        "A first request to paste:",
        f"  curl -s {facts['url']}/v5/apikeys -H '{facts['api_key_header']}: {first}'",
        "",
        *_first_payment(facts),
        *_token_lines(facts),
        "The reasons for each answer:",
        f"  curl -s {facts['control_url']}/worlds/default/requests" + _bearer(facts),
        "",
        "The API to read and try in a browser:",
        f"  {facts['control_url']}/docs",
        "",
        "Ctrl-C stops it.",
    ]
    return "\n".join(lines)


def _about_keys(facts: dict[str, object]) -> list[str]:
    """A note about the keys, if they are not the documented ones."""
    if facts["known_keys"]:
        return []
    return ["These keys belong to this server only; --known-keys gives a new one the known keys."]


def _first_payment(facts: dict[str, object]) -> list[str]:
    """A sale to paste, if the fixture has a merchant with a terminal and a key."""
    keys, terminals = facts["keys"], facts["terminals"]
    assert isinstance(keys, dict)
    assert isinstance(terminals, dict)
    if "merchant" not in keys or "merchant" not in terminals:
        return []
    body = json.dumps({"amount": 1000, "terminal_id": terminals["merchant"]})
    return [
        "A first payment:",
        f"  curl -s {facts['url']}/v3/payment -H '{facts['api_key_header']}: {keys['merchant']}' "
        f"-H 'content-type: application/json' -d '{body}'",
        "",
    ]


def _token_lines(facts: dict[str, object]) -> list[str]:
    """The token line: a token that was made up is shown here and nowhere else."""
    if not facts["needs_token"]:
        return []
    if facts["token"] is None:
        return ["The control API needs the token that you gave.", ""]
    return [
        "The control API needs a token, which was made up for this start:",
        f"  export SANDBOX_TOKEN={facts['token']}",
        "",
    ]


def _bearer(facts: dict[str, object]) -> str:
    return ' -H "Authorization: Bearer $SANDBOX_TOKEN"' if facts["needs_token"] else ""


class _JsonLines(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, with its traceback if it has one."""
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


class _TextLines(logging.Formatter):
    """One line per record, even if clients send line breaks; a traceback is indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text that a terminal prints and does not obey."""
        lines = [f"{record.levelname} {printable(record.getMessage())}"]
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
