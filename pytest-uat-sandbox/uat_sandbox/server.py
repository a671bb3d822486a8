"""A sandbox for tests: in their own process, in another process, or at a URL."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from uat_sandbox.collector import without_collector
from uat_sandbox.control import PREFIX, Control
from uat_sandbox.coverage import Coverage, merged
from uat_sandbox.errors import SandboxError, SandboxRefused
from uat_sandbox.finding import place, serving_command
from uat_sandbox.observations import Observed, observed
from uat_sandbox.process import sandbox_process
from uat_sandbox.receiver import Receiver
from uat_sandbox.seeds import seed_of
from uat_sandbox.webhooks import Webhooks

if TYPE_CHECKING:
    from httpx2 import HTTPTransport

    from sandbox.app import Sandbox
    from sandbox.server.embedded import Embedded, ThreadedApp
    from sandbox.settings import Settings
    from uat_sandbox.world import World

__tracebackhide__ = True

WORLD_OPTIONS: Final = (
    "name",
    "seed",
    "clock",
    "fixture",
    "scenario",
    "switches",
    "readings",
    "invent",
)
"""The options of a new world, see `Server.world`."""

_DEMO: Final = "demo"
"""The fixture of worlds for which none is chosen."""

_LOOPBACK: Final = "127.0.0.1"
_ANY: Final = ("0.0.0.0", "::")  # noqa: S104 - hosts in URLs to which clients cannot connect


@dataclass
class _Test:
    """The running test, and what happened in worlds that it has closed."""

    id: str = ""
    worlds: int = 0
    is_under_way: bool = False
    should_capture: bool = False
    captures: list[tuple[str, bytes]] = field(default_factory=list)
    ended: list[Observed] = field(default_factory=list)


@dataclass(eq=False, kw_only=True)
class Server:
    """A sandbox that answers at `url`, and creates the worlds of tests.

    `why_no_receiver` says why webhooks of its worlds cannot reach this process; None if they can.
    `is_own` if only this process uses it. With `should_derive_seeds`, the worlds of a test get
    seeds from its id; otherwise they get `seed`, or the server's.
    """

    url: str
    control: Control
    api_key_header: str
    receiver: Receiver
    why_no_receiver: str | None = None
    embedded: "Embedded | None" = None
    is_own: bool = False
    should_derive_seeds: bool = False
    seed: int | None = None
    _transports: "list[HTTPTransport]" = field(default_factory=list)
    _coverage: list[Coverage] = field(default_factory=list)
    _worlds: "dict[str, World]" = field(default_factory=dict)
    _inboxes: Iterator[int] = field(default_factory=lambda: count(1))
    _test: _Test = field(default_factory=_Test)

    @property
    def control_url(self) -> str:
        """The URL of its control API."""
        return self.control.url

    @property
    def is_here(self) -> bool:
        """Whether the sandbox runs in this process."""
        return self.embedded is not None

    @property
    def built(self) -> "Sandbox | None":
        """The application, if it runs in this process."""
        return None if self.embedded is None else self.embedded.built

    @property
    def asgi(self) -> "ThreadedApp":
        """The sandbox as an ASGI application, without a socket.

        Raises SandboxError if it runs elsewhere.
        """
        if self.embedded is None:
            raise SandboxError(f"the sandbox at {self.url} runs elsewhere and has only its URL")
        return self.embedded.asgi

    @property
    def transport(self) -> "HTTPTransport":
        """The transport of the httpx2 clients of all worlds; only with httpx2."""
        if not self._transports:
            from uat_sandbox.connections import shared_transport

            self._transports.append(shared_transport(self.url, self.embedded))
        return self._transports[0]

    def world(
        self,
        *,
        name: str | None = None,
        seed: int | None = None,
        clock: str | datetime | Mapping[str, Any] | None = None,
        fixture: str | None = None,
        scenario: str | Path | Mapping[str, Any] | None = None,
        switches: Mapping[str, Any] | None = None,
        readings: Mapping[str, str] | None = None,
        invent: Mapping[str, int] | None = None,
    ) -> "World":
        """Create a world.

        Use it in a `with` block, or close it; otherwise the server closes it at the end.

        A `clock` that is an instant freezes the clock there; `{"now", "mode", "rate"}` sets more.
        `scenario` is a name from the library, a file, or a whole scenario; `invent` is
        `{"merchants", "terminals_per_merchant", "locations_per_merchant"}`.

        Raises SandboxRefused for invalid options.
        """
        from uat_sandbox.scenario_files import document_of, naming
        from uat_sandbox.world import World
        from uat_sandbox.world_control import instant

        fields = {
            "name": name,
            "seed": self._next_seed() if seed is None else seed,
            "clock": instant(clock) if isinstance(clock, str | datetime) else clock,
            "fixture": fixture,
            "scenario": None if scenario is None else document_of(scenario),
            "switches": switches,
            "readings": readings,
            "invent": invent,
        }
        body = {option: value for option, value in fields.items() if value is not None}
        with naming(scenario):
            world = World(self, *self._create_world(body))
        if world.view["fixture"] == _DEMO:
            world.note_switches(switches or {})
        else:
            # A saved world brings switches along.
            world.switches()
        self._worlds[world.id] = world
        return world

    def _create_world(
        self, body: dict[str, Any]
    ) -> "tuple[dict[str, Any], Webhooks | None, str | None]":
        """Return the new world, and its webhooks or the reason why there are none."""
        if (why := self.why_no_receiver) is None:
            webhooks = Webhooks(str(next(self._inboxes)), self.control, self.receiver)
            try:
                endpoints = [webhooks.endpoint]
                view = self.control.ask("POST", "/worlds", {**body, "endpoints": endpoints})
            except SandboxRefused as error:
                if error.error == "endpoint_taken":
                    # The fixture is a world that the kit saved.
                    view = self.control.ask("POST", "/worlds", body)
                    webhooks.world_id = str(view["id"])
                    webhooks.register_anew()
                    return view, webhooks, None
                webhooks.close()
                place = re.match(r"endpoints\.0(\.|: )", error.message)
                if place is None:
                    raise
                # Fail only the tests that use webhooks.
                why = str(error).removeprefix(place[0])
            else:
                return view, webhooks, None
        return self.control.ask("POST", "/worlds", body), None, why

    def _next_seed(self) -> int | None:
        """Return the seed of a world for which none was chosen."""
        if not self.should_derive_seeds:
            return self.seed
        self._test.worlds += 1
        return seed_of(self._test.id, self._test.worlds)

    def forget(self, world: "World") -> None:
        """Forget a world that is about to be closed, but keep its history for the test's report."""
        if self._worlds.pop(world.id, None) is not None and self._test.is_under_way:
            self._test.ended.append(observed(world))
            if self._test.should_capture:
                self._test.captures.append((world.id, self._capture(world)))

    def _capture(self, world: "World") -> bytes:
        return self.control.response("GET", f"/worlds/{world.id}/capture").content

    def close_worlds(self) -> None:
        """Close the worlds that are still open."""
        self.end_test()
        for world in list(self._worlds.values()):
            world.close()
        while self._transports:
            from uat_sandbox.connections import close_connections

            close_connections(self._transports.pop())

    # --- reports of tests

    def begin_test(self, id: str = "") -> None:
        """Begin a test with this id, and note what has happened so far in older worlds."""
        self._test.id, self._test.worlds = id, 0
        self._test.ended.clear()
        self._test.captures.clear()
        self._test.is_under_way = True
        for world in self._worlds.values():
            world.begin_test()

    def end_test(self) -> None:
        """End the test: worlds that are closed from now on are not reported."""
        self._test.is_under_way = False

    def observed(self) -> list[Observed]:
        """List what happened in each world since the test began, including closed worlds."""
        now = [observed(world) for world in self._worlds.values()]
        return [one for one in (*self._test.ended, *now) if one.has_news]

    def take_captures(self) -> None:
        """Capture worlds when a test closes them, because the test may fail afterwards."""
        self._test.should_capture = True

    def list_captures(self) -> list[tuple[str, bytes]]:
        """Return a capture of each world that the test used, with its id. Raises SandboxError."""
        used = [world for world in self._worlds.values() if observed(world).has_news]
        return [*self._test.captures, *((world.id, self._capture(world)) for world in used)]

    def unkeyed_count(self) -> int:
        """Return the number of the newest request in `default`, where those without a key are.

        Return 0 for a shared server.
        """
        if self.embedded is not None:
            return self.embedded.unkeyed_count()
        return max(map(_number, self._of_default()), default=0) if self.is_own else 0

    def unkeyed(self, after: int) -> list[dict[str, Any]]:
        """Return the journal entries of `default` after this number; none for a shared server."""
        if self.embedded is None and not self.is_own:
            return []
        return [one for one in self._of_default() if _number(one) > after]

    def _of_default(self) -> list[dict[str, Any]]:
        """Return the newest requests in the journal of `default`."""
        entries: list[dict[str, Any]] = self.control.ask("GET", "/worlds/default/requests")[
            "requests"
        ]
        return entries

    # --- coverage

    def note_coverage(self, world_id: str) -> None:
        """Save the coverage of a world that is about to be deleted."""
        if self.embedded is None:
            self._coverage.append(self.control.ask("GET", f"/worlds/{world_id}/coverage"))

    def coverage(self) -> Coverage:
        """Return which parts of the platform this test run used, and which it never used.

        For a remote server this covers the worlds passed to `note_coverage`.
        """
        if self.embedded is not None:
            found: Coverage = self.control.ask("GET", "/coverage")
            return found
        return merged(self._coverage)


def _number(entry: Mapping[str, Any]) -> int:
    """Return the number of a request in its journal."""
    return int(str(entry["id"]).removeprefix("req_"))


@contextmanager
def sandbox_server(
    settings: "Settings | None" = None, *, command: str | Sequence[str] | None = None
) -> Iterator[Server]:
    """Yield a sandbox on a free port of 127.0.0.1 until the block ends.

    It runs in this process if `uat-sandbox` is installed, and otherwise in the process of the
    `command`, such as `uvx --from WHEEL uat-sandbox`. `settings` are only for this process.

    Raises SandboxError if there is no sandbox, and SettingsError, FixtureError, ScenarioError or
    StoreError for settings with which it cannot start.
    """
    if command is not None and not isinstance(command, str):
        with of_process(serving_command(tuple(command)), settings) as server:
            yield server
        return
    where = place(None, command, {}, ())
    if where.is_here:
        with of_this_process(settings) as server:
            yield server
    elif where.command:
        with of_process(where.command, settings) as server:
            yield server
    else:
        raise SandboxError(where.why_not)


@contextmanager
def of_this_process(settings: "Settings | None") -> Iterator[Server]:
    """Yield a sandbox in this process. Raises like `sandbox_server`."""
    with without_collector():
        from sandbox.server.embedded import embedded

    with ExitStack() as stack:
        one = stack.enter_context(embedded(settings))
        control = Control(one.control_url, token=one.token, embedded=one)
        stack.callback(control.close)
        receiver = Receiver(_LOOPBACK, _LOOPBACK)
        stack.callback(receiver.close)
        one.receivers.add(receiver.origin, receiver.take_local)
        server = Server(
            url=one.url,
            control=control,
            api_key_header=one.api_key_header,
            receiver=receiver,
            embedded=one,
        )
        stack.callback(server.close_worlds)
        yield server


@contextmanager
def of_process(
    command: Sequence[str],
    settings: "Settings | None" = None,
    *,
    folder: Path | None = None,
    token: str | None = None,
    receiver_host: str | None = None,
) -> Iterator[Server]:
    """Yield a sandbox in a separate process. Raises SandboxError."""
    if settings is not None:
        raise SandboxError(
            "settings are for a sandbox in this process; give the command its options instead"
        )
    with sandbox_process(command, folder=folder) as facts:
        url, control_url = (str(facts[name]) for name in ("url", "control_url"))
        for host in _ANY:
            url, control_url = (
                one.replace(f"//{f'[{host}]' if ':' in host else host}:", f"//{_LOOPBACK}:")
                for one in (url, control_url)
            )
        with sandbox_at(
            url,
            control_url=control_url,
            token=facts["token"] or token,
            receiver_host=receiver_host,
            api_key_header=facts["api_key_header"],
        ) as server:
            server.is_own = True
            yield server


@contextmanager
def sandbox_at(
    url: str,
    *,
    token: str | None = None,
    control_url: str | None = None,
    receiver_host: str | None = None,
    api_key_header: str | None = None,
    origin: str = "",
) -> Iterator[Server]:
    """Yield the sandbox at this URL. Worlds are created there, and deleted when they are closed.

    `receiver_host` is the name or address under which that server reaches this machine; a server on
    the same machine does not need it. The server knows its `api_key_header`. Raises SandboxError if
    no sandbox answers; the message contains the `origin` of the URL.
    """
    url = url.rstrip("/").removesuffix(PREFIX)
    with ExitStack() as stack:
        control = Control(control_url or url, token=token, origin=origin)
        stack.callback(control.close)
        control.ask("GET", "/health")
        why_no_receiver = None
        if receiver_host is None and not _is_loopback(urlsplit(url).hostname or ""):
            why_no_receiver = (
                f"the sandbox at {url} runs elsewhere: give the name under which it reaches this "
                "machine (--sandbox-receiver-host)"
            )
        host = receiver_host or _LOOPBACK
        receiver = Receiver(_address(host), host)
        stack.callback(receiver.close)
        server = Server(
            url=url,
            control=control,
            api_key_header=api_key_header or control.ask("GET", "/session")["api_key_header"],
            receiver=receiver,
            why_no_receiver=why_no_receiver,
        )
        stack.callback(server.close_worlds)
        yield server


def _address(host: str) -> str:
    """Return the address to listen on; for a name, all, since clients may use any of them."""
    if _is_loopback(host):
        return _LOOPBACK if host == "localhost" else host
    return "::" if ":" in host else "0.0.0.0"  # noqa: S104 - the test asked for a reachable one


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
