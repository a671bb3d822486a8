"""Who is signed in with a browser: a cookie in place of the token, and who gave a wrong one."""

import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from sandbox.platform import wire

SESSION_S: Final = 12 * 3_600
"""A session ends after this many seconds, and with the server. Source: assumed D25-session."""

WRONG_MAX: Final = 10
WRONG_WITHIN_S: Final = 60.0
"""So many wrong tokens of one address within so many seconds, and it has to wait.
Source: assumed D25-session."""

_SESSIONS_MAX: Final = 1_000
_ADDRESSES_MAX: Final = 1_000

_PORTS: Final = {"http": 80, "https": 443}


class WrongToken(Exception):
    """Not the token of the server."""


class TooManyTries(Exception):
    """An address gave too many wrong tokens; it has to wait for `wait_s` seconds."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"wait {wait_s} s")
        self.wait_s = wait_s


@dataclass(slots=True)
class Sessions:
    """The sessions of one server, and who gave a wrong token lately.

    `token` is the token of the control API, None if it needs none. `ticks` counts seconds.
    """

    token: bytes | None = field(repr=False)
    ticks: Callable[[], float]
    _ends: OrderedDict[str, float] = field(default_factory=OrderedDict, repr=False)
    _wrong: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict)

    def is_signed_in(self, scope: Scope) -> bool:
        """Whether the request has the cookie of a session that goes on."""
        ends = self._ends.get(cookie_of(scope))
        return ends is not None and self.ticks() < ends

    def begin(self, token: str, address: str) -> str:
        """The id of a new session. Raises WrongToken, or TooManyTries after ten of those."""
        assert self.token is not None
        tries = self._tries(address)
        if len(tries) >= WRONG_MAX:
            raise TooManyTries(int(tries[0] + WRONG_WITHIN_S - self.ticks()) + 1)
        if not compare_digest(token.strip().encode(), self.token):
            tries.append(self.ticks())
            raise WrongToken
        return self._new()

    def end(self, scope: Scope) -> None:
        """Forget the session of this request, if it has one."""
        self._ends.pop(cookie_of(scope), None)

    def _new(self) -> str:
        id = secrets.token_urlsafe(24)
        self._ends[id] = self.ticks() + SESSION_S
        while len(self._ends) > _SESSIONS_MAX:
            self._ends.popitem(last=False)
        return id

    def _tries(self, address: str) -> deque[float]:
        tries = self._wrong.setdefault(address, deque())
        self._wrong.move_to_end(address)
        while len(self._wrong) > _ADDRESSES_MAX:
            self._wrong.popitem(last=False)
        while tries and tries[0] <= self.ticks() - WRONG_WITHIN_S:
            tries.popleft()
        return tries


def cookie_of(scope: Scope) -> str:
    """The value of the session cookie, or ""."""
    name = cookie_name(scope)
    for header, value in scope["headers"]:
        if header == b"cookie":
            for one in value.decode("latin-1").split(";"):
                found, _, content = one.strip().partition("=")
                if found == name:
                    return str(content)
    return ""


def cookie_name(scope: Scope) -> str:
    """Cookies are shared by all ports of a host, so the name has the port that was asked for."""
    scheme = scope.get("scheme", "http")
    try:
        host = (wire.header(scope["headers"], b"host") or b"").decode("latin-1")
        port = urlsplit(f"//{host}").port
    except (wire.BadInput, ValueError):
        port = None
    return f"uat_sandbox_{port or _PORTS.get(scheme, 80)}"
