"""Control endpoints on the readings of the spec."""

from collections.abc import Mapping
from typing import Any, NewType, TypedDict

from sandbox.control.rows import ControlFault, ControlRequest
from sandbox.domain import readings
from sandbox.domain.text import nearest
from sandbox.worlds.world import World


class ReadingValueView(TypedDict):
    """One way to read the sentence."""

    name: str
    meaning: str


class ReadingView(TypedDict):
    """A sentence that can be read in several ways."""

    id: str
    sentence: str
    values: list[ReadingValueView]
    default: str
    clause: str


class AllReadings(TypedDict):
    """All readings."""

    readings: list[ReadingView]


ReadingValues = NewType("ReadingValues", dict[str, Any])
"""The values of all readings, by id."""


def own_readings(wanted: Mapping[str, str]) -> dict[str, str]:
    """The same readings. Raises ControlFault for an unknown one or an unknown value."""
    try:
        return readings.checked(wanted)
    except readings.UnknownReading as error:
        raise _unknown(wanted, error) from None


def readings_apart(world: World) -> dict[str, str]:
    """The readings of a world that differ from those of the profile."""
    of_profile = readings.in_force(world.profile.readings, {})
    return {id: value for id, value in world.readings.items() if value != of_profile[id]}


def list_all(request: ControlRequest) -> AllReadings:
    """All readings, with the values of each."""
    return {
        "readings": [
            {
                "id": one.id,
                "sentence": one.sentence,
                "values": [{"name": name, "meaning": said} for name, said in one.values.items()],
                "default": one.default,
                "clause": one.clause,
            }
            for one in readings.READINGS.values()
        ]
    }


def read(request: ControlRequest) -> ReadingValues:
    """The readings that are in force in a world."""
    return ReadingValues(dict(request.world.readings))


def choose(request: ControlRequest) -> ReadingValues:
    """Choose readings of a world; those not named stay, null returns to the profile's."""
    try:
        request.world.set_readings(request.body)
    except readings.UnknownReading as error:
        raise _unknown(request.body, error) from None
    return read(request)


def _unknown(wanted: Mapping[str, Any], error: readings.UnknownReading) -> ControlFault:
    """The refusal, with the nearest known word for a misspelt one."""
    id, value = next(
        (id, value)
        for id, value in wanted.items()
        if id not in readings.READINGS
        or (value is not None and value not in readings.READINGS[id].names)
    )
    known = readings.READINGS.get(id)
    near = nearest(id, readings.READINGS) if known is None else nearest(value, known.names)
    return ControlFault(400, "unknown_reading", f"readings: {error}", nearest=near)
