"""A small HTTP client on the standard library.

The kit uses it for the control API, and without httpx2 also for the platform. It does not depend on
httpx2, which installs anyio, whose pytest plugin makes every run slower.
"""

import json as json_
import threading
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import TracebackType
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from uat_sandbox.trust import trusting_context

CONNECT_S: Final = 5.0

UNREACHABLE: Final = (OSError, HTTPException, UnicodeError, ValueError)
"""The errors of a request without an answer, or with an unusable URL."""


class PlainResponse:
    """A complete answer, with the names of httpx2."""

    def __init__(self, status_code: int, headers: "Headers", content: bytes) -> None:
        self.status_code = status_code
        self.headers = headers
        self.content = content

    def __repr__(self) -> str:
        return f"<PlainResponse {self.status_code}>"

    @property
    def is_success(self) -> bool:
        """Whether the status is 200 to 299."""
        return 200 <= self.status_code <= 299

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body, parsed. Raises ValueError if it is not JSON."""
        return json_.loads(self.content)

    def raise_for_status(self) -> "PlainResponse":
        """Return the answer itself if it is a success. Raises HTTPException otherwise."""
        if not self.is_success:
            raise HTTPException(f"the answer is {self.status_code}: {self.text[:200]}")
        return self


class Headers(dict[str, str]):
    """Headers of an answer; the case of names does not matter."""

    def __getitem__(self, name: str) -> str:
        """Return the value. Raises KeyError."""
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        """Whether there is such a header."""
        return super().__contains__(name.lower() if isinstance(name, str) else name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value, or the default."""
        return super().get(name.lower(), default)


def target_of(path: str, params: Mapping[str, Any] | None) -> str:
    """Return the path with its leading slash, and the query."""
    target = path if path.startswith("/") else f"/{path}"
    if params:
        target += ("&" if "?" in target else "?") + urlencode(params, doseq=True)
    return target


def encode(
    json: Any, content: bytes | str | None, headers: Mapping[str, str]
) -> tuple[bytes | None, dict[str, str]]:
    """Return the bytes of a body, if there is one, and the request's headers."""
    if json is not None:
        body = json_.dumps(json, separators=(",", ":"), allow_nan=False).encode()
        return body, {"content-type": "application/json", **headers}
    return content.encode() if isinstance(content, str) else content, dict(headers)


class PlainClient:
    """A client of one server with keep-alive connections. Threads can share it.

    It ignores proxies in the environment, and does not follow redirects.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], timeout_s: float) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{base_url!r} is not a URL with http or https and a host")
        self.base_url = base_url.rstrip("/")
        self.headers = dict(headers)
        self.is_closed = False
        self._timeout_s = timeout_s
        self._trust = trusting_context() if parts.scheme == "https" else None
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._idle: list[HTTPConnection] = []
        self._lock = threading.Lock()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        content: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> PlainResponse:
        """Send a request and return the answer. Raises one of UNREACHABLE if there is none."""
        if self.is_closed:
            raise ValueError("the client is closed")
        target = self._path + target_of(path.removeprefix(self.base_url), params)
        body, sent = encode(json, content, {**self.headers, **(headers or {})})
        connection = self._connection()
        try:
            connection.request(method, target, body, sent)
            answer = connection.getresponse()
            shown = Headers((name.lower(), value) for name, value in answer.getheaders())
            response = PlainResponse(answer.status, shown, answer.read())
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)
        return response

    def get(self, path: str, **how: Any) -> PlainResponse:
        """Send a GET; arguments as for `request`."""
        return self.request("GET", path, **how)

    def post(self, path: str, **how: Any) -> PlainResponse:
        """Send a POST; arguments as for `request`."""
        return self.request("POST", path, **how)

    def put(self, path: str, **how: Any) -> PlainResponse:
        """Send a PUT; arguments as for `request`."""
        return self.request("PUT", path, **how)

    def patch(self, path: str, **how: Any) -> PlainResponse:
        """Send a PATCH; arguments as for `request`."""
        return self.request("PATCH", path, **how)

    def delete(self, path: str, **how: Any) -> PlainResponse:
        """Send a DELETE; arguments as for `request`."""
        return self.request("DELETE", path, **how)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            self.is_closed = True
            idle, self._idle = self._idle, []
        for one in idle:
            one.close()

    def __enter__(self) -> "PlainClient":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _connection(self) -> HTTPConnection:
        """Return an idle connection that the server has not closed, or a new one."""
        while True:
            with self._lock:
                if not self._idle:
                    break
                connection = self._idle.pop()
            if not _is_readable(connection):
                return connection
            connection.close()
        connection = (
            HTTPConnection(self._host, self._port, timeout=CONNECT_S)
            if self._trust is None
            else HTTPSConnection(self._host, self._port, timeout=CONNECT_S, context=self._trust)
        )
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        connection.sock.settimeout(self._timeout_s)
        return connection

    def _give_back(self, connection: HTTPConnection) -> None:
        with self._lock:
            if not self.is_closed and connection.sock is not None:
                self._idle.append(connection)
                return
        connection.close()


def _is_readable(connection: HTTPConnection) -> bool:
    """Whether an idle connection is readable, which means that the server closed it."""
    import selectors

    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))
