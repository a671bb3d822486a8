"""The table of all readings, and the readings of a world.

One row per reading. Its default is what the sandbox does unless the profile or the world says
otherwise. Source: assumed D35.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from sandbox.domain.readings import directory, former, payments, wire
from sandbox.domain.readings.rows import Reading
from sandbox.domain.words import did_you_mean

READINGS: Final[Mapping[str, Reading]] = {
    reading.id: reading for reading in (*former.ROWS, *payments.ROWS, *directory.ROWS, *wire.ROWS)
}

DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {id: reading.default for id, reading in READINGS.items()}
)


class UnknownReading(ValueError):
    """A reading that does not exist, or a value that it does not have; the message helps."""


def checked(wanted: Mapping[str, Any]) -> dict[str, str]:
    """The same choices, every one known and of a value that its reading has."""
    for id, value in wanted.items():
        reading = READINGS.get(id)
        if reading is None:
            raise UnknownReading(f"{id[:80]!r} is not a reading{did_you_mean(id[:80], READINGS)}")
        if value not in reading.names:
            hint = did_you_mean(value[:80], reading.names) if isinstance(value, str) else ""
            raise UnknownReading(f"{id}: must be one of {', '.join(reading.names)}{hint}")
    return dict(wanted)


def in_force(of_profile: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """Every reading with its value: the world's own, else the profile's, else the default."""
    return MappingProxyType({**DEFAULTS, **of_profile, **own})


def default_of(id: str) -> str:
    """The default of a reading; any text for an unknown one, which `checked` refuses."""
    return READINGS[id].default if id in READINGS else ""
