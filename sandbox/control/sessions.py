"""Who is signed in with a browser: a cookie in place of the token."""

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from sandbox.control.who import Tokens, Who
from sandbox.platform import wire

SESSION_S: Final = 12 * 3_600
"""A session ends after this many seconds, and with the server. Source: assumed D25-session."""

SESSIONS_PER_TOKEN_MAX: Final = 10
"""A further sign-in with a token ends its oldest session, and never one of another token."""

_SESSIONS_MAX: Final = 1_000

_PORTS: Final = {"http": 80, "https": 443}


class WrongToken(Exception):
    """Not the token of the server."""


@dataclass(slots=True)
class Sessions:
    """The sessions of one server. `ticks` counts seconds."""

    tokens: Tokens = field(repr=False)
    ticks: Callable[[], float]
    _open: OrderedDict[str, tuple[float, Who]] = field(default_factory=OrderedDict, repr=False)

    def who(self, scope: Scope) -> Who | None:
        """Who sends the request, if it has the cookie of a session that goes on.

        A page on a path below can set a cookie of the same name, which then comes first.
        """
        return next((who for one in cookies_of(scope) if (who := self._whose(one))), None)

    def _whose(self, cookie: str) -> Who | None:
        ends, who = self._open.get(cookie, (0.0, None))
        if who is None or self.ticks() >= ends or not self.tokens.is_still(who):
            return None
        return who

    def begin(self, token: str) -> tuple[str, Who]:
        """The id of a new session, and whose it is. Raises WrongToken."""
        who = self.tokens.who(token.strip().encode())
        if who is None:
            raise WrongToken
        return self._new(who), who

    def end(self, scope: Scope) -> None:
        """Forget the session of this request, if it has one."""
        for cookie in cookies_of(scope):
            self._open.pop(cookie, None)

    def _new(self, who: Who) -> str:
        own = [id for id, (_, of) in self._open.items() if of == who]
        for id in own[: max(0, len(own) - SESSIONS_PER_TOKEN_MAX + 1)]:
            del self._open[id]
        id = secrets.token_urlsafe(24)
        self._open[id] = self.ticks() + SESSION_S, who
        while len(self._open) > _SESSIONS_MAX:
            self._open.popitem(last=False)
        return id


class SharedSessions(Sessions):
    """Sessions that every server knows which has the same secret: the cookie says whose it is.

    Who signs out is forgotten by this server alone; the browser has no cookie any more.
    """

    def __init__(self, tokens: Tokens, ticks: Callable[[], float], secret: bytes) -> None:
        super().__init__(tokens, ticks)
        self._secret = sha256(b"sessions" + secret).digest()
        self._ended: OrderedDict[str, None] = OrderedDict()

    def _whose(self, cookie: str) -> Who | None:
        said, _, seal = cookie.rpartition(".")
        if not said or cookie in self._ended or not _is_same(seal, self._seal(said)):
            return None
        ends, team, token_id, _ = said.split(".")
        who = Who(team, token_id)
        return who if self.ticks() < float(ends) and self.tokens.is_still(who) else None

    def end(self, scope: Scope) -> None:
        """Take this session for ended."""
        self._ended |= dict.fromkeys(filter(self._whose, cookies_of(scope)))
        while len(self._ended) > _SESSIONS_MAX:
            self._ended.popitem(last=False)

    def _new(self, who: Who) -> str:
        ends = int(self.ticks() + SESSION_S)
        said = f"{ends}.{who.team}.{who.token_id}.{secrets.token_urlsafe(9)}"
        return f"{said}.{self._seal(said)}"

    def _seal(self, said: str) -> str:
        return hmac.new(self._secret, said.encode("latin-1"), sha256).hexdigest()


def _is_same(one: str, other: str) -> bool:
    return compare_digest(one.encode("latin-1"), other.encode("latin-1"))


def cookies_of(scope: Scope) -> list[str]:
    """The values of the session cookie: none or one, unless another page has set it too."""
    sent = b";".join(value for name, value in scope["headers"] if name == b"cookie")
    pairs = (one.strip().partition("=") for one in sent.decode("latin-1").split(";"))
    name = cookie_name(scope)
    return [content for found, _, content in pairs if found == name]


def cookie_name(scope: Scope) -> str:
    """Cookies are shared by all ports of a host, so the name has the port that was asked for."""
    scheme = scope.get("scheme", "http")
    try:
        host = (wire.header(scope["headers"], b"host") or b"").decode("latin-1")
        port = urlsplit(f"//{host}").port
    except (wire.BadInput, ValueError):
        port = None
    return f"uat_sandbox_{port or _PORTS.get(scheme, 80)}"
