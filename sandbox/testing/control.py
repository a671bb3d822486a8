"""The client of the control API that tests use."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import ssl

    from httpx2 import Client, Response

PREFIX: Final = "/_sandbox"
ANSWER_S: Final = 60.0
"""Moving a clock through years, or a large world, takes a moment."""

CLIENT_S: Final = 30.0
"""The timeout of a world's clients: longer than most scripted delays."""


class SandboxError(Exception):
    """The sandbox cannot do what a test requests; the message gives the reason and the options."""


class SandboxRefused(SandboxError):
    """The control API refused.

    `nearest` is the known word closest to a misspelled one, `more` has the answer's other fields.
    """

    def __init__(self, status: int, refusal: Mapping[str, Any]) -> None:
        self.status = status
        self.error = str(refusal["error"])
        self.message = str(refusal["message"])
        self.details = str(refusal.get("details") or "")
        self.nearest: str | None = refusal.get("nearest")
        known = {"error", "message", "details", "nearest"}
        self.more = {name: value for name, value in refusal.items() if name not in known}
        meant = f"; did you mean {self.nearest!r}?" if self.nearest else ""
        details = f" ({self.details})" if self.details else ""
        super().__init__(f"{self.message}{meant}{details}")


class Control:
    """A client of the control API at a URL, with keep-alive connections."""

    def __init__(self, url: str, *, token: str | None) -> None:
        import httpx2

        self.url = url.rstrip("/").removesuffix(PREFIX) + PREFIX
        headers = {"accept": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        self._client: Client = httpx2.Client(
            headers=headers,
            timeout=httpx2.Timeout(ANSWER_S, connect=5.0),
            trust_env=False,
            verify=verified(self.url),
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        content: bytes | None = None,
    ) -> Any:
        """The answer, parsed as JSON; None if it is empty.

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
    ) -> "Response":
        """The whole answer. Raises like `ask`."""
        import httpx2

        sent = {"json": body} if body is not None else {"content": content}
        try:
            response = self._client.request(method, self.url + path, params=query, **sent)
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise SandboxError(
                f"no sandbox answers at {self.url}: {error or type(error).__name__}"
            ) from error
        if not response.is_success:
            raise _refused(self.url, response)
        return response

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


def verified(url: str) -> "ssl.SSLContext | bool":
    """How a client checks certificates. Reading those of the system takes long, and http has none.

    For the `verify` of httpx2.
    """
    if url.startswith("https:"):
        return True
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _refused(url: str, response: "Response") -> SandboxError:
    try:
        refusal = response.json()
    except ValueError:
        refusal = None
    if isinstance(refusal, dict) and {"error", "message"} <= refusal.keys():
        return SandboxRefused(response.status_code, refusal)
    return SandboxError(
        f"{url} answered {response.status_code}, and not as a sandbox's control API does; if "
        "that has a port of its own, name its URL too (--sandbox-control-url)"
    )
