"""The tokens of the control API: their rules, and how a server stores those of teams.

Only the digest of a team's token is stored, never the token itself.
"""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic_core import from_json

from sandbox.domain.text import NotUtf8, decode_text, why_not_read
from sandbox.store.documents import from_document, to_text

TOKEN_CHARS_MIN: Final = 16
"""Shorter tokens could be guessed over the network (assumed D25-token)."""

_FILE_BYTES_MAX: Final = 4_096


class TokenError(ValueError):
    """A token cannot be used; the message gives the reason."""


def check_token(token: str) -> None:
    """Raise TokenError for a token that could be guessed, or that no client could send."""
    if len(token) < TOKEN_CHARS_MIN:
        how_long = f"has only {len(token)} characters" if token else "is empty"
        raise TokenError(f"the token {how_long}, and needs at least {TOKEN_CHARS_MIN}")
    check_characters(token)


def check_characters(token: str) -> None:
    """Raise TokenError for a token that no client could send."""
    if not token.isascii() or not token.isprintable() or token != token.strip():
        raise TokenError(
            "the token cannot be sent in a header: use printable ASCII characters, without a "
            "space at either end"
        )


def read_token(path: Path) -> str:
    """Return the token in a file that contains nothing else.

    Raises TokenError with the file's name.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES_MAX + 1)
        token = decode_text(content).strip()
    except (OSError, NotUtf8) as error:
        raise TokenError(f"{path}: {why_not_read(error)}") from None
    if not token:
        raise TokenError(f"{path}: is empty")
    if len(content) > _FILE_BYTES_MAX or len(token.splitlines()) > 1:
        raise TokenError(f"{path}: contains more than one line; it must contain only the token")
    return token


# --- tokens of teams ----------------------------------------------------------------------------


class TeamToken(Struct, frozen=True, kw_only=True, gc=False):
    """A token by which a team uses the control API. `digest` is its SHA-256 in hex digits."""

    id: str
    team: str
    name: str
    digest: str
    created_at: datetime
    expires_at: datetime | None

    def is_valid_at(self, now: datetime) -> bool:
        """Whether it has not expired. As for API keys, it is expired at the very instant."""
        return self.expires_at is None or now < self.expires_at


def digest_of(token: bytes) -> str:
    """Return the digest that identifies a token. Tokens are random, so it needs no salt."""
    return sha256(token).hexdigest()


def write_tokens(tokens: Iterable[TeamToken]) -> str:
    """Return the text of the tokens for a state file."""
    return to_text(list(tokens))


def parse_tokens(text: str) -> list[TeamToken]:
    """Return the tokens in the text of a state file. Raises ValueError for invalid text."""
    tokens: list[TeamToken] = from_document(list[TeamToken], from_json(text or "[]"))
    return tokens
