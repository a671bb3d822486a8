"""A served world in the guise of one in process, so that what drives the one drives the other."""

from types import SimpleNamespace
from typing import Any

from tests.driving import InProcess, Response
from tests.state.saved_worlds import SavedWorld


class Remote(InProcess):
    """One world of a served sandbox."""

    def __init__(self, server: SavedWorld, world: str = "default") -> None:
        self.server, self.world = server, world
        self.header, self.defaults = "x-service-apikey", {"accept": "application/json"}
        self.view = self.look(f"/worlds/{world}")

    @property
    def sandbox(self) -> Any:  # type: ignore[override]
        """As much of a sandbox as drivers look into: the cast of its one world."""
        keys = {name: (one["id"], one["key"]) for name, one in self.view["keys"].items()}
        names = ("accounts", "terminals", "locations")
        cast = SimpleNamespace(keys=keys, **{name: self.view[name] for name in names})
        world = SimpleNamespace(cast=cast)
        return SimpleNamespace(worlds=SimpleNamespace(get=lambda _: world))

    def carry_out(self, scope: dict[str, Any], payload: bytes) -> Response:
        """The answer of the server."""
        url = f"{self.server.url}{scope['raw_path'].decode()}"
        if query := scope["query_string"].decode():
            url += f"?{query}"
        answer = self.server.client.request(
            scope["method"], url, headers=scope["headers"], content=payload or None
        )
        return Response(answer.status_code, dict(answer.headers), answer.content)

    def wait_idle(self) -> None:
        """Wait until no webhook is to be sent now."""
        path = f"/worlds/{self.world}/clock/advance"
        assert self.control("POST", path, {"by": "0s"}).status == 200

    def saved(self) -> bytes:
        """The whole world."""
        return self.control("GET", f"/worlds/{self.world}/snapshot").body
