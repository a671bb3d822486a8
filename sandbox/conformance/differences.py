"""How a replayed answer differs from the recorded one: in status, shape and words.

Values have roles: an id, a key, a time or a code that the platform draws, or plain words. Two
values with the same role match although they differ, because each side made its own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal

from sandbox.conformance.har import ShownAnswer


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
"""The roles of values by the names of their fields."""

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


Kind = Literal["status", "shape", "words"]

_SUCCESS_MAX: Final = 399
_ID_CHARS_MIN: Final = 8
"""A shorter id, such as the number of a batch, is a count and has to be the same."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: the number of its request, its kind and place, and both sides in words."""

    number: int
    kind: Kind
    place: str
    recorded: str
    replayed: str

    @property
    def identity(self) -> tuple[int, str, str]:
        """What says whether two replays have the same difference."""
        return self.number, self.kind, self.place


@dataclass(slots=True)
class Names:
    """Values of the recording, each with the one that has its place in the replay."""

    replayed: dict[str, str] = field(default_factory=dict)
    recorded: dict[str, str] = field(default_factory=dict)

    def learn(self, recorded: str, replayed: str) -> bool:
        """Note that these are the same thing. False if one of them is known as another."""
        known = self.replayed.get(recorded), self.recorded.get(replayed)
        if known == (None, None):
            self.replayed[recorded], self.recorded[replayed] = replayed, recorded
            return True
        return known == (replayed, recorded)

    def translated(self, value: Any) -> Any:
        """A value of the recording as the replay has it: whole texts, at any depth."""
        if isinstance(value, str):
            return self.replayed.get(value, value)
        if isinstance(value, list):
            return [self.translated(one) for one in value]
        if isinstance(value, dict):
            return {name: self.translated(one) for name, one in value.items()}
        return value


def differences(
    number: int, recorded: ShownAnswer, replayed: ShownAnswer, names: Names
) -> list[Difference]:
    """All differences between the answers to a request. Learns which ids are the same.

    The bodies of a success and of a refusal are not compared.
    """
    found = []
    if recorded.status != replayed.status:
        sides = (str(recorded.status), str(replayed.status))
        found.append(Difference(number, "status", "status", *sides))
    is_success = recorded.status <= _SUCCESS_MAX
    if is_success is not (replayed.status <= _SUCCESS_MAX):
        return found
    if not recorded.text or not replayed.text:
        if bool(recorded.text) is not bool(replayed.text):
            sides = ("a body", "none") if recorded.text else ("none", "a body")
            found.append(Difference(number, "shape", "body", *sides))
        return found
    if recorded.media_type != replayed.media_type:
        sides = (recorded.media_type or "none", replayed.media_type or "none")
        found.append(Difference(number, "shape", "content-type", *sides))
    try:
        bodies = recorded.json(), replayed.json()
    except (ValueError, RecursionError):
        # The media type says already that these are different things.
        if recorded.media_type == replayed.media_type and recorded.text != replayed.text:
            sides = (_shown(recorded.text), _shown(replayed.text))
            found.append(Difference(number, "words", "body", *sides))
        return found
    return [*found, *_Walk(number, names, learns=is_success).compared("body", "", *bodies)]


@dataclass(frozen=True, slots=True)
class _Walk:
    """A way through two bodies at once."""

    number: int
    names: Names
    learns: bool

    def compared(self, place: str, name: str, one: Any, other: Any) -> Iterator[Difference]:
        """The differences at this place and below."""
        if type_of(one) != type_of(other):
            yield self._unlike("shape", place, type_of(one), type_of(other))
        elif isinstance(one, dict):
            yield from self._objects(place, one, other)
        elif isinstance(one, list):
            if len(one) != len(other):
                yield self._unlike("shape", place, f"{len(one)} items", f"{len(other)} items")
            for index, pair in enumerate(zip(one, other, strict=False)):
                yield from self.compared(f"{place}[{index}]", name, *pair)
        elif not isinstance(one, bool | None):
            yield from self._values(place, name, one, other)
        elif one is not other:
            yield self._unlike("words", place, _shown(one), _shown(other))

    def _objects(
        self, place: str, one: dict[str, Any], other: dict[str, Any]
    ) -> Iterator[Difference]:
        for name in [*one, *(name for name in other if name not in one)]:
            inner = f"{place}.{name}"
            if name not in other:
                yield self._unlike("shape", inner, type_of(one[name]), "absent")
            elif name not in one:
                yield self._unlike("shape", inner, "absent", type_of(other[name]))
            else:
                yield from self.compared(inner, name, one[name], other[name])

    def _values(self, place: str, name: str, one: Any, other: Any) -> Iterator[Difference]:
        role, other_role = role_of(name, one), role_of(name, other)
        if role is not other_role or role is Role.WORDS:
            if self._words(one) != self._words(other):
                yield self._unlike("words", place, _shown(one), _shown(other))
        elif role is Role.TIME:
            if form_of(one) != form_of(other):
                yield self._unlike("shape", place, form_of(one), form_of(other))
        elif role is Role.ID and isinstance(one, str):
            if min(len(one), len(other)) < _ID_CHARS_MIN:
                if one != other:
                    yield self._unlike("words", place, _shown(one), _shown(other))
            elif self.learns and not self.names.learn(one, other):
                yield self._unlike("words", place, "the id of one thing", "that of another")
        elif role is Role.KEY and self.learns and isinstance(one, str):
            self.names.learn(one, other)

    def _words(self, value: Any) -> Any:
        return without_ids(value) if isinstance(value, str) else value

    def _unlike(self, kind: Kind, place: str, one: str, other: str) -> Difference:
        return Difference(self.number, kind, place, one, other)


def type_of(value: Any) -> str:
    """The type of a JSON value, in a word."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, list) else "object"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else str(value).lower()
    return f"{text[:200]!r}" if isinstance(value, str) else text
