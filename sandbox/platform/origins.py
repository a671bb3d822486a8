"""Recognizing requests that a browser sends for a page of another origin.

Any page that a developer opens can send requests to a server on loopback. It cannot read the
answers, but that does not protect the server: the browser sends a request without a body, or with a
text body, without asking the server first.
"""

import re
from typing import Final

from starlette.types import Scope

from sandbox.platform import wire
from sandbox.platform.rare_log import shown

_OWN_SITES: Final = frozenset({b"same-origin", b"none"})
"""The page is the sandbox's own, or there is no page: a typed address, a bookmark."""

_HOST: Final = re.compile(rb"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9a-fA-F:.]+\](:[0-9]{1,5})?")

_PORTS: Final = {b"http": b":80", b"https": b":443"}


def why_foreign(scope: Scope) -> str | None:
    """The reason why the request counts as one of a foreign page, or None.

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
        if site in _OWN_SITES:
            return None
        return (
            f"a page of another origin sent this (Sec-Fetch-Site: {shown(site)}), and the control "
            "API answers to its own pages only"
        )
    if origin is None or _is_of(origin, host or b""):
        return None
    return (
        f"a page of another origin sent this (Origin: {shown(origin)}, and the host "
        f"{shown(host or b'')} was requested), and the control API answers to its own pages only"
    )


def origin_of(scope: Scope) -> str:
    """Scheme and host by which a request came; "" where it names no host, or no usable one."""
    try:
        host = wire.header(scope["headers"], b"host") or b""
    except wire.BadInput:
        return ""
    is_usable = _HOST.fullmatch(host) is not None
    return f"{scope.get('scheme', 'http')}://{host.decode()}" if is_usable else ""


def _is_of(origin: bytes, host: bytes) -> bool:
    """Whether an origin has this host, in whatever case, with the usual port written or not."""
    scheme, _, named = origin.lower().partition(b"://")
    port = _PORTS.get(scheme)
    return port is not None and named.removesuffix(port) == host.lower().removesuffix(port)
