"""The types of values in scenario files: known words, amounts, durations.

Each is checked when the file is read, and describes its values in the JSON Schema.
"""

from collections.abc import Collection
from contextlib import suppress
from itertools import pairwise
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from sandbox.domain import field_types
from sandbox.domain.field_types import DelayMs
from sandbox.domain.instants import DURATION_PATTERN, check_duration, parse_duration, parse_rfc3339
from sandbox.domain.text import KnownWord, UnknownWord, obeyed_in

T = TypeVar("T")

RULES_MAX: Final = 1_000
"""How many rules for attempts, and how many examples, a scenario may have. Each attempt is compared
with the rules until one matches; the largest scenario of the library has seven."""

WEBHOOK_RULES_MAX: Final = 100
"""How many rules for webhooks. Each message is compared with them for each endpoint."""


class Part(BaseModel):
    """A part of a scenario file. It only accepts known fields, of exactly their types.

    The docstrings of the fields are their descriptions in the JSON Schema.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, defer_build=True, serialize_by_alias=True
    )


NEVER_EMPTY: Final[JsonDict] = {"minProperties": 1}
"""For the JSON Schema of a part that must have a field; its validator says which."""


class OneOf(KnownWord):
    """A text that must be one of the known words; `what` they are is for the message."""

    def __init__(self, known: Collection[str], what: str) -> None:
        super().__init__(known)
        self.what = what

    def _check(self, word: str) -> str:
        if word not in self.words:
            raise UnknownWord(f"{word[:80]!r} is not a known {self.what}", word, self.words)
        return word


class _Alone:
    """In the JSON Schema too, a list with one value can be written as the value."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        listed = handler(schema)
        one: dict[str, Any] = listed["items"]
        return {"anyOf": [*one.get("anyOf", [one]), listed]}


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Some = Annotated[list[T], Field(min_length=1, fail_fast=True), BeforeValidator(_as_list), _Alone()]
"""A value, or a list of values of which any matches."""


def _in_one_line(name: str) -> str:
    """Return the name. Raises ValueError unless it is one line: headers and logs show it.

    Source: assumed D25-plain.
    """
    obeyed = obeyed_in(name)
    if obeyed is not None:
        raise ValueError(f"a name is one line of plain text, and this one has {obeyed} in it")
    return name


Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_in_one_line)]
RuleName = Annotated[
    str, Field(min_length=1, max_length=100, pattern=r"[^0-9]"), AfterValidator(_in_one_line)
]
"""Rules without a name are known by their number, so a name is not a number."""

Count = Annotated[int, Field(ge=1)]


_LIKE_DURATIONS: Final[dict[str, Any]] = {
    "pattern": DURATION_PATTERN,
    "examples": ["30s", "5m", "2h", "3d", "PT36H"],
}
Duration = Annotated[str, AfterValidator(check_duration), Field(json_schema_extra=_LIKE_DURATIONS)]
"""A length of time as people write it, for `parse_duration`."""


def _moment(text: str) -> str:
    for parse in (parse_duration, parse_rfc3339):
        with suppress(ValueError):
            parse(text)
            return text
    raise ValueError(
        'must be a duration from the start of the scenario like "10m", '
        'or a time like "2030-01-31T12:00:00Z"'
    )


Moment = Annotated[str, AfterValidator(_moment)]
"""A moment of the world's clock: how long after the start of the scenario, or a date and time."""


class Latency(Part, json_schema_extra=NEVER_EMPTY):
    """A delay that differs between requests: a range, or percentiles, in milliseconds.

    It is spread evenly between the given points, from `min` or 0 to `max` or the last point.
    """

    min: DelayMs | None = None
    """The shortest delay; without it, 0."""
    p50: DelayMs | None = None
    """Half of the requests take at most this long."""
    p90: DelayMs | None = None
    """Nine out of ten requests take at most this long."""
    p95: DelayMs | None = None
    """95 out of 100 requests take at most this long."""
    p99: DelayMs | None = None
    """99 out of 100 requests take at most this long."""
    max: DelayMs | None = None
    """The longest delay; without it, the last percentile."""

    @model_validator(mode="after")
    def _is_possible(self) -> "Latency":
        points = self._points()
        if len(points) == 1:
            raise ValueError("says nothing: give max, or a percentile such as p50")
        if any(one > other for (_, one), (_, other) in pairwise(points)):
            raise ValueError("min, p50, p90, p95, p99 and max must not become less")
        return self

    def _points(self) -> list[tuple[float, int]]:
        given = {0.5: self.p50, 0.9: self.p90, 0.95: self.p95, 0.99: self.p99, 1.0: self.max}
        return [(0.0, self.min or 0), *((at, ms) for at, ms in given.items() if ms is not None)]

    def at(self, fraction: float) -> int:
        """Return the delay of a request that is slower than this fraction of requests."""
        for (low, least), (high, most) in pairwise(self._points()):
            if fraction < high:
                return round(least + (most - least) * (fraction - low) / (high - low))
        return self._points()[-1][1]


class AmountRange(Part, json_schema_extra=NEVER_EMPTY):
    """Amounts from `min` to `max`, or with the last digits `ends_with`, in minor units."""

    min: field_types.Amount | None = None
    """The lowest amount that matches, in minor units."""
    max: field_types.Amount | None = None
    """The highest amount that matches, in minor units."""
    ends_with: Annotated[str, Field(pattern=r"^[0-9]{1,9}$")] | None = None
    """The last digits of the amounts that match."""

    @model_validator(mode="after")
    def _is_possible(self) -> "AmountRange":
        if self.min is None and self.max is None and self.ends_with is None:
            raise ValueError("says nothing: give min, max or ends_with")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("no amount is both: min is more than max")
        return self

    def matches(self, amount: int) -> bool:
        """Whether the amount matches."""
        return (
            (self.min is None or amount >= self.min)
            and (self.max is None or amount <= self.max)
            and (self.ends_with is None or str(amount).endswith(self.ends_with))
        )


Amount = field_types.Amount | AmountRange
