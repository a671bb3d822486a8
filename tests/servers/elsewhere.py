"""The tests of one sandbox, asked of another process.

TESTED_SANDBOX says which the fixture `sandbox` is: `elsewhere` is a server that has no world,
because another one has them all; `uvicorn` and `hypercorn` serve `create_app` by themselves. Tests
that look into the process of a sandbox, where there is nothing to be seen then, are skipped.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest

from sandbox.app import Sandbox, build
from sandbox.settings import Settings
from sandbox.worlds.world import Cast
from tests.driving import FROZEN, NOW, InProcess, Served
from tests.in_process import Application, Exchange, Response
from tests.servers.driving import serving
from tests.servers.postgres import serving_postgres, until_listening
from tests.state.remote import send
from tests.state.saved_worlds import SavedWorld
from tests.whole.installing import free_port

TESTED = os.environ.get("TESTED_SANDBOX", "")
COMMANDS = {
    "uvicorn": ["uvicorn", "--factory", "sandbox.app:create_app", "--port", "{port}"],
    "hypercorn": ["hypercorn", "sandbox.app:create_app()", "--bind", "127.0.0.1:{port}"],
}

_stack = contextlib.ExitStack()


class Servers:
    """What is asked over a socket, at a `url` of this machine.

    `control` asks the control API; `fresh` is the snapshot of `default` as it is at first, and
    `owner` the name of the server that has it, where another one is asked.
    """

    owner: str | None = None
    url: str
    control: Callable[..., httpx2.Response]
    fresh: bytes

    def __init__(self) -> None:
        # Hypercorn closes a connection without a word when a request was answered before its body
        # was read.
        kept = httpx2.Limits(max_keepalive_connections=0 if TESTED == "hypercorn" else None)
        self.client = _stack.enter_context(httpx2.Client(timeout=60, verify=False, limits=kept))

    def begin_anew(self) -> None:
        """Have `default` be as it was at first, and no other world."""
        for world in self.control("GET", "/worlds", params={"shape": "row"}).json()["worlds"]:
            if world["id"] != "default":
                gone = self.control("DELETE", f"/worlds/{world['id']}")
                assert gone.status_code == 204, gone.text
        done = self.control("PUT", "/worlds/default/snapshot", content=self.fresh)
        assert done.status_code == 200, done.text
        assert done.headers.get("x-sandbox-server") == self.owner

    def _url_for(self, scope: dict[str, Any]) -> str:
        return self.url

    def answer(self, exchange: Exchange, app: Application) -> Response:
        """What the server answers."""
        return send(self.client, self._url_for(exchange.scope), exchange)


class ServedElsewhere(Served):
    """A server that has no world: those that are made at its address are made at the other."""

    makes_worlds: SavedWorld

    def control(self, method: str, path: str, **more: Any) -> httpx2.Response:
        if (method, path) == ("POST", "/worlds"):
            return self.makes_worlds.control(method, path, **more)
        return super().control(method, path, **more)


class Elsewhere(Servers):
    """Two servers: all is asked of the second, and the first has all worlds.

    After a test with many worlds, the first may have given `default` to the second. Then they
    change their parts.
    """

    def __init__(self) -> None:
        super().__init__()
        postgres = _stack.enter_context(serving_postgres())
        url, folder = postgres.new_database(), Path(_stack.enter_context(TemporaryDirectory()))
        options = ("--clock", NOW, "--worlds-max", "100000")
        self._servers = [
            (name, _stack.enter_context(serving(url, folder, name, *options)))
            for name in ("one", "other")
        ]
        self._take_parts()
        self.fresh = self._owner.control("GET", "/worlds/default/snapshot").content

    def _take_parts(self) -> None:
        (self.owner, self._owner), (_, self._entry) = self._servers
        self.control, self.url = self._entry.control, self._entry.url

    def begin_anew(self) -> None:
        read = self.control("GET", "/worlds/default")
        if "x-sandbox-server" not in read.headers:
            self._servers.reverse()
            self._take_parts()
        super().begin_anew()

    def _url_for(self, scope: dict[str, Any]) -> str:
        is_new = (scope["method"], scope["path"]) == ("POST", "/_sandbox/worlds")
        return self._owner.url if is_new else self.url

    @property
    def served(self) -> Served:
        """The server that has no world."""
        entry = self._entry
        served = ServedElsewhere(entry.process, entry.facts, entry.client)
        served.makes_worlds = self._owner
        return served


class OtherServer(Servers):
    """An ASGI server that knows nothing of the sandbox, with the application of `create_app`."""

    def __init__(self, name: str) -> None:
        super().__init__()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [part.format(port=port) for part in COMMANDS[name]]
        environment = {one: value for one, value in os.environ.items() if one != "TESTED_SANDBOX"}
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _stack.callback(process.wait, timeout=20)
        _stack.callback(process.terminate)
        self.fresh = InProcess(_likeness()).control("GET", "/worlds/default/snapshot").body
        until_listening(port)

    def control(self, method: str, path: str, **more: Any) -> httpx2.Response:
        return self.client.request(method, f"{self.url}/_sandbox{path}", **more)


@cache
def _servers() -> Servers:
    return Elsewhere() if TESTED == "elsewhere" else OtherServer(TESTED)


@cache
def _likeness() -> Sandbox:
    return build(Settings(clock=FROZEN))


class ElsewhereProcess(InProcess):
    """A fresh sandbox in another process, its clock frozen.

    Keys and accounts are those of one that began alike.
    """

    def __init__(self) -> None:
        servers = _servers()
        servers.begin_anew()
        self._like = InProcess(_likeness())
        self.world, self.header = self._like.world, self._like.header
        self.defaults = self._like.defaults
        self.run = servers.answer
        self._app = self._like.sandbox.app

    @property
    def sandbox(self) -> Any:  # type: ignore[override]
        pytest.skip("looks into the process of a sandbox")

    def key(self, name: str) -> str:
        return self._like.key(name)

    @property
    def cast(self) -> Cast:
        return self._like.cast

    def state(self) -> list[Any]:
        tables = self.control("GET", f"/worlds/{self.world}/snapshot").json()
        return [tables[name] for name in sorted({*tables} - {"counters", "key_usage"})]

    def carry_out(self, scope: dict[str, Any], payload: bytes) -> Response:
        return self.run(Exchange(scope, payload), self._app)


def served_elsewhere() -> Served:
    """A server that has no world, for tests that need one on a socket."""
    servers = _servers()
    assert isinstance(servers, Elsewhere)
    return servers.served


def end() -> None:
    """End the servers."""
    _stack.close()
