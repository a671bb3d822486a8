"""Who uses the control API, and the tokens by which teams do (decision 64)."""

import secrets
from collections.abc import Callable
from datetime import datetime
from hmac import compare_digest
from typing import Final

from msgspec import Struct

from sandbox.domain.teams import OPERATOR, team_of, world_of
from sandbox.store.team_tokens import TeamToken, digest_of, written
from sandbox.worlds.registry import Worlds
from sandbox.worlds.world import World

TOKENS_MAX: Final = 1_000
"""Tokens of teams on one server. Source: assumed D25-teams."""

_PREFIX: Final = "sbx_"
_SECRET_BYTES: Final = 24
_ID_BYTES: Final = 6


class Who(Struct, frozen=True, gc=False):
    """The operator of the server, or a team by one of its tokens."""

    team: str = OPERATOR
    token_id: str = ""

    def reaches(self, world_id: str) -> bool:
        """Whether the world is theirs; the operator reaches all."""
        return self.team in (OPERATOR, team_of(world_id))

    def meant(self, name: str) -> str:
        """The id of the world that they call by this name, which another team's may resemble."""
        return world_of(self.team, name)

    def world(self, worlds: Worlds, name: str) -> World | None:
        """The world that they call by this name; None if they have none."""
        return worlds.get(self.meant(name))

    def worlds(self, worlds: Worlds) -> list[World]:
        """All worlds within their reach."""
        return [world for world in worlds if self.reaches(world.id)]


THE_OPERATOR: Final = Who()

NOBODY: Final = Who("nobody yet")
"""Whoever asks for an open row without a token. No team has this name."""


class TooManyTokens(RuntimeError):
    """The server holds as many tokens as it may."""


class Tokens:
    """The tokens of one server: the operator's own, and those of teams.

    `operators` is None if the control API needs no token. `keep` writes the tokens of teams into
    the state file, where there is one. Tokens of teams are never held, only their digests.
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
        self._now = now

    @property
    def are_needed(self) -> bool:
        """Whether the control API needs a token at all."""
        return self._operators is not None

    def who(self, token: bytes) -> Who | None:
        """Whose token this is; None if it is nobody's, or has expired.

        Where no token is needed, everybody is the operator who does not come with a team's.
        """
        found = self._by_digest.get(digest_of(token))
        if found is not None and found.is_valid_at(self._now()):
            return Who(found.team, found.id)
        is_operators = self._operators is None or compare_digest(token, self._operators)
        return THE_OPERATOR if is_operators else None

    def is_still(self, who: Who) -> bool:
        """Whether the token by which they came is still good."""
        if who.team == OPERATOR:
            return True
        found = next((one for one in self._by_digest.values() if one.id == who.token_id), None)
        return found is not None and found.is_valid_at(self._now())

    def add(self, team: str, name: str, expires_at: datetime | None) -> tuple[TeamToken, str]:
        """A new token of a team, and its plaintext. Raises TooManyTokens."""
        if len(self._by_digest) >= TOKENS_MAX:
            raise TooManyTokens
        plaintext = f"{_PREFIX}{secrets.token_urlsafe(_SECRET_BYTES)}"
        token = TeamToken(
            id=f"tok_{secrets.token_hex(_ID_BYTES)}",
            team=team,
            name=name,
            digest=digest_of(plaintext.encode()),
            created_at=self._now(),
            expires_at=expires_at,
        )
        self._by_digest[token.digest] = token
        self._keep(written(self._by_digest.values()))
        return token, plaintext

    def remove(self, id: str) -> bool:
        """Make a token worthless at once. False if there is none with this id."""
        found = next((one for one in self._by_digest.values() if one.id == id), None)
        if found is None:
            return False
        del self._by_digest[found.digest]
        self._keep(written(self._by_digest.values()))
        return True

    def renew(self, teams: list[TeamToken]) -> None:
        """Take these tokens of teams in place of those so far: another server has changed them."""
        self._by_digest = {one.digest: one for one in teams}

    def listed(self) -> list[TeamToken]:
        """The tokens of all teams, oldest first."""
        return list(self._by_digest.values())
