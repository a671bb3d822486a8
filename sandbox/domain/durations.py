"""Lengths of time as people write them: `30s`, `5m`, `2h`, `3d`, or ISO 8601 like `PT36H`."""

import re
from datetime import timedelta
from typing import Final

_SHORT: Final = re.compile(r"(\d{1,9})(ms|s|m|h|d|w)", re.ASCII)
_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_ISO: Final = re.compile(
    r"P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,3})?)S)?)?",
    re.ASCII,
)
PATTERN: Final = rf"^(?:{_SHORT.pattern}|(?=.*\d){_ISO.pattern})$".replace(r"\d", "[0-9]")
"""The same for a JSON Schema, whose digits may be of any script."""


def parse_duration(text: str) -> timedelta:
    """The length of time, to the millisecond. Raises ValueError with a sentence for the user.

    Months and years have no fixed length and are refused.
    """
    short = _SHORT.fullmatch(text)
    try:
        if short:
            return int(short[1]) * _UNITS[short[2]]
        iso = _ISO.fullmatch(text)
        if iso and any(iso.groups()):
            weeks, days, hours, minutes = (int(part or 0) for part in iso.groups()[:4])
            return timedelta(
                weeks=weeks,
                days=days,
                hours=hours,
                minutes=minutes,
                milliseconds=round(float(iso[5] or 0) * 1000),
            )
    except OverflowError:
        raise ValueError("is longer than a calendar lasts") from None
    raise ValueError('must be a duration like "30s", "5m", "2h", "3d" or "PT36H"')
