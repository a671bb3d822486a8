"""The client of a control API in this process, which needs no socket."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from uat_sandbox.plain_client import Headers, PlainResponse, encode, target_of

if TYPE_CHECKING:
    from sandbox.server.embedded import Embedded


class InProcessClient:
    """Asks the sandbox on the loop that serves it. Threads may share it."""

    def __init__(self, embedded: "Embedded", base_url: str, headers: Mapping[str, str]) -> None:
        self.base_url = base_url
        self.headers = dict(headers)
        self._embedded = embedded

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        content: bytes | str | None = None,
    ) -> PlainResponse:
        """The answer. Raises TimeoutError, an OSError, if none comes within a minute."""
        body, headers = encode(json, content, self.headers)
        url = self.base_url + target_of(path, params)
        status, answered, answer = self._embedded.ask(method, url, headers, body or b"")
        return PlainResponse(status, Headers(answered), answer)

    def close(self) -> None:
        """Nothing is open."""
