"""Requests to a sandbox without a socket."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlencode

from sandbox.app import Sandbox
from sandbox.worlds.world import Cast, World
from tests.in_process import Application, Exchange, Response, http_scope

Run = Callable[[Exchange, Application], Response]
"""Has an application answer one request."""


@dataclass
class Caller:
    """Asks a sandbox without a socket or an event loop: nothing in it waits for anything.

    A `run` of its own may wait. `world` gives the cast whose key names may be used as `key`; a key
    in full works too.
    """

    sandbox: Sandbox
    world: str = "default"
    header: str = "x-service-apikey"
    defaults: dict[str, str] = field(default_factory=lambda: {"accept": "application/json"})
    run: Run = Exchange.run_now

    # --- the world ----------------------------------------------------------------------------

    def get_world(self) -> World:
        """The world itself, for what no request can ask."""
        world = self.sandbox.worlds.get(self.world)
        assert world is not None
        return world

    @property
    def cast(self) -> Cast:
        """The ids that the names of the world's cast stand for."""
        return self.get_world().cast

    def key(self, name: str) -> str:
        """The plaintext of a key of the cast; anything else as it is."""
        return self.cast.plaintexts.get(name, name)

    def key_id(self, name: str) -> str:
        return self.cast.keys[name]

    def account_id(self, name: str) -> str:
        """The id of an account of the cast; anything else as it is."""
        return self.cast.accounts.get(name, name)

    def terminal_id(self, name: str) -> str:
        return self.cast.terminals[name]

    def location_id(self, name: str) -> str:
        return self.cast.locations[name]

    # --- requests -----------------------------------------------------------------------------

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
        outcome: str | None = None,
    ) -> Exchange:
        """A request. `json_body` goes as JSON, `body` as it is; `headers` replace all others.

        `outcome` is what the header of the request forces: assumed 6.3.
        """
        sent = list(headers or [])
        if headers is None:
            sent = [(name.encode(), value.encode()) for name, value in self.defaults.items()]
            if json_body is not ... or body is not None:
                sent.append((b"content-type", b"application/json"))
            if key is not None:
                sent.append((self.header.encode(), self.key(key).encode("latin-1")))
            if outcome is not None:
                sent.append((b"x-sandbox-outcome", outcome.encode()))
        payload = b"" if json_body is ... else json.dumps(json_body).encode()
        if body is not None:
            payload = body
        return Exchange(http_scope(method, path, headers=sent, query=query), payload)

    def carry_out(self, scope: dict[str, Any], payload: bytes) -> Response:
        """The answer to a request as a server hands it over. Sandboxes elsewhere have their own."""
        return self.run(Exchange(scope, payload), self.sandbox.app)

    def ask(self, method: str, path: str, **sent: Any) -> Response:
        """One request, as `exchange` makes it."""
        exchange = self.exchange(method, path, **sent)
        return self.carry_out(exchange.scope, exchange.payload)

    def get(self, path: str, *, by: str | None = "partner", **more: Any) -> Response:
        return self.ask("GET", path, key=by, **more)

    def post(
        self, path: str, body: Any = ..., *, by: str | None = "partner", **more: Any
    ) -> Response:
        return self.ask("POST", path, key=by, json_body=body, **more)

    def put(
        self, path: str, body: Any = ..., *, by: str | None = "partner", **more: Any
    ) -> Response:
        return self.ask("PUT", path, key=by, json_body=body, **more)

    def delete(self, path: str, *, by: str = "partner") -> Response:
        return self.ask("DELETE", path, key=by)

    def list_all(
        self, path: str, plural: str, *, by: str = "partner", query: str = ""
    ) -> list[dict[str, Any]]:
        """All rows of a listing, page by page."""
        rows: list[dict[str, Any]] = []
        while True:
            page = self.get(path, by=by, query=f"limit=200&offset={len(rows)}{query}").expect(200)
            rows += page[plural]
            if not page[plural]:
                assert len(rows) == page["total"]
                return rows

    async def ask_on_loop(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        by: str | None = "partner",
        gone: asyncio.Event | None = None,
        **more: Any,
    ) -> Any:
        """One request that may wait while others are served. None where its client has `gone`."""
        sent = ... if body is None else body
        exchange = self.exchange(method, path, key=by, json_body=sent, **more)
        exchange.gone = gone
        answer = await exchange.run(self.sandbox.app)
        return answer if answer.status else None

    # --- the control API ----------------------------------------------------------------------

    def control(self, method: str, path: str, json_body: Any = ..., *, query: str = "") -> Response:
        """One request to the control API; `path` without its prefix."""
        return self.ask(method, f"/_sandbox{path}", json_body=json_body, query=query)

    def manage(self, method: str, path: str, body: Any = ...) -> Response:
        """One request to the control API on this world; `path` within it, and a query."""
        path, _, query = path.partition("?")
        return self.control(method, f"/worlds/{self.world}{path}", body, query=query)

    def look(self, path: str, **query: Any) -> Any:
        """What the control API shows of the world; of the server if the path has a slash first."""
        whole = path if path.startswith("/") else f"/worlds/{self.world}/{path}"
        answer = self.control("GET", whole, query=urlencode(query))
        assert answer.status == 200, (whole, query, answer.body)
        return answer.json()

    def set_clock(self, now: str) -> None:
        self.manage("PUT", "/clock", {"now": now}).expect(200)

    def advance(self, by: str) -> list[tuple[str, str, str]]:
        """Let the time pass; what happened on the way: (at, kind, subject)."""
        fired = self.manage("POST", "/clock/advance", {"by": by}).expect(200)["fired"]
        return [(one["at"], one["kind"], one["subject"]) for one in fired]

    def choose(self, **readings: Any) -> dict[str, Any]:
        """Choose readings of the world; all that are in force then."""
        return self.manage("PUT", "/readings", readings).expect(200)

    def reset(self) -> None:
        self.manage("POST", "/reset").expect(200)

    def set_switch(self, name: str, value: Any) -> None:
        self.manage("PUT", "/switches", {name: value}).expect(200)

    async def control_on_loop(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """One request to the control API, which may wait."""
        return await self.ask_on_loop(method, f"/_sandbox{path}", body, by=None, **more)

    def manage_on_loop(self, path: str, **body: Any) -> Response:
        """What the world answers to a POST, on a loop for what is done beside it."""
        answer = self.control_on_loop("POST", f"/worlds/{self.world}{path}", body)
        return cast(Response, asyncio.run(answer))

    def living(self) -> contextlib.AbstractAsyncContextManager[Any]:
        """The application's life: at its end it stops what it does by itself."""
        return self.sandbox.app.router.lifespan_context(self.sandbox.app)


async def turns(count: int = 20) -> None:
    """Lets whatever can go on, go on, so many times."""
    for _ in range(count):
        await asyncio.sleep(0)
