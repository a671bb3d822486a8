"""Schedules that close a terminal's batches at local times. Source: assumed B16.

Zones are those of the IANA database: the machine's own, else that of the package tzdata.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from msgspec import Struct

from sandbox.domain.words import nearest

DayCode = Literal["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
DAYS: Final[tuple[DayCode, ...]] = DayCode.__args__  # type: ignore[attr-defined]
"""The codes of days, in the order of `datetime.weekday`."""

TIMES_MAX: Final = 24
ZONE_CHARS_MAX: Final = 64
TIME_PATTERN: Final = "^([01][0-9]|2[0-3]):[0-5][0-9]$"

_DAYS_AHEAD: Final = 9
"""Each day of the week comes within so many days, even where a zone skips a date."""


class BatchSchedule(Struct, frozen=True, kw_only=True, gc=False):
    """The local times of 24 hours, HH:MM, the days and the zone of one terminal.

    Build it with `batch_schedule`, which checks it.
    """

    times: tuple[str, ...]
    days: tuple[DayCode, ...]
    zone: str

    def next_after(self, moment: datetime) -> datetime:
        """The first moment after this one at which a batch closes.

        A time that daylight saving skips comes as much later as the clock jumps: 02:30 is 03:30.
        One that occurs twice counts once, the first time.
        """
        zone = ZoneInfo(self.zone)
        today = moment.astimezone(zone).date()
        for ahead in range(-1, _DAYS_AHEAD):
            date = today + timedelta(days=ahead)
            if DAYS[date.weekday()] not in self.days:
                continue
            due = [
                datetime.combine(date, time.fromisoformat(one), zone).astimezone(UTC)
                for one in self.times
            ]
            later = [one for one in due if one > moment]
            if later:
                return min(later)
        raise AssertionError("a schedule without a day")


class UnknownZone(ValueError):
    """A zone that does not exist; `nearest` is the one that was probably meant."""

    def __init__(self, about: str, nearest: str | None) -> None:
        super().__init__(about + (f"; did you mean {nearest!r}?" if nearest else ""))
        self.nearest = nearest


def batch_schedule(
    times: tuple[str, ...], days: tuple[DayCode, ...] | None, zone: str
) -> BatchSchedule:
    """The schedule, in order and without repetitions; no days are all days.

    Raises UnknownZone for a zone that does not exist, with the nearest one.
    """
    _must_be_a_zone(zone)
    wanted = set(days or DAYS)
    return BatchSchedule(
        times=tuple(sorted(set(times))),
        days=tuple(day for day in DAYS if day in wanted),
        zone=zone,
    )


def _must_be_a_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # Nearest words are found in small letters.
        zones = {zone.lower(): zone for zone in available_timezones()}
        near = nearest(name, zones)
        about = f"zone: there is no time zone {name[:80]!r}"
        raise UnknownZone(about, None if near is None else zones[near]) from None
