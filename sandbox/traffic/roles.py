"""What a value is for: an id, a key, a time or a code that the platform draws, or plain words.

Two values with the same role match although they differ: each side made its own.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final


class Role(Enum):
    """The role of a value in an answer."""

    ID = "id"
    KEY = "key"
    TIME = "time"
    CODE = "code"
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class RoleRow:
    """Names of fields, and the role of their values."""

    role: Role
    names: re.Pattern[str]


ROLES: Final = (
    RoleRow(Role.ID, re.compile(r"id|.*_ids?|.*[a-z]I[dD]s?|mid|tid|reader_identifier")),
    RoleRow(Role.KEY, re.compile(r"key|api_?key")),
    RoleRow(Role.TIME, re.compile(r".*_at|.*[a-z]At|timestamp")),
    RoleRow(Role.CODE, re.compile(r"approval_?[cC]ode|rrn|stan|key_last4|lookup|cryptogram")),
)
"""Source: decision 54."""

_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")


def role_of(name: str, value: Any) -> Role:
    """The role of a value in a field of that name."""
    if isinstance(value, str):
        if _UUID.fullmatch(value):
            return Role.ID
        if _TIME.fullmatch(value):
            return Role.TIME
    return next((row.role for row in ROLES if row.names.fullmatch(name)), Role.WORDS)


def form_of(value: Any) -> str:
    """How a time is written, such as `0000-00-00T00:00:00.000Z` or `0000000000000`."""
    return re.sub(r"[0-9]", "0", str(value))


def looks_like_id(value: str) -> bool:
    """Whether the text is an id wherever it stands."""
    return bool(_UUID.fullmatch(value))


def without_ids(text: str) -> str:
    """The text with all ids and times in it replaced by one word for each role."""
    return _TIME.sub("(time)", _UUID.sub("(id)", text))
