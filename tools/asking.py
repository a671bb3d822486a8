"""An in-process sandbox, called through its API, from which files are generated."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from tests import driving

WORLD = "/_sandbox/worlds/default"


class InProcess:
    """A sandbox that is called without a socket.

    Its world `default` has the seed 1 and a clock that is frozen at `now`.
    """

    def __init__(self, fixture: str, now: str) -> None:
        frozen = ClockSetting(now=parse_rfc3339(now), mode="frozen")
        self._asked = driving.fresh(clock=frozen, fixture=fixture, seed=1)
        self._asked.defaults["host"] = "127.0.0.1:8080"
        self.cast = cast = self._asked.cast
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
        """Send a request with a key of the cast. Raises RuntimeError for any answer but 2xx."""
        forced = {} if outcome is None else {"x-sandbox-outcome": outcome}
        asked = replace(self._asked, defaults=self._asked.defaults | forced)
        path, _, query = path.partition("?")
        sent = ... if body is None else body
        request = asked.exchange(method, path, key=by, json_body=sent, query=query)
        answer = asyncio.run(request.run(asked.sandbox.app))
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {answer.body.decode()}")
        return answer.json() if answer.body else {}
