"""The tokens of teams, as a server keeps them: their digests, never the tokens themselves."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

from msgspec import Struct
from pydantic_core import from_json

from sandbox.store.documents import Unreadable, from_document, to_text


class TeamToken(Struct, frozen=True, kw_only=True, gc=False):
    """A token by which a team uses the control API. `digest` is its SHA-256 in hex digits."""

    id: str
    team: str
    name: str
    digest: str
    created_at: datetime
    expires_at: datetime | None

    def is_valid_at(self, now: datetime) -> bool:
        """Whether it has not expired. The boundary itself is expired, as for API keys."""
        return self.expires_at is None or now < self.expires_at


def digest_of(token: bytes) -> str:
    """The digest by which a token is found. Tokens are random, so it needs no salt."""
    return sha256(token).hexdigest()


def written(tokens: Iterable[TeamToken]) -> str:
    """The tokens as a state file has them; empty if there are none."""
    listed = list(tokens)
    return to_text(listed) if listed else ""


def read(text: str) -> list[TeamToken]:
    """The tokens of a state file. Raises ValueError if they are no tokens."""
    if not text:
        return []
    try:
        tokens: list[TeamToken] = from_document(list[TeamToken], from_json(text))
    except Unreadable as error:
        raise ValueError(f"tokens: {error}") from None
    return tokens
