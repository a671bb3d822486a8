"""Security headers of answers: one table for the platform and the control API.

The platform's answers are bare (assumed D3): they only forbid storing. There are no CORS headers,
because no page of another origin may read an answer.
"""

from enum import Enum
from typing import Final

from msgspec import Struct

Raw = tuple[tuple[bytes, bytes], ...]
"""Headers as ASGI has them."""


class AnswerKind(Enum):
    """The kind of an answer, which selects its headers."""

    CONTROL = "the control API"
    """An answer of the control API: it may hold keys, endpoint secrets, or anything else."""

    OPEN = "its open documents"
    """A document that holds no secret: health, OpenAPI, the schema of scenarios."""

    CONSOLE = "the console"
    """The page of the console, which runs scripts under the strictest policy."""

    ASSET = "files of the console"
    """A file of the console, named with its version: it never changes."""

    KEY = "API keys of the platform"
    """An answer of the platform that may hold the plaintext of an API key."""


class SecurityHeader(Struct, frozen=True, kw_only=True, gc=False):
    """One header, why it is there, and its value for each kind of answer that has it."""

    name: str
    why: str
    values: dict[AnswerKind, str]


_CONTROL_SURFACE: Final[tuple[AnswerKind, ...]] = tuple(
    kind for kind in AnswerKind if kind is not AnswerKind.KEY
)
_APART: Final = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_NOTHING: Final = f"default-src 'none'; {_APART}"

SECURITY_HEADERS: Final = (
    SecurityHeader(
        name="x-content-type-options",
        why="a browser must not guess the type of an answer",
        values=dict.fromkeys(_CONTROL_SURFACE, "nosniff"),
    ),
    SecurityHeader(
        name="cache-control",
        why="no cache keeps a secret",
        values={
            AnswerKind.CONTROL: "no-store",
            AnswerKind.KEY: "no-store",
            AnswerKind.OPEN: "no-cache",
            AnswerKind.CONSOLE: "no-cache",
            AnswerKind.ASSET: "public, max-age=31536000, immutable",
        },
    ),
    SecurityHeader(
        name="content-security-policy",
        why="an answer that is opened in a browser loads nothing, runs nothing, and is not framed; "
        "the console loads its own files, and nothing in it turns text into a script",
        values=dict.fromkeys(_CONTROL_SURFACE, _NOTHING)
        | {
            AnswerKind.CONSOLE: "default-src 'none'; script-src 'self'; style-src 'self'; "
            f"connect-src 'self'; img-src 'self' data:; {_APART}; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
        },
    ),
    SecurityHeader(
        name="referrer-policy",
        why="the ids in an address go nowhere else",
        values=dict.fromkeys(_CONTROL_SURFACE, "no-referrer"),
    ),
    SecurityHeader(
        name="cross-origin-resource-policy",
        why="a page of another origin gets nothing into its process",
        values=dict.fromkeys(_CONTROL_SURFACE, "same-origin"),
    ),
)
"""Source: assumed D25-headers."""


def _raw(kind: AnswerKind) -> Raw:
    return tuple(
        (row.name.encode(), row.values[kind].encode())
        for row in SECURITY_HEADERS
        if kind in row.values
    )


HEADERS_OF: Final[dict[AnswerKind, Raw]] = {kind: _raw(kind) for kind in AnswerKind}
"""The headers of each kind of answer, written once."""

SHOWS_KEY: Final = HEADERS_OF[AnswerKind.KEY]
