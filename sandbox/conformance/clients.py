"""Requests to sandboxes and platforms: in this process, or over the network."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import httpx2
from httpx2 import Client

from sandbox.app import Sandbox, build
from sandbox.conformance.probe_table import ProbeRequest
from sandbox.domain.json_text import fields_of, value_of
from sandbox.domain.profile import Profile, parse_profile
from sandbox.http_client import Unending, fetch, send
from sandbox.server.tls import CertificateError, trusting_context
from sandbox.settings import Settings

ANSWER_S: Final = 30.0
"""Time limit of an answer; a later one counts as none."""

PLATFORM_BYTES_MAX: Final = 2**20
"""Size limit of the platform's answers, which usually have a few kilobytes."""

CONTROL: Final = "/_sandbox"
_LOOPBACK: Final = {"127.0.0.1", "localhost", "::1"}


class TargetError(Exception):
    """The server or its world cannot be used; the message gives the reason."""


class Unusable(ValueError):
    """The address or the key cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it is sent, with the key in its headers."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A received answer: status, headers by lower-case name, body as text."""

    status: int
    headers: Mapping[str, str]
    text: str = field(repr=False)

    @property
    def media_type(self) -> str:
        """The type of the body without parameters, empty if it has none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def body(self) -> Any:
        """The body as JSON, or None if it is not JSON."""
        return value_of(self.text)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the body, none if it is not an object."""
        return fields_of(self.body)

    @property
    def facts(self) -> dict[str, Any]:
        """The answer for the conditions of probes."""
        return {"status": self.status, "headers": dict(self.headers), "body": self.body}

    @property
    def is_success(self) -> bool:
        """Whether the status means success."""
        return 200 <= self.status < 300

    @property
    def is_json(self) -> bool:
        """Whether the body is JSON or empty. A page comes from a proxy before the platform."""
        return self.body is not None or not self.text.strip()


class InProcess(AbstractContextManager["InProcess"]):
    """A sandbox in this process for each profile that is tried."""

    def __init__(self, profile: Profile, fixture: str) -> None:
        self._profile, self._fixture = profile, fixture
        self._sandboxes: dict[str, Sandbox] = {}
        self._runner = asyncio.Runner()

    def __exit__(self, *error: object) -> None:
        self._runner.close()

    def send(self, request: Request, profile: Mapping[str, Any]) -> HttpAnswer | None:
        """Return the answer of the sandbox with this profile; None if there is none in time."""
        asked = send(
            self._sandbox(profile).app,
            request.method,
            quote(request.path),
            headers=request.headers,
            query=list(request.query),
            content=(request.body or "").encode(),
        )
        with suppress(TimeoutError):
            answer = self._runner.run(asyncio.wait_for(asked, ANSWER_S))
            return None if answer is None else _read(answer)
        return None

    def _sandbox(self, profile: Mapping[str, Any]) -> Sandbox:
        name = json.dumps(profile, sort_keys=True)
        if name not in self._sandboxes:
            turned = parse_profile({**asdict(self._profile), **profile})
            settings = Settings(profile=turned, fixture=self._fixture, explain_headers=False)
            self._sandboxes[name] = build(settings)
        return self._sandboxes[name]


def _read(answer: httpx2.Response) -> HttpAnswer:
    return HttpAnswer(answer.status_code, dict(answer.headers), answer.text)


class _Remote(AbstractContextManager["Any"]):
    """A server at an address. Redirects are not followed."""

    def __init__(self, base: str, connect_s: float, **options: Any) -> None:
        self._base = base
        timeout = httpx2.Timeout(ANSWER_S, connect=connect_s)
        self._client: Client = Client(timeout=timeout, **options)

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def _fetch(self, request: Request, **limits: int) -> HttpAnswer:
        """Send the request with only its own headers. Raises Unending and errors of httpx2."""
        query = f"?{urlencode(request.query)}" if request.query else ""
        built = self._client.build_request(
            request.method,
            self._base + quote(request.path) + query,
            headers=request.headers,
            content=None if request.body is None else request.body.encode(),
        )
        if "accept" not in request.headers:
            del built.headers["accept"]
        return _read(fetch(self._client, built, within_s=2 * ANSWER_S, **limits))


class Served(_Remote):
    """A running server at a URL. Its own profile applies, so others cannot be tried."""

    def __init__(self, url: str, token: str | None) -> None:
        base = ("" if "://" in url else "http://") + url.rstrip("/").removesuffix(CONTROL)
        self._token = token
        try:
            # Only for HTTPS, since reading all certificates takes a tenth of a second.
            trust = trusting_context() if base.startswith("https:") else False
        except CertificateError as error:
            raise TargetError(str(error)) from None
        super().__init__(base, 5.0, trust_env=False, verify=trust)

    def send(self, request: Request, profile: Mapping[str, Any]) -> HttpAnswer | None:
        """Return the answer of the server, or None. Raises TargetError if there is no server."""
        if self._token and request.path.startswith(CONTROL):
            headers = {**request.headers, "authorization": f"Bearer {self._token}"}
            request = replace(request, headers=headers)
        try:
            return self._fetch(request)
        except (httpx2.ConnectError, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise TargetError(f"no server answers at {self._base} ({error})") from None
        except Unending as error:
            raise TargetError(f"{self._base}: {error}") from None
        except httpx2.HTTPError:
            return None


Target = InProcess | Served
"""A server that gets requests, each with the part of the profile that applies to the answer."""


class Platform(_Remote):
    """A platform at an address, used with one key."""

    def __init__(self, base: str, key: str, profile: Profile) -> None:
        self._key, self._header = key, profile.api_key_header
        super().__init__(base, 10.0, verify=base.startswith("https:"))

    def __call__(self, request: ProbeRequest, /) -> HttpAnswer:
        """Send the request and return the answer.

        Without one, the status is 0, and the text says why.
        """
        headers = {"accept": "application/json"} if request.has_accept else {}
        if key := self._key if request.key is None else request.key:
            headers[self._header] = key
        body = None
        if request.body is not None:
            headers["content-type"], body = "application/json", json.dumps(request.body)
        asked = Request(request.method, request.path, request.parameters, headers, body)
        try:
            return self._fetch(asked, bytes_max=PLATFORM_BYTES_MAX)
        except Unending as error:
            why = str(error)
        except httpx2.ConnectError as error:
            why = f"no connection ({error})"
        except httpx2.HTTPError as error:
            # Its text may have a part of the request, such as the key.
            why = type(error).__name__
        return HttpAnswer(0, {}, f"no answer: {why}")


def check_base(base: str, profile: Profile) -> str:
    """Return the address of a UAT, without a trailing slash. Raises Unusable for any other."""
    try:
        parts = urlsplit(base)
        _ = parts.port
        # As the client connects to it, whatever characters it is written with.
        host = httpx2.URL(base).raw_host.decode().rstrip(".")
    except (ValueError, httpx2.InvalidURL):
        host = ""
    if not host or parts.scheme not in ("http", "https"):
        raise Unusable(f"{base!r} is not an address; write it like https://uat.example.com")
    if f".{host}".endswith(tuple(f".{one}" for one in profile.production_hosts)):
        raise Unusable(f"{host} is a production host in the profile; only UAT is allowed")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise Unusable(f"{base!r} would send the key in the clear; write https://")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise Unusable("the address has more than scheme, host, port and path")
    return base.rstrip("/")


def check_key(key: str, profile: Profile) -> str:
    """Return the key if it is a UAT key. Raises Unusable, with a message without the key."""
    key = key.strip()
    prefix = profile.key_prefixes.uat + "_"
    if key.startswith(profile.key_prefixes.production + "_"):
        raise Unusable("it is a production key; only UAT is allowed")
    if not key.startswith(prefix) or not key.isascii() or not key.isprintable():
        raise Unusable(f"it does not begin with {prefix}, so it may be a production key")
    return key
