"""Requests over the network to the platform that is asked."""

import json
from contextlib import AbstractContextManager
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

import httpx2
from httpx2 import Client

from sandbox.cli.limited_client import Unending, fetch
from sandbox.conformance.probe_runner import Raw
from sandbox.conformance.probes.steps import ProbeRequest
from sandbox.domain.profile import Profile

ANSWER_S: Final = 30.0
ANSWER_BYTES_MAX: Final = 2**20
"""Answers of the platform have a few kilobytes."""

_LOOPBACK: Final = {"127.0.0.1", "localhost", "::1"}


class Unusable(ValueError):
    """The address or the key cannot be used; the message says why."""


def check_base(base: str, profile: Profile) -> str:
    """The address of a UAT without a slash at its end. Raises Unusable, also for production."""
    try:
        parts = urlsplit(base)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise Unusable(f"{base!r} is no address; write it like https://uat.example.com")
    for production in profile.production_hosts:
        if host == production or host.endswith("." + production):
            raise Unusable(f"{host} is a host of production in the profile; only UAT is asked")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise Unusable(f"{base!r} would send the key in the clear; write https://")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise Unusable("the address has more than scheme, host, port and path")
    return base.rstrip("/")


def check_key(key: str, profile: Profile) -> str:
    """The key, which is one of UAT. Raises Unusable, without the key."""
    key = key.strip()
    prefix = profile.key_prefixes.uat + "_"
    if key.startswith(profile.key_prefixes.production + "_"):
        raise Unusable("it is a production key; only UAT is asked")
    if not key.startswith(prefix) or not key.isascii() or not key.isprintable():
        raise Unusable(f"it does not begin with {prefix}, so it may be one of production")
    return key


class Platform(AbstractContextManager["Platform"]):
    """A platform at an address, asked with one key. Redirects are answers like others."""

    def __init__(self, base: str, key: str, profile: Profile) -> None:
        self._base, self._key, self._header = base, key, profile.api_key_header
        self._client: Client = httpx2.Client(
            timeout=httpx2.Timeout(ANSWER_S, connect=10.0), verify=base.startswith("https:")
        )

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def __call__(self, request: ProbeRequest, /) -> Raw:
        """The answer. Raises OSError without one."""
        query = f"?{urlencode(request.query)}" if request.query else ""
        content = None if request.body is None else json.dumps(request.body).encode()
        url = self._base + quote(request.path, safe="/") + query
        built = self._client.build_request(request.method, url, content=content)
        key = self._key if request.key is None else request.key
        if key:
            built.headers[self._header] = key
        if content is not None:
            built.headers["content-type"] = "application/json"
        built.headers["accept"] = "application/json"
        if request.without_accept:
            del built.headers["accept"]
        try:
            answer = fetch(self._client, built, within_s=2 * ANSWER_S, bytes_max=ANSWER_BYTES_MAX)
        except Unending as error:
            raise OSError(str(error)) from None
        except httpx2.HTTPError as error:
            raise OSError(type(error).__name__) from None
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Raw(answer.status_code, headers, answer.text)
