"""A sandbox in process, called through its API: the source of the generated files."""

import asyncio
from collections.abc import Mapping
from typing import Any

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.settings import Settings
from tests.in_process import json_request

WORLD = "/_sandbox/worlds/default"


class InProcess:
    """A sandbox that is called without a socket.

    Its world `default` has the seed 1 and a clock that is frozen at `now`.
    """

    def __init__(self, fixture: str, now: str) -> None:
        frozen = ClockSetting(now=parse_rfc3339(now), mode="frozen")
        self._sandbox = build(Settings(clock=frozen, fixture=fixture, seed=1))
        self.cast = cast = self._sandbox.worlds.default.cast
        kinds = ("accounts", "terminals", "locations")
        self.ids: dict[str, Mapping[str, str]] = {kind: getattr(cast, kind) for kind in kinds}

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        by: str = "merchant",
        outcome: str | None = None,
    ) -> Any:
        """Return the answer to a key of the cast. Raises RuntimeError for anything but 2xx."""
        headers = {"x-service-apikey": self.cast.keys[by][1]}
        if outcome is not None:
            headers["x-sandbox-outcome"] = outcome
        path, _, query = path.partition("?")
        request = json_request(method, path, body, headers=headers, query=query)
        answer = asyncio.run(request.run(self._sandbox.app))
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {answer.body.decode()}")
        return answer.json() if answer.body else {}
