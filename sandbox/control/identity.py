"""Who uses the control API: the tokens of the operator and of teams, and browser sessions."""

import hmac
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.types import Scope

from sandbox.platform import wire
from sandbox.tokens import TeamToken, digest_of, parse_tokens, write_tokens
from sandbox.worlds.registry import Worlds
from sandbox.worlds.spec import OPERATOR, team_of, world_of
from sandbox.worlds.world import World

TOKENS_MAX: Final = 1_000
"""How many tokens of teams a server may have. Source: assumed D25-teams."""


class Identity(Struct, frozen=True, gc=False):
    """The operator of the server, or a team by one of its tokens."""

    team: str = OPERATOR
    token_id: str = ""

    def can_reach(self, world_id: str) -> bool:
        """Whether the world is theirs; the operator reaches all."""
        return self.team in (OPERATOR, team_of(world_id))

    def meant(self, name: str) -> str:
        """Return the id of the world that has this name for them.

        A world of another team may have the same name.
        """
        return world_of(self.team, name)

    def worlds(self, worlds: Worlds) -> list[World]:
        """Return all worlds within their reach."""
        return [world for world in worlds if self.can_reach(world.id)]


THE_OPERATOR: Final = Identity()

ANONYMOUS: Final = Identity("not known yet")
"""A client that requests an open row without a token. No team has this name."""


class TooManyTokens(RuntimeError):
    """The server holds as many tokens as it may."""


class Tokens:
    """The tokens of one server: the operator's own, and those of teams.

    `operators` is None if the control API needs no token. `keep` writes the tokens of teams to the
    state file, if there is one. Only digests of the teams' tokens are kept. They expire by `now`.
    """

    def __init__(
        self,
        operators: bytes | None,
        teams: list[TeamToken],
        *,
        keep: Callable[[str], None],
        now: Callable[[], datetime],
    ) -> None:
        self._operators = operators
        self._by_digest = {one.digest: one for one in teams}
        self._keep = keep
        self.now = now

    @property
    def are_needed(self) -> bool:
        """Whether the control API needs a token at all."""
        return self._operators is not None

    def seal_key(self, secret: bytes) -> bytes:
        """Return the key that seals cookies; another token of the operator makes another one."""
        return sha256(b"sessions" + secret + (self._operators or b"")).digest()

    def who(self, token: bytes) -> Identity | None:
        """Return whose token this is; None if it is unknown or expired.

        If no token is needed, clients without a team's token count as the operator.
        """
        found = self._by_digest.get(digest_of(token))
        if found is not None and found.is_valid_at(self.now()):
            return Identity(found.team, found.id)
        is_operators = self._operators is None or compare_digest(token, self._operators)
        return THE_OPERATOR if is_operators else None

    def is_still(self, who: Identity) -> bool:
        """Whether the token that they used is still valid."""
        if who.team == OPERATOR:
            return True
        found = self._find(who.token_id)
        return found is not None and found.is_valid_at(self.now())

    def add(self, team: str, name: str, expires_at: datetime | None) -> tuple[TeamToken, str]:
        """Return a new token of a team, and its plaintext. Raises TooManyTokens."""
        if len(self._by_digest) >= TOKENS_MAX:
            raise TooManyTokens(f"the server holds {TOKENS_MAX:,} tokens; delete old ones")
        plaintext = f"sbx_{secrets.token_urlsafe(24)}"
        token = TeamToken(
            id=f"tok_{secrets.token_hex(6)}",
            team=team,
            name=name,
            digest=digest_of(plaintext.encode()),
            created_at=self.now(),
            expires_at=expires_at,
        )
        self._by_digest[token.digest] = token
        self._keep(write_tokens(self._by_digest.values()))
        return token, plaintext

    def remove(self, id: str) -> bool:
        """Revoke a token at once. Return False if there is none with this id."""
        if (found := self._find(id)) is None:
            return False
        del self._by_digest[found.digest]
        self._keep(write_tokens(self._by_digest.values()))
        return True

    def _find(self, id: str) -> TeamToken | None:
        return next((one for one in self._by_digest.values() if one.id == id), None)

    def renew(self, teams: str) -> None:
        """Replace the tokens of teams, because another server changed them."""
        with suppress(ValueError):
            self._by_digest = {one.digest: one for one in parse_tokens(teams)}

    def list_all(self) -> list[TeamToken]:
        """Return the tokens of all teams, oldest first."""
        return list(self._by_digest.values())


SESSION_S: Final = 12 * 3_600
"""A session ends after this many seconds, and with the server. Source: assumed D25-session."""

SESSIONS_PER_TOKEN_MAX: Final = 10
"""Another sign-in with a token ends its oldest session, never one of another token."""

_ENDED_MAX: Final = 10_000
_PORTS: Final = {"http": 80, "https": 443}


class Sessions:
    """The sessions of all servers with the same secret and token: a sealed cookie names its owner.

    `ticks` counts seconds. Only this server remembers a sign-out; the browser deletes the cookie.
    """

    def __init__(self, tokens: Tokens, ticks: Callable[[], float], secret: bytes) -> None:
        self._tokens, self._ticks = tokens, ticks
        self._secret = tokens.seal_key(secret)
        # The cookies of sessions that began here, and the last ones that are no longer valid.
        self._begun: dict[Identity, list[str]] = {}
        self._ended: deque[str] = deque(maxlen=_ENDED_MAX)

    def who(self, scope: Scope) -> Identity | None:
        """Return who sent the request, if it has the cookie of a valid session.

        A page on a path below can set a cookie with the same name, which then comes first.
        """
        return next((who for one in cookies_of(scope) if (who := self._whose(one))), None)

    def _whose(self, cookie: str) -> Identity | None:
        said, _, seal = cookie.rpartition(".")
        # Compared as bytes, because a cookie may contain non-ASCII characters.
        sealed = compare_digest(seal.encode("latin-1"), self._seal(said).encode())
        if not (said and sealed) or cookie in self._ended:
            return None
        ends, team, token_id, _ = said.split(".")
        who = Identity(team, token_id)
        return who if self._ticks() < float(ends) and self._tokens.is_still(who) else None

    def begin(self, token: str) -> tuple[str, Identity] | None:
        """Return the cookie of a new session, and its owner; None for an unknown token."""
        if (who := self._tokens.who(token.strip().encode())) is None:
            return None
        ends = int(self._ticks() + SESSION_S)
        said = f"{ends}.{who.team}.{who.token_id}.{secrets.token_urlsafe(9)}"
        cookie = f"{said}.{self._seal(said)}"
        begun = [cookie, *filter(self._whose, self._begun.get(who, ()))]
        self._begun[who] = begun[:SESSIONS_PER_TOKEN_MAX]
        self._ended += begun[SESSIONS_PER_TOKEN_MAX:]
        return cookie, who

    def end(self, scope: Scope) -> None:
        """End the session of this request, if it has one."""
        self._ended += filter(self._whose, cookies_of(scope))

    def _seal(self, said: str) -> str:
        return hmac.new(self._secret, said.encode("latin-1"), sha256).hexdigest()


def cookies_of(scope: Scope) -> list[str]:
    """Return the values of the session cookie; several if another page has set it too."""
    sent = b";".join(value for name, value in scope["headers"] if name == b"cookie")
    pairs = (one.strip().partition("=") for one in sent.decode("latin-1").split(";"))
    name = cookie_name(scope)
    return [content for found, _, content in pairs if found == name]


def cookie_name(scope: Scope) -> str:
    """Return the name of the cookie. All ports of a host share cookies, so it has the port."""
    scheme = scope.get("scheme", "http")
    try:
        host = (wire.header(scope["headers"], b"host") or b"").decode("latin-1")
        port = urlsplit(f"//{host}").port
    except (wire.BadInput, ValueError):
        port = None
    return f"uat_sandbox_{port or _PORTS.get(scheme, 80)}"
