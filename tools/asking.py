"""A sandbox in process, called through its API: the source of the generated files."""

import json
from collections.abc import Mapping
from typing import Any

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.settings import Settings
from sandbox.worlds.world import DEFAULT_WORLD
from tests.in_process import json_request


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

    def whole(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One request by its whole path, without a key. Raises RuntimeError for all but 2xx."""
        return self._ask(method, path, body, {})

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> dict[str, Any]:
        path, _, query = path.partition("?")
        answer = json_request(method, path, body, headers=headers, query=query).run_now(
            self._sandbox.app
        )
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {answer.body.decode()}")
        found: dict[str, Any] = json.loads(answer.body or b"{}")
        return found
