"""A sandbox in process, called through its API: the source of the generated files."""

import json
from collections.abc import Mapping
from typing import Any

from sandbox.app import build
from sandbox.domain.instants import parse_rfc3339
from sandbox.settings import Settings
from sandbox.worlds.clock import ClockSetting
from sandbox.worlds.world import DEFAULT_WORLD


class InProcess:
    """A sandbox that is called without a socket, and never waits.

    Its world `default` has the seed 1 and a clock that is frozen at `now`.
    """

    def __init__(self, fixture: str, now: str) -> None:
        frozen = ClockSetting(now=parse_rfc3339(now), mode="frozen")
        self._sandbox = build(Settings(clock=frozen, fixture=fixture, seed=1))
        self.cast = self._sandbox.worlds.default.cast

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        by: str = "merchant",
        outcome: str | None = None,
    ) -> dict[str, Any]:
        """One request by a key of the cast. Raises RuntimeError for anything but 2xx."""
        headers = {"x-service-apikey": self.cast.keys[by][1]}
        if outcome is not None:
            headers["x-sandbox-outcome"] = outcome
        return self._ask(method, path, body, headers)

    def control(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """One request about the world. Raises RuntimeError for anything but 2xx."""
        return self._ask(method, f"/_sandbox/worlds/{DEFAULT_WORLD}{path}", body, {})

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> dict[str, Any]:
        sent = {"accept": "application/json", **headers}
        payload = b"" if body is None else json.dumps(body).encode()
        if payload:
            sent["content-type"] = "application/json"
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
        status, answer = self._run(scope, payload)
        if not 200 <= status < 300:
            raise RuntimeError(f"{method} {path} answered {status}: {answer.decode()}")
        found: dict[str, Any] = json.loads(answer or b"{}")
        return found

    def _run(self, scope: dict[str, Any], payload: bytes) -> tuple[int, bytes]:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": payload, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        run: Any = self._sandbox.app(scope, receive, send)
        try:
            run.send(None)
        except StopIteration:
            start, *chunks = sent
            return start["status"], b"".join(chunk["body"] for chunk in chunks)
        raise RuntimeError("the application waited for something")
