"""Instants and durations: parsing, formatting and shifting.

Inside the sandbox, an instant is an aware datetime in UTC with millisecond precision. On the wire
it is ISO 8601 with `Z` and three decimals (spec 6.1.6; the exact form is assumed 0.5-ids).
Durations are written `30s`, `5m`, `2h`, `3d`, or in ISO 8601 like `PT36H`.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, Strict, WithJsonSchema

_START_OF_1970: Final = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND: Final = timedelta(milliseconds=1)
"""The smallest step of a world's clock."""
_RFC3339 = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt ](\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:[Zz]|[+-](\d{2}:\d{2}))", re.ASCII
)


@lru_cache(maxsize=8192)
def to_wire(instant: datetime) -> str:
    """Return the instant as `2026-11-21T10:37:51.000Z`.

    Remembered, because the same instants of a record are written each time it is read.
    """
    # A datetime in UTC prints "+00:00"; the platform writes "Z" for the same thing.
    return instant.isoformat(timespec="milliseconds")[:-6] + "Z"


def parse_rfc3339(text: str) -> datetime:
    """Parse an RFC 3339 date-time with an offset into UTC, to the millisecond.

    Raises ValueError with a sentence for the client for anything else: a date alone, a number, a
    time without an offset, the 61st second, a year that UTC cannot hold.
    Source: spec 4.1 (ISO 8601 / RFC 3339 date-time); the offset is assumed 1.2.
    """
    match = _RFC3339.fullmatch(text)
    if not match:
        raise ValueError("must be an RFC 3339 date-time with an offset, like 2030-01-31T00:00:00Z")
    time, offset = match.groups()
    try:
        # Some versions of Python read hour 24, and every one an offset of 60 minutes.
        if time >= "24" or (offset and not (offset < "24" and offset[3] < "6")):
            raise ValueError
        # fromisoformat reads at most six decimals; the seventh to ninth cannot matter here.
        instant = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text.upper()))
        # In a process frozen by freezegun, that instant has another class, which is written
        # differently.
        return from_ms(to_ms(instant.astimezone(UTC)))
    except (ValueError, OverflowError) as error:
        raise ValueError("must name a date and time that exist") from error


def with_offset(text: str) -> str:
    """Return a date-time without an offset as one in UTC; any other text unchanged."""
    in_utc = text + "Z"
    return in_utc if _RFC3339.fullmatch(in_utc) else text


def to_millisecond(instant: datetime) -> datetime:
    """Return the instant truncated to milliseconds."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def from_ms(since_1970_ms: int) -> datetime:
    """Return the instant this many milliseconds after 1970-01-01T00:00:00Z."""
    return _START_OF_1970 + since_1970_ms * MILLISECOND


def to_ms(instant: datetime) -> int:
    """Return the instant in milliseconds since 1970-01-01T00:00:00Z."""
    since = instant - _START_OF_1970
    return (since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000


def add_years(instant: datetime, years: int) -> datetime:
    """Return the same day and time years later; 29 February may become 28 February.

    Source: assumed 8.2-leap.
    """
    try:
        return instant.replace(year=instant.year + years)
    except ValueError:
        return instant.replace(year=instant.year + years, day=28)


def _read(value: object) -> object:
    return parse_rfc3339(value) if isinstance(value, str) else value


Instant = Annotated[
    datetime,
    Strict(),
    BeforeValidator(_read),
    PlainSerializer(to_wire, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""An instant in a record or a model: read with `parse_rfc3339`, written with `to_wire`."""


_SHORT: Final = re.compile(r"(\d{1,9})(ms|s|m|h|d|w)", re.ASCII)
_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_ISO_UNITS: Final = ("weeks", "days", "hours", "minutes", "seconds")
_ISO: Final = re.compile(
    r"P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,3})?)S)?)?",
    re.ASCII,
)
DURATION_PATTERN: Final = rf"^(?:{_SHORT.pattern}|(?=.*\d){_ISO.pattern})$".replace(r"\d", "[0-9]")
"""The same for a JSON Schema, where `\\d` may mean digits of any script."""


def parse_duration(text: str) -> timedelta:
    """Return the length of time, to the millisecond.

    Raises ValueError with a sentence for the user. Months and years have no fixed length and are
    refused.
    """
    short = _SHORT.fullmatch(text)
    try:
        if short:
            return timedelta(milliseconds=int(short[1]) * _MS[short[2]])
        iso = _ISO.fullmatch(text)
        if iso and any(iso.groups()):
            parts = zip(_ISO_UNITS, iso.groups(), strict=True)
            return timedelta(**{unit: float(part or 0) for unit, part in parts})
    except OverflowError:
        raise ValueError("is longer than a calendar lasts") from None
    raise ValueError('must be a duration like "30s", "5m", "2h", "3d" or "PT36H"')


def check_duration(text: str) -> str:
    """Return the text itself. Raises ValueError unless it is a duration."""
    parse_duration(text)
    return text
