"""A served world in the guise of one in process, so that what drives the one drives the other."""

from types import SimpleNamespace
from typing import Any

import httpx2

from tests.driving import InProcess, Response
from tests.in_process import Exchange
from tests.state.saved_worlds import SavedWorld


def send(client: httpx2.Client, url: str, exchange: Exchange) -> Response:
    """What the server at this address answers, to these headers alone."""
    scope, query = exchange.scope, exchange.scope["query_string"]
    request = httpx2.Request(
        scope["method"],
        url,
        headers=scope["headers"],
        content=exchange.payload or None,
        # As it is: httpx2 would quote some of it.
        extensions={"target": scope["raw_path"] + (b"?" + query if query else b"")},
    )
    try:
        answer = client.send(request)
    except httpx2.TransportError:
        return Response(0, {}, b"")
    return Response(answer.status_code, dict(answer.headers), answer.content)


class Remote(InProcess):
    """One world of a served sandbox."""

    def __init__(self, server: SavedWorld, world: str = "default") -> None:
        self.server, self.world = server, world
        self.header, self.defaults = "x-service-apikey", {"accept": "application/json"}
        self.view = self.look(f"/worlds/{world}")

    @property
    def cast(self) -> Any:
        keys = self.view["keys"].items()
        ids, plain = ({name: one[field] for name, one in keys} for field in ("id", "key"))
        return SimpleNamespace(**{**self.view, "keys": ids, "plaintexts": plain})

    def carry_out(self, scope: dict[str, Any], payload: bytes) -> Response:
        """The answer of the server."""
        return send(self.server.client, self.server.url, Exchange(scope, payload))

    def wait_idle(self) -> None:
        """Wait until no webhook is to be sent now."""
        self.advance("0s")
