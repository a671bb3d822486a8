"""Where a recording is replayed: worlds of a sandbox in this process, or of a running server."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode

import httpx2
from httpx2 import Client

from sandbox.app import Sandbox, build
from sandbox.cli.limited_client import Unending, fetch
from sandbox.conformance.har import ShownAnswer
from sandbox.domain.profile import Profile, parse_profile
from sandbox.internal_client import send
from sandbox.server.tls import CertificateError, trusting_context
from sandbox.settings import Settings

ANSWER_S: Final = 30.0
"""An answer that takes longer counts as none."""

CONTROL: Final = "/_sandbox"


class TargetError(Exception):
    """A world cannot be had; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it is sent. The key is among the headers."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: str | None = field(default=None, repr=False)


class Target(Protocol):
    """A server. `profile` is the part of the profile that `send` is to answer with."""

    def send(self, request: Request, profile: Mapping[str, Any]) -> ShownAnswer | None:
        """The answer, or None if the connection was closed or it took too long."""
        ...


def control(
    target: Target,
    method: str,
    path: str,
    body: Any = None,
    profile: Mapping[str, Any] | None = None,
) -> Any:
    """The answer of the control API, parsed. Raises TargetError if it refuses."""
    content = None if body is None else json.dumps(body)
    headers = {"accept": "application/json", "content-type": "application/json"}
    answer = target.send(
        Request(method, CONTROL + path, headers=headers, body=content), profile or {}
    )
    if answer is None:
        raise TargetError("the control API gave no answer")
    try:
        shown = answer.json() if answer.text else None
    except ValueError:
        shown = None
    if answer.status >= 400:
        said = shown.get("message") if isinstance(shown, dict) else None
        details = shown.get("details") if isinstance(shown, dict) else None
        message = said or f"the server answered {answer.status} where its control API should be"
        raise TargetError(f"{message} ({details})" if details else message)
    return shown


class InProcess(AbstractContextManager["InProcess"]):
    """A sandbox in this process; one for each profile that is tried."""

    def __init__(self, profile: Profile, fixture: str) -> None:
        self._profile, self._fixture = profile, fixture
        self._sandboxes: dict[str, Sandbox] = {}
        self._runner = asyncio.Runner()

    def __exit__(self, *error: object) -> None:
        self._runner.close()

    def send(self, request: Request, profile: Mapping[str, Any]) -> ShownAnswer | None:
        """The answer of the sandbox with that profile."""
        return self._runner.run(self._answer(self._sandbox(profile), request))

    def _sandbox(self, profile: Mapping[str, Any]) -> Sandbox:
        name = json.dumps(profile, sort_keys=True)
        if name not in self._sandboxes:
            turned = parse_profile({**asdict(self._profile), **profile})
            settings = Settings(profile=turned, fixture=self._fixture, explain_headers=False)
            self._sandboxes[name] = build(settings)
        return self._sandboxes[name]

    async def _answer(self, sandbox: Sandbox, request: Request) -> ShownAnswer | None:
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await send(
                    sandbox.app,
                    request.method,
                    request.path,
                    headers=request.headers,
                    query=list(request.query),
                    content=(request.body or "").encode(),
                )
        except TimeoutError:
            return None
        if answer is None:
            return None
        return _answer(answer.status_code, answer.headers.get("content-type", ""), answer.content)


class Served(AbstractContextManager["Served"]):
    """A running server, by its URL. Its own profile decides, so no other can be tried."""

    def __init__(self, url: str, token: str | None) -> None:
        self._url = ("" if "://" in url else "http://") + url.rstrip("/").removesuffix(CONTROL)
        self._token = token
        try:
            # Reading all certificates takes a tenth of a second.
            trust = trusting_context() if self._url.startswith("https:") else False
        except CertificateError as error:
            raise TargetError(str(error)) from None
        self._client: Client = httpx2.Client(
            timeout=httpx2.Timeout(ANSWER_S, connect=5.0),
            trust_env=False,
            verify=trust,
        )

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def send(self, request: Request, profile: Mapping[str, Any]) -> ShownAnswer | None:
        """The answer of the server. Raises TargetError if there is none at the URL."""
        headers = dict(request.headers)
        if self._token and request.path.startswith(CONTROL):
            headers["authorization"] = f"Bearer {self._token}"
        query = f"?{urlencode(request.query)}" if request.query else ""
        try:
            built = self._client.build_request(
                request.method,
                self._url + quote(request.path) + query,
                headers=headers,
                content=None if request.body is None else request.body.encode(),
            )
            response = fetch(self._client, built, within_s=2 * ANSWER_S)
        except (httpx2.ConnectError, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise TargetError(f"no server answers at {self._url} ({error})") from None
        except Unending as error:
            raise TargetError(f"{self._url}: {error}") from None
        except httpx2.HTTPError:
            return None
        return _answer(
            response.status_code, response.headers.get("content-type", ""), response.content
        )


def _answer(status: int, media_type: str, body: bytes) -> ShownAnswer | None:
    if status == 0:
        return None
    return ShownAnswer(
        status, media_type.partition(";")[0].strip().lower(), body.decode(errors="replace")
    )
