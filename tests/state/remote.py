"""A served world in the guise of one in process, so that what drives the one drives the other."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

from tests.driving import Response
from tests.state.saved_worlds import SavedWorld
from tests.webhooks.hooked import until


@dataclass
class Remote:
    """One world of a served sandbox, with the interface of `InProcess`."""

    server: SavedWorld
    world: str = "default"
    view: dict[str, Any] = field(init=False)
    header: ClassVar = "x-service-apikey"
    defaults: ClassVar = {"accept": "application/json"}

    def __post_init__(self) -> None:
        self.view = self.control("GET", f"/worlds/{self.world}").json()

    @property
    def cast(self) -> Any:
        """The ids that the names of the world's cast stand for."""
        keys = {name: (one["id"], one["key"]) for name, one in self.view["keys"].items()}
        names = ("accounts", "terminals", "locations")
        return SimpleNamespace(keys=keys, **{name: self.view[name] for name in names})

    @property
    def sandbox(self) -> Any:
        """As much of a sandbox as drivers look into: the cast of its one world."""
        world = SimpleNamespace(cast=self.cast)
        return SimpleNamespace(worlds=SimpleNamespace(get=lambda _: world))

    def key(self, name: str) -> str:
        return str(self.view["keys"][name]["key"]) if name in self.view["keys"] else name

    def account(self, name: str) -> str:
        return str(self.view["accounts"][name])

    def ask(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        json_body: Any = ...,
        body: bytes | None = None,
        headers: list[tuple[bytes, bytes]] | None = None,
        query: str = "",
    ) -> Response:
        sent = {name.decode(): value.decode() for name, value in headers or []}
        if key is not None:
            sent["x-service-apikey"] = self.key(key)
        more: dict[str, Any] = {} if json_body is ... else {"json": json_body}
        if body is not None:
            more = {"content": body}
        answer = self.server.client.request(
            method, f"{self.server.url}{path}", params=query or None, headers=sent, **more
        )
        return Response(answer.status_code, dict(answer.headers), answer.content)

    def control(self, method: str, path: str, json_body: Any = ..., *, query: str = "") -> Response:
        return self.ask(method, f"/_sandbox{path}", json_body=json_body, query=query)

    def wait_idle(self) -> None:
        """Wait until no webhook is to be sent now."""

        def is_quiet() -> bool:
            found = self.control("GET", f"/worlds/{self.world}/messages").json()["messages"]
            return all(
                one["status"] != "pending" or one["next_attempt_at"]
                for message in found
                for one in message["deliveries"]
            )

        until(is_quiet)

    def saved(self) -> bytes:
        """The whole world."""
        return self.control("GET", f"/worlds/{self.world}/snapshot").body
