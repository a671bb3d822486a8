"""The tests of one sandbox, asked of a server that has no world: another one has them all.

With TESTED_SANDBOX=elsewhere the fixture `sandbox` is such a one. Tests that look into the process
of a sandbox, where there is nothing to be seen then, are skipped.
"""

import contextlib
import http.client
import os
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from sandbox.app import Sandbox, build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.settings import Settings
from tests.driving import InProcess
from tests.in_process import Application, Exchange, Response
from tests.servers.postgres import serving_postgres
from tests.servers.serving import serving

IS_TESTED = os.environ.get("TESTED_SANDBOX") == "elsewhere"

KEPT_S = 3.0

_stack = contextlib.ExitStack()


class Elsewhere:
    """Two servers: all is asked of the second, and the first has the world `default`."""

    def __init__(self, now: str) -> None:
        postgres = _stack.enter_context(serving_postgres())
        url, folder = postgres.new_database(), Path(_stack.enter_context(TemporaryDirectory()))
        options = ("--clock", now, "--worlds-max", "100000")
        self.owner = _stack.enter_context(serving(url, folder, "owner", *options))
        self.entry = _stack.enter_context(serving(url, folder, "entry", *options))
        self._fresh = self.owner.control("GET", "/worlds/default/snapshot").content
        self._line = http.client.HTTPConnection("127.0.0.1", self.port)
        self._used_s = 0.0

    @property
    def port(self) -> int:
        return int(self.entry.url.rpartition(":")[2])

    def begin_anew(self) -> None:
        """Have `default` be as it was at first, on the first server."""
        for world in self.entry.control("GET", "/worlds", params={"shape": "row"}).json()["worlds"]:
            if world["id"] != "default":
                gone = self.entry.control("DELETE", f"/worlds/{world['id']}")
                assert gone.status_code == 204, gone.text
        done = self.entry.control("PUT", "/worlds/default/snapshot", content=self._fresh)
        assert done.status_code == 200, done.text
        assert done.headers["x-sandbox-server"] == "owner"

    def answer(self, exchange: Exchange, app: Application) -> Response:
        """What the second server answers."""
        scope = exchange.scope
        if time.monotonic() - self._used_s > KEPT_S:
            # The server closes a connection that nobody uses.
            self._line.close()
        self._used_s = time.monotonic()
        target = scope["raw_path"].decode()
        if scope["query_string"]:
            target += "?" + scope["query_string"].decode("latin-1")
        self._line.putrequest(scope["method"], target, skip_host=True, skip_accept_encoding=True)
        names = {name for name, _ in scope["headers"]}
        if b"host" not in names:
            self._line.putheader("host", f"127.0.0.1:{self.port}")
        if (
            b"content-length" not in names
            and b"transfer-encoding" not in names
            and exchange.payload
        ):
            self._line.putheader("content-length", str(len(exchange.payload)))
        for name, value in scope["headers"]:
            self._line.putheader(name, value)
        try:
            self._line.endheaders(exchange.payload or None)
            answer = self._line.getresponse()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return Response(answer.status, headers, answer.read())
        except (http.client.HTTPException, OSError):
            self._line.close()
            return Response(0, {}, b"")


@cache
def _servers(now: str) -> Elsewhere:
    return Elsewhere(now)


@cache
def _likeness(now: str) -> Sandbox:
    frozen = ClockSetting(now=parse_rfc3339(now), mode="frozen")
    return build(Settings(clock=frozen))


class ElsewhereProcess(InProcess):
    """A sandbox on another server. Keys and accounts are those of one that began alike."""

    def __init__(self, now: str) -> None:
        servers = _servers(now)
        servers.begin_anew()
        self._like = InProcess(_likeness(now))
        self.world, self.header = self._like.world, self._like.header
        self.defaults = self._like.defaults
        self.run = servers.answer
        self._app = self._like.sandbox.app

    @property
    def sandbox(self) -> Any:  # type: ignore[override]
        pytest.skip("looks into the process of a sandbox")

    def key(self, name: str) -> str:
        return self._like.key(name)

    def account(self, name: str) -> str:
        return self._like.account(name)

    def key_id(self, name: str) -> str:
        return self._like.key_id(name)

    def carry_out(self, scope: dict[str, Any], payload: bytes) -> Response:
        return self.run(Exchange(scope, payload), self._app)


def sandbox_elsewhere(now: str) -> InProcess:
    """A fresh sandbox on another server, its clock frozen."""
    return ElsewhereProcess(now)


def end() -> None:
    """End the servers."""
    _stack.close()
