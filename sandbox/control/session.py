"""Sessions of browsers: a cookie in place of the token.

A browser cannot put a bearer token into everything that it asks for, and a page should not keep
one. So the console hands the token over once, and gets a cookie that scripts cannot read.
"""

import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.types import Scope

from sandbox.control.rows import PREFIX, ControlFault, ControlRequest
from sandbox.platform import wire

if TYPE_CHECKING:
    from sandbox.control.shapes import SessionBody

SESSION_S: Final = 12 * 3_600
"""A session ends after this many seconds, and with the server. Source: assumed D25-session."""

WRONG_MAX: Final = 10
WRONG_WITHIN_S: Final = 60.0
"""So many wrong tokens of one address within so many seconds, and it has to wait.
Source: assumed D25-session."""

_SESSIONS_MAX: Final = 1_000
_ADDRESSES_MAX: Final = 1_000

_PORTS: Final = {"http": 80, "https": 443}


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
        """The id of a new session. Raises ControlFault for a wrong token, or the eleventh try."""
        assert self.token is not None
        tries = self._tries(address)
        if len(tries) >= WRONG_MAX:
            wait_s = int(tries[0] + WRONG_WITHIN_S - self.ticks()) + 1
            raise ControlFault(
                429,
                "too_many_wrong_tokens",
                f"{WRONG_MAX} wrong tokens came from here within a minute; try again in {wait_s} s",
                headers={"retry-after": str(wait_s)},
            )
        if not compare_digest(token.strip().encode(), self.token):
            tries.append(self.ticks())
            raise ControlFault(
                401,
                "wrong_token",
                "this is not the token of this server",
                details="the server was given one (SANDBOX_TOKEN, --token-file), or printed one "
                "at its start; one that was made up changes with each start",
            )
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """What a page has to know before anything else.

    `signed_in` is true too where no token is needed. `platform_url` is the address of the platform.
    """

    needs_token: bool
    signed_in: bool
    version: str
    platform_url: str
    api_key_header: str


def read(request: ControlRequest) -> SessionView:
    """Whether this browser may use the control API."""
    services = request.services
    needs = services.needs_token
    return _view(request, signed_in=not needs or request.sessions.is_signed_in(request.scope))


def begin(request: ControlRequest) -> SessionView:
    """Exchange the token for a cookie. Raises ControlFault for a wrong one."""
    body: SessionBody = request.body
    if request.services.needs_token:
        client = request.scope.get("client")
        id = request.sessions.begin(body.token, client[0] if client else "")
        request.answer_headers["set-cookie"] = _cookie(request, id, SESSION_S)
    return _view(request, signed_in=True)


def end(request: ControlRequest) -> None:
    """End the session of this browser, if it has one."""
    request.sessions.end(request.scope)
    request.answer_headers["set-cookie"] = _cookie(request, "", 0)


def _view(request: ControlRequest, *, signed_in: bool) -> SessionView:
    services = request.services
    return SessionView(
        needs_token=services.needs_token,
        signed_in=signed_in,
        version=services.version,
        platform_url=services.platform_url,
        api_key_header=services.worlds.profile.api_key_header,
    )


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


def _cookie(request: ControlRequest, value: str, seconds: int) -> str:
    scope = request.scope
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return (
        f"{cookie_name(scope)}={value}; Path={request.root_path}{PREFIX}; Max-Age={seconds}; "
        f"HttpOnly; SameSite=Strict{secure}"
    )
