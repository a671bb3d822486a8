"""Protection from web pages: hosts, origins, and security headers of both surfaces.

The owner of a web page can point a host name to 127.0.0.1 (DNS rebinding). The browser then treats
the server as the page's own, and sends that name as Host. Besides, any page that a developer opens
can send requests to a server on loopback. It cannot read the answers, but that does not protect the
server: browsers send a request with a text body, or without a body, without asking first.
"""

import logging
import re
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from msgspec import Struct
from starlette.types import Scope

from sandbox.platform import wire

EVERY_S: Final = 60.0
"""How long to wait before a warning of the same kind is written again."""

_AUTHORITY: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+?)\.?)(?::\d{0,5})?")


@lru_cache(maxsize=64)
def host_in(authority: str) -> str | None:
    """Return the host of `HOST[:PORT]` in a canonical form; None if there is none."""
    match = _AUTHORITY.fullmatch(authority.lower())
    return None if match is None else plain_host(match[1] or match[2])


def plain_host(host: str) -> str:
    """Return a host in the form that is compared: in lower case, addresses in short form."""
    host = host.lower().removesuffix(".")
    try:
        return str(ip_address(host))
    except ValueError:
        return host


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether a host, as `plain_host` writes it, resolves to loopback on every machine.

    Browsers resolve `localhost` and the names below it to loopback themselves (RFC 6761, 6.3).
    """
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_answered_for(value: bytes, given: Collection[str], scope: Scope) -> bool:
    """Whether a server accepts this Host header: loopback, or a host that it was given.

    Source: assumed D25-hosts.
    """
    host = host_in(value.decode("latin-1"))
    if host is None:
        return False
    if host in given or is_loopback(host):
        return True
    # In process, this is the host that the client asks for; on a socket, the server's address.
    server = scope.get("server")
    return server is not None and plain_host(server[0]) == host


def why_refused(value: bytes) -> str:
    """Return why the server does not accept a Host header, and how to allow it."""
    name = host_in(value.decode("latin-1")) or "NAME"
    allow = f"allow the name with --allow-host {name[:100]}"
    whose = "a server without a token answers for loopback only"
    return f"the Host header is {wire.quote(value)}, and {whose}; {allow}"


# --- origins ----------------------------------------------------------------------------------

_HOST: Final = re.compile(rb"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9a-fA-F:.]+\](:[0-9]{1,5})?")

_PORTS: Final = {b"http": b":80", b"https": b":443"}


def why_foreign(scope: Scope) -> str | None:
    """Return why the request counts as one from a foreign page, or None.

    `Sec-Fetch-Site` decides if the browser sends it. Without it an `Origin` must have the host and
    the port that were asked for; the scheme may be that of a proxy. Clients that are not browsers
    send neither. Source: assumed D25-origins.
    """
    headers = scope["headers"]
    try:
        site = wire.header(headers, b"sec-fetch-site")
        origin = wire.header(headers, b"origin")
        host = wire.header(headers, b"host")
    except wire.BadInput as error:
        return str(error)
    if site is not None:
        # The page is the sandbox's own, or there is no page: a typed address, a bookmark.
        is_own = site in (b"same-origin", b"none")
        sent = None if is_own else f"Sec-Fetch-Site: {wire.quote(site)}"
    elif origin is None or _is_of(origin, host or b""):
        sent = None
    else:
        sent = f"Origin: {wire.quote(origin)}, and the host {wire.quote(host or b'')} was requested"
    if sent is None:
        return None
    why = "the control API answers to its own pages only"
    return f"a page of another origin sent this ({sent}), and {why}"


def origin_of(scope: Scope) -> str:
    """Return the scheme and host of a request; "" if it names no usable host."""
    host = dict(scope["headers"]).get(b"host", b"")
    if _HOST.fullmatch(host) is None:
        return ""
    return f"{'https' if is_over_tls(scope) else 'http'}://{host.decode()}"


def is_over_tls(scope: Scope) -> bool:
    """Whether the client sent the request over TLS: to this server, or to a proxy that says so."""
    forwarded = dict(scope["headers"]).get(b"x-forwarded-proto")
    return scope.get("scheme") == "https" or forwarded == b"https"


def _is_of(origin: bytes, host: bytes) -> bool:
    """Whether an origin has this host, ignoring case and the default port."""
    scheme, _, named = origin.lower().partition(b"://")
    port = _PORTS.get(scheme)
    return port is not None and named.removesuffix(port) == host.lower().removesuffix(port)


# --- warnings ---------------------------------------------------------------------------------


@dataclass
class RareLog:
    """A log for warnings that clients can cause at will: one line a minute for each kind.

    The rest are counted in the next line.
    """

    log: logging.Logger
    seconds: Callable[[], float] = time.monotonic
    written_at: dict[str, float] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)

    def warn(self, kind: str, message: str) -> None:
        """Write the message, unless one of this kind was written within the last minute."""
        now = self.seconds()
        if now - self.written_at.get(kind, -EVERY_S) < EVERY_S:
            self.left_out[kind] = self.left_out.get(kind, 0) + 1
            return
        self.written_at[kind] = now
        count = self.left_out.pop(kind, 0)
        more = f" ({count} more of this kind since the last line)" if count else ""
        self.log.warning("%s%s", message, more)


# --- headers ----------------------------------------------------------------------------------
#
# The platform's answers are bare (assumed D3): they only forbid storing. There are no CORS headers,
# because no page of another origin may read an answer.


class AnswerKind(Enum):
    """The kind of an answer, which selects its headers."""

    CONTROL = "the control API"
    """An answer of the control API: it may hold keys, endpoint secrets, or anything else."""

    OPEN = "its open documents"
    """A document that holds no secret: health, OpenAPI, the schema of scenarios."""

    CONSOLE = "the console"
    """The page of the console, which runs scripts under the strictest policy."""

    ASSET = "files of the console"
    """A file of the console, whose path has its version: it never changes."""

    KEY = "API keys of the platform"
    """An answer of the platform that may hold the plaintext of an API key."""


class SecurityHeader(Struct, frozen=True, kw_only=True, gc=False):
    """One header, why it is there, and its value for each kind of answer that has it."""

    name: str
    why: str
    values: dict[AnswerKind, str]


_CONTROL_SURFACE: Final[list[AnswerKind]] = [one for one in AnswerKind if one != AnswerKind.KEY]
_APART: Final = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def _on_control(name: str, value: str, why: str) -> SecurityHeader:
    return SecurityHeader(name=name, why=why, values=dict.fromkeys(_CONTROL_SURFACE, value))


SECURITY_HEADERS: Final = (
    _on_control(
        "x-content-type-options", "nosniff", "a browser must not guess the type of an answer"
    ),
    SecurityHeader(
        name="cache-control",
        why="no cache keeps a secret",
        values=dict.fromkeys((AnswerKind.CONTROL, AnswerKind.KEY), "no-store")
        | dict.fromkeys((AnswerKind.OPEN, AnswerKind.CONSOLE), "no-cache")
        | {AnswerKind.ASSET: "public, max-age=31536000, immutable"},
    ),
    SecurityHeader(
        name="content-security-policy",
        why="an answer that is opened in a browser loads nothing, runs nothing, and is not framed; "
        "the console loads its own files, and nothing in it turns text into a script",
        values=dict.fromkeys(_CONTROL_SURFACE, f"default-src 'none'; {_APART}")
        | {
            AnswerKind.CONSOLE: "default-src 'none'; script-src 'self'; style-src 'self'; "
            f"connect-src 'self'; img-src 'self' data:; {_APART}; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
        },
    ),
    _on_control("referrer-policy", "no-referrer", "the ids in an address go nowhere else"),
    _on_control(
        "cross-origin-resource-policy",
        "same-origin",
        "a page of another origin gets nothing into its process",
    ),
)
"""Source: assumed D25-headers."""


HEADERS_OF: Final[dict[AnswerKind, tuple[tuple[bytes, bytes], ...]]] = {
    kind: tuple(
        (row.name.encode(), row.values[kind].encode())
        for row in SECURITY_HEADERS
        if kind in row.values
    )
    for kind in AnswerKind
}
"""The headers of each kind of answer, written once."""
