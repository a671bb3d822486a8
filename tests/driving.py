"""How tests drive a sandbox: in process through its ASGI face, or served on a real socket."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx2

from sandbox.app import Sandbox, build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.keys import KeyUsage
from sandbox.settings import Settings
from sandbox.worlds.world import Cast, World
from tests.in_process import Application, Exchange, Response, http_scope
from tests.processes import Process

NOW = "2026-03-01T12:00:00.000Z"
"""Where the clock of a test's world stands still: before the end of legacy keys."""

FROZEN = ClockSetting(now=parse_rfc3339(NOW), mode="frozen")

Run = Callable[[Exchange, Application], Response]
"""Has an application answer one request."""


@dataclass
class InProcess:
    """Asks a sandbox without a socket or an event loop: nothing in it waits for anything.

    A `run` of its own may wait. `world` gives the cast whose key names may be used as `key`; a key
    in full works too.
    """

    sandbox: Sandbox
    world: str = "default"
    header: str = "x-service-apikey"
    defaults: dict[str, str] = field(default_factory=lambda: {"accept": "application/json"})
    run: Run = Exchange.run_now

    def key(self, name: str) -> str:
        """The plaintext of a key of the cast; anything else as it is."""
        return self.cast.keys[name][1] if name in self.cast.keys else name

    @property
    def _world(self) -> World:
        world = self.sandbox.worlds.get(self.world)
        assert world is not None
        return world

    @property
    def cast(self) -> Cast:
        """The ids that the names of the world's cast stand for."""
        return self._world.cast

    def account(self, name: str) -> str:
        return self.cast.accounts[name]

    def key_id(self, name: str) -> str:
        return self.cast.keys[name][0]

    def ask(self, method: str, path: str, **sent: Any) -> Response:
        """One request, as `exchange` makes it."""
        exchange = self.exchange(method, path, **sent)
        return self.carry_out(exchange.scope, exchange.payload)

    def exchange(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        json_body: Any = ...,
        body: bytes | None = None,
        headers: list[tuple[bytes, bytes]] | None = None,
        query: str = "",
    ) -> Exchange:
        """A request. `json_body` goes as JSON, `body` as it is; `headers` replace all others."""
        sent = list(headers or [])
        if headers is None:
            sent = [(name.encode(), value.encode()) for name, value in self.defaults.items()]
            if json_body is not ... or body is not None:
                sent.append((b"content-type", b"application/json"))
            if key is not None:
                sent.append((self.header.encode(), self.key(key).encode("latin-1")))
        payload = b"" if json_body is ... else json.dumps(json_body).encode()
        if body is not None:
            payload = body
        return Exchange(http_scope(method, path, headers=sent, query=query), payload)

    def carry_out(self, scope: dict[str, Any], payload: bytes) -> Response:
        """The answer to a request as a server hands it over. Sandboxes elsewhere have their own."""
        return self.run(Exchange(scope, payload), self.sandbox.app)

    def control(self, method: str, path: str, json_body: Any = ..., *, query: str = "") -> Response:
        """One request to the control API; `path` without its prefix."""
        return self.ask(method, f"/_sandbox{path}", json_body=json_body, query=query)

    def look(self, path: str, **query: Any) -> Any:
        """What the control API shows of the world; of the server if the path has a slash first."""
        whole = path if path.startswith("/") else f"/worlds/{self.world}/{path}"
        answer = self.control("GET", whole, query=urlencode(query))
        assert answer.status == 200, (whole, query, answer.body)
        return answer.json()

    def state(self) -> list[Any]:
        """Every record and every message: what a refusal must leave as it was.

        When a key was last used is left out: a refused request has used its key.
        """
        store = self._world.store
        tables = [one for one in store.tables() if one.table.kind is not KeyUsage]
        return [*(dict(one.by_id) for one in tables), store.messages_now()]

    def journal(self, answer: Response) -> dict[str, Any]:
        """The journal entry of an answer of this world."""
        id = answer.headers["x-sandbox-request-id"]
        entry: dict[str, Any] = self.look(f"requests/{id}")
        return entry


def fresh(**settings: Any) -> InProcess:
    """A sandbox with these settings, its clock frozen at NOW."""
    made = build(Settings(**{"clock": FROZEN, **settings}))
    return InProcess(made, header=made.worlds.profile.api_key_header.lower())


def on_loop(loop: asyncio.AbstractEventLoop, timeout_s: float) -> Run:
    """Answers on this loop, which goes on with everything else meanwhile."""

    def run(exchange: Exchange, app: Application) -> Response:
        return loop.run_until_complete(asyncio.wait_for(exchange.run(app), timeout_s))

    return run


@dataclass
class Served:
    """A sandbox in a process of its own, as a user starts it."""

    process: Process
    facts: dict[str, Any]
    client: httpx2.Client

    @property
    def url(self) -> str:
        return str(self.facts["url"])

    def key(self, name: str) -> str:
        return str(self.facts["keys"][name])

    def ask(
        self, method: str, path: str, *, key: str | None = None, **more: Any
    ) -> httpx2.Response:
        headers = more.pop("headers", {})
        if key is not None:
            headers["x-service-apikey"] = self.facts["keys"].get(key, key)
        return self.client.request(method, self.url + path, headers=headers, **more)

    def control(self, method: str, path: str, **more: Any) -> httpx2.Response:
        return self.client.request(method, self.facts["control_url"] + path, **more)


@contextlib.contextmanager
def serving(*options: str) -> Iterator[Served]:
    """`sandbox serve` on a free port, ready, until the block ends."""
    process = Process(["serve", "--port", "0", "--log-format", "json", *options])
    try:
        line = process.stdout.readline()
        assert line, f"the server did not start: {process.communicate()[1]}"
        # To read the certificates of authorities takes 40 ms, and nothing is asked over TLS.
        with httpx2.Client(timeout=60, verify=False) as client:
            yield Served(process, json.loads(line), client)
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=60)
        process.close()
