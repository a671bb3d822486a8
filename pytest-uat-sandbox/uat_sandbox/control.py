"""The client of the control API that tests use."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from uat_sandbox.errors import SandboxError, SandboxRefused
from uat_sandbox.in_process import InProcessClient
from uat_sandbox.plain_client import UNREACHABLE, PlainClient, PlainResponse

if TYPE_CHECKING:
    from sandbox.server.embedded import Embedded

__tracebackhide__ = True

PREFIX: Final = "/_sandbox"
ANSWER_S: Final = 60.0
"""The timeout of the control API: advancing a clock by years, or a large world, takes a while."""

_CLOCKS: Final = ("/clock", "/clock/advance")
_SLOW: Final = (
    "; it waits 15 s for each attempt at a webhook receiver that does not answer, so advance in "
    "smaller steps if yours hangs on purpose"
)

CLIENT_S: Final = 30.0
"""The timeout of a world's clients: longer than most scripted delays."""


class Control:
    """A client of the control API at a URL, with keep-alive connections.

    Requests to a sandbox that is `embedded` in this process need no connection. `origin` says where
    the URL was given, for error messages. Raises SandboxError for an invalid URL.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None,
        origin: str = "",
        embedded: "Embedded | None" = None,
    ) -> None:
        self.url = url.rstrip("/").removesuffix(PREFIX) + PREFIX
        self._origin = f" ({origin})" if origin else ""
        headers = {"accept": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        self._embedded = embedded
        self._client: PlainClient | InProcessClient
        if embedded is not None:
            self._client = InProcessClient(embedded, self.url, headers, ANSWER_S)
        else:
            try:
                self._client = PlainClient(self.url, headers, ANSWER_S)
            except ValueError as error:
                raise SandboxError(f"no sandbox answers at {url}{self._origin}: {error}") from None
        self._events: list[str] = []

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        content: bytes | None = None,
    ) -> Any:
        """Send a request, and return the answer parsed as JSON; None if it is empty.

        `path` is below the prefix. Raises SandboxRefused, or SandboxError if no sandbox answers.
        """
        response = self.response(method, path, body, query=query, content=content)
        return response.json() if response.content else None

    def response(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        content: bytes | None = None,
    ) -> PlainResponse:
        """Send a request, and return the whole answer. Raises like `ask`."""
        try:
            response = self._client.request(method, path, params=query, json=body, content=content)
        except TimeoutError:
            why = _SLOW if path.endswith(_CLOCKS) else ""
            raise SandboxError(
                f"{self.url}{self._origin} did not answer {method} {path} in time{why}"
            ) from None
        except UNREACHABLE as error:
            raise SandboxError(
                f"no sandbox answers at {self.url}{self._origin}: "
                f"{str(error) or type(error).__name__}"
            ) from None
        if not response.is_success:
            raise _refusal_of(self.url, response)
        return response

    def event_types(self) -> list[str]:
        """Return the names of all events."""
        if self._embedded is not None:
            return self._embedded.event_types
        if not self._events:
            events = self.ask("GET", "/coverage")["events"]
            self._events = [*events["exercised"], *events["never"]]
        return self._events

    def message(self, world_id: str, id: str) -> tuple[str, str] | None:
        """Return the event type and the subject of a message, or None for an unknown id."""
        if self._embedded is not None:
            return self._embedded.message(world_id, id)
        try:
            found = self.ask("GET", f"/worlds/{world_id}/messages/{quote(id, safe='')}")
        except SandboxRefused:
            return None
        return found["event_type"], found["subject"]

    def list_of_world(self, world_id: str, plural: str, **query: Any) -> list[dict[str, Any]]:
        """Return all items of a list, or the newest if the query has a `limit`, oldest first."""
        path = f"/worlds/{world_id}/{plural}"
        page = self.ask("GET", path, query=query)
        found: list[dict[str, Any]] = page[plural]
        while "limit" not in query and page.get("next") is not None:
            page = self.ask("GET", path, query={**query, "before": page["next"]})
            found = page[plural] + found
        return found

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


def _refusal_of(url: str, response: PlainResponse) -> SandboxError:
    try:
        refusal = response.json()
    except ValueError:
        refusal = None
    if isinstance(refusal, dict) and {"error", "message"} <= refusal.keys():
        return SandboxRefused(response.status_code, refusal)
    return SandboxError(
        f"{url} answered {response.status_code}, but not like a sandbox's control API; if that has "
        "its own port, also name its URL (--sandbox-control-url)"
    )
