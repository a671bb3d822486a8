"""The client of a control API in this process, without a socket."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from uat_sandbox.plain_client import Headers, PlainResponse, encode, target_of

if TYPE_CHECKING:
    from sandbox.server.embedded import Embedded


class InProcessClient:
    """Sends requests to the sandbox on the loop that serves it. Threads can share it."""

    def __init__(
        self, embedded: "Embedded", base_url: str, headers: Mapping[str, str], timeout_s: float
    ) -> None:
        self.base_url = base_url
        self.headers = dict(headers)
        self._timeout_s = timeout_s
        self._embedded = embedded
        self._host = urlsplit(base_url).netloc

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        content: bytes | str | None = None,
    ) -> PlainResponse:
        """Send a request and return the answer. Raises TimeoutError, which is an OSError."""
        body, headers = encode(json, content, self.headers)
        headers |= {"host": self._host, "content-length": str(len(body or b""))}
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        url = self.base_url + target_of(path, params)
        status, answered, answer = self._embedded.ask(
            method, url, sent, body or b"", timeout_s=self._timeout_s
        )
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in answered]
        return PlainResponse(status, Headers(fields), answer)

    def close(self) -> None:
        """Do nothing, since there are no connections."""
