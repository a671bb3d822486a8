"""The value types of scenario files: words of a table, amounts, durations.

Each is checked when the file is read, and describes its values in the JSON Schema.
"""

from collections.abc import Collection
from typing import Annotated, Any, Final, TypeVar

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from sandbox.domain.instants import DURATION_PATTERN, parse_duration
from sandbox.domain.payments.amounts import AMOUNT_MAX
from sandbox.domain.text import UnknownWord, obeyed_in

T = TypeVar("T")

RULES_MAX: Final = 1_000
"""Rules of a scenario on attempts, and its examples. Each attempt is compared with every rule until
one fits; the largest scenario of the library has seven."""

WEBHOOK_RULES_MAX: Final = 100
"""Rules of a scenario on webhooks. Each message is compared with all of them for each endpoint."""


class Part(BaseModel):
    """A part of a scenario file: it accepts known fields of exactly their types.

    The docstrings of the fields are their descriptions in the JSON Schema.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class OneOf(Struct, frozen=True, gc=False):
    """Text that has to be one of the known words, which are `what`."""

    known: Collection[str]
    what: str

    def check(self, word: str) -> str:
        """The word itself. Raises UnknownWord with the nearest one."""
        if word not in self.known:
            raise UnknownWord(f"{word[:80]!r} is no {self.what}", word, self.known)
        return word

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return handler(schema) | {"enum": list(self.known)}


class _Alone:
    """In the JSON Schema too, a list of one can be written as the one."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        listed = handler(schema)
        one: dict[str, Any] = listed["items"]
        return {"anyOf": [*one.get("anyOf", [one]), listed]}


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Some = Annotated[list[T], Field(min_length=1, fail_fast=True), BeforeValidator(_listed), _Alone()]
"""One value, or a list of which any will do."""


def _in_one_line(name: str) -> str:
    """A name, which also appears in headers and log lines. Source: assumed D25-plain."""
    obeyed = obeyed_in(name)
    if obeyed is not None:
        raise ValueError(f"a name is one line of plain text, and this one has {obeyed} in it")
    return name


Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_in_one_line)]
RuleName = Annotated[
    str, Field(min_length=1, max_length=100, pattern=r"[^0-9]"), AfterValidator(_in_one_line)
]
"""Rules without a name are known by their number, which is no name therefore."""

Count = Annotated[int, Field(ge=1)]
Cents = Annotated[int, Field(ge=0, le=AMOUNT_MAX)]


def _duration(text: str) -> str:
    parse_duration(text)
    return text


Duration = Annotated[
    str,
    AfterValidator(_duration),
    Field(
        json_schema_extra={
            "pattern": DURATION_PATTERN,
            "examples": ["30s", "5m", "2h", "3d", "PT36H"],
        }
    ),
]
"""A length of time as people write it; `parse_duration` reads it."""


class AmountRange(Part):
    """Amounts from `min` to `max`, or whose last digits are `ends_with`. Minor units."""

    min: Cents | None = None
    """The lowest amount that matches, in minor units."""
    max: Cents | None = None
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
        """Whether the amount is one of them."""
        return (
            (self.min is None or amount >= self.min)
            and (self.max is None or amount <= self.max)
            and (self.ends_with is None or str(amount).endswith(self.ends_with))
        )


Amount = Cents | AmountRange
