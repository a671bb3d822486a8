"""The token of the control API: its rules, and reading one from a file."""

from pathlib import Path
from typing import Final

from sandbox.domain.text import NotUtf8, decode_text

TOKEN_CHARS_MIN: Final = 16
"""A shorter token can be guessed over the network (assumed D25-token)."""

_FILE_BYTES_MAX: Final = 4_096


class TokenError(ValueError):
    """A token cannot be used; the message gives the reason."""


def check_token(token: str) -> None:
    """Raises TokenError for a token that could be guessed, or that no client could send."""
    if len(token) < TOKEN_CHARS_MIN:
        how_long = f"has only {len(token)} characters" if token else "is empty"
        raise TokenError(f"the token {how_long}, and needs at least {TOKEN_CHARS_MIN}")
    if not token.isascii() or not token.isprintable() or token != token.strip():
        raise TokenError(
            "the token cannot be sent in a header: take printable ASCII characters, without a "
            "space at either end"
        )


def read_token(path: Path) -> str:
    """The token in a file, which holds nothing else. Raises TokenError with the file's name."""
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES_MAX + 1)
        token = decode_text(content).strip()
    except OSError as error:
        raise TokenError(f"{path}: cannot be read: {error}") from None
    except NotUtf8 as error:
        raise TokenError(f"{path}: {error}") from None
    if not token:
        raise TokenError(f"{path}: is empty")
    if len(content) > _FILE_BYTES_MAX or len(token.splitlines()) > 1:
        raise TokenError(f"{path}: holds more than one line, and not a token alone")
    return token
