"""A sandbox for tests: one in their own process, or one that runs elsewhere."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from sandbox.testing.control import PREFIX, Control, SandboxError
from sandbox.testing.coverage import Coverage, merged

if TYPE_CHECKING:
    from sandbox.app import Sandbox
    from sandbox.settings import Settings
    from sandbox.testing.loop_thread import LoopThread
    from sandbox.testing.receiver import Receiver
    from sandbox.testing.threaded_app import ThreadedApp
    from sandbox.testing.world import World

WORLD_OPTIONS: Final = ("name", "seed", "clock", "fixture", "scenario", "switches", "invent")
"""The options of a new world, see `Server.world`."""

_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Server:
    """A sandbox that answers at `url`, and creates the worlds of tests.

    `why_no_receiver` says why webhooks of its worlds cannot reach this process; None if they can.
    """

    url: str
    control: Control
    api_key_header: str
    background: "LoopThread"
    receiver: "Receiver"
    why_no_receiver: str | None = None
    built: "Sandbox | None" = None
    _coverage: list[Coverage] = field(default_factory=list)
    _worlds: "dict[str, World]" = field(default_factory=dict)

    @property
    def control_url(self) -> str:
        """Where its control API is."""
        return self.control.url

    @property
    def is_here(self) -> bool:
        """Whether the sandbox runs in this process."""
        return self.built is not None

    @property
    def asgi(self) -> "ThreadedApp":
        """The same sandbox as an ASGI application, without a socket.

        Raises SandboxError if it runs elsewhere.
        """
        from sandbox.testing.threaded_app import ThreadedApp

        if self.built is None:
            raise SandboxError(f"the sandbox at {self.url} runs elsewhere and has only its URL")
        return ThreadedApp(self.built.app, self.background)

    def world(
        self,
        *,
        name: str | None = None,
        seed: int | None = None,
        clock: str | datetime | Mapping[str, Any] | None = None,
        fixture: str | None = None,
        scenario: str | Path | Mapping[str, Any] | None = None,
        switches: Mapping[str, Any] | None = None,
        invent: Mapping[str, int] | None = None,
    ) -> "World":
        """A new world. Use it in a `with` block, or close it; the server closes it at the end.

        A `clock` that is an instant freezes the clock there; `{"now", "mode", "rate"}` sets more.
        `scenario` is a name from the library, a file, or a whole scenario; `invent` is
        `{"merchants", "terminals_per_merchant", "locations_per_merchant"}`.

        Raises SandboxRefused for invalid options.
        """
        from sandbox.testing.world import World
        from sandbox.testing.world_control import document_of, instant

        fields = {
            "name": name,
            "seed": seed,
            "clock": instant(clock) if isinstance(clock, str | datetime) else clock,
            "fixture": fixture,
            "scenario": None if scenario is None else document_of(scenario),
            "switches": switches,
            "invent": invent,
        }
        body = {option: value for option, value in fields.items() if value is not None}
        world = World(self, self.control.ask("POST", "/worlds", body))
        self._worlds[world.id] = world
        return world

    def forget(self, world: "World") -> None:
        """The world has been closed."""
        self._worlds.pop(world.id, None)

    def close_worlds(self) -> None:
        """Close the worlds that are still open."""
        for world in list(self._worlds.values()):
            world.close()

    def unkeyed_count(self) -> int:
        """The number of requests so far whose key belongs to no world; 0 for a remote server."""
        return 0 if self.built is None else self.built.worlds.default.store.counters.requests

    def unkeyed(self, after: int) -> list[dict[str, Any]]:
        """Those that came after so many, as the journal shows them; elsewhere none."""
        if self.built is None:
            return []
        entries = self.control.ask("GET", "/worlds/default/requests")["requests"]
        return [one for one in entries if int(one["id"].removeprefix("req_")) > after]

    def note_coverage(self, world_id: str) -> None:
        """Save the coverage of a world that is about to be deleted."""
        if self.built is None:
            self._coverage.append(self.control.ask("GET", f"/worlds/{world_id}/coverage"))

    def coverage(self) -> Coverage:
        """The parts of the platform that this test run used, and those that it never used.

        For a remote server it covers the worlds that were saved here.
        """
        if self.built is not None:
            found: Coverage = self.control.ask("GET", "/coverage")
            return found
        return merged(self._coverage)


@contextmanager
def sandbox_server(settings: "Settings | None" = None) -> Iterator[Server]:
    """A sandbox in this process, on a free port, until the block ends.

    It is always on 127.0.0.1, whatever the settings say, and holds its worlds until they are
    closed. Raises SettingsError, FixtureError, ScenarioError or StoreError, like any start.
    """
    from dataclasses import replace

    from sandbox.app import build
    from sandbox.server import bound, pool_of
    from sandbox.settings import Settings, SettingsError
    from sandbox.testing.loop_thread import LoopThread

    settings = settings or Settings()
    if settings.watch:
        raise SettingsError("watch: is for `sandbox serve`; a test runs its scenario anew")
    settings, sockets = bound(
        replace(
            settings,
            host=_LOOPBACK,
            port=0,
            control_port=None if settings.control_port is None else 0,
            # A test that freezes time at a later day must not make the others' worlds old.
            limits=replace(settings.limits, unused_after_s=float("inf")),
        )
    )
    with ExitStack() as stack:
        for one in sockets:
            stack.callback(one.close)
        built = build(settings)
        background = LoopThread()
        stack.callback(background.close)
        background.serve(built.app, sockets, pool_of(built, settings))
        control = Control(
            f"http://{_LOOPBACK}:{settings.control_port or settings.port}", token=built.token
        )
        stack.callback(control.close)
        server = Server(
            url=f"http://{_LOOPBACK}:{settings.port}",
            control=control,
            api_key_header=settings.profile.api_key_header,
            background=background,
            receiver=_receiver(background, _LOOPBACK),
            built=built,
        )
        stack.callback(server.close_worlds)
        yield server


@contextmanager
def sandbox_at(
    url: str,
    *,
    token: str | None = None,
    control_url: str | None = None,
    receiver_host: str | None = None,
    api_key_header: str = "x-service-apikey",
) -> Iterator[Server]:
    """The sandbox at this URL. Worlds are created there, and deleted when they are closed.

    `receiver_host` is the name or address under which that server reaches this machine; a
    server on the same machine does not need it. Raises SandboxError if no sandbox answers.
    """
    from sandbox.testing.loop_thread import LoopThread

    url = url.rstrip("/").removesuffix(PREFIX)
    with ExitStack() as stack:
        control = Control(control_url or url, token=token)
        stack.callback(control.close)
        control.ask("GET", "/health")
        background = LoopThread()
        stack.callback(background.close)
        why_no_receiver = None
        if receiver_host is None and not _is_loopback(urlsplit(url).hostname or ""):
            why_no_receiver = (
                f"the sandbox at {url} runs elsewhere: say under which name it reaches this "
                "machine (--sandbox-receiver-host)"
            )
        server = Server(
            url=url,
            control=control,
            api_key_header=api_key_header,
            background=background,
            receiver=_receiver(background, receiver_host or _LOOPBACK),
            why_no_receiver=why_no_receiver,
        )
        stack.callback(server.close_worlds)
        yield server


def _receiver(background: "LoopThread", host: str) -> "Receiver":
    """A receiver that is served from now on, and is reached at this host."""
    from sandbox.server import bind
    from sandbox.testing.receiver import Receiver

    socket = bind(_address(host), 0, "--sandbox-receiver-host")
    port = socket.getsockname()[1]
    receiver = Receiver(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    background.serve(receiver, [socket])
    return receiver


def _address(host: str) -> str:
    """The address to listen on: a name does not tell which address a client will use."""
    if _is_loopback(host):
        return _LOOPBACK if host == "localhost" else host
    return "::" if ":" in host else "0.0.0.0"  # noqa: S104 - the test asked for a reachable one


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
