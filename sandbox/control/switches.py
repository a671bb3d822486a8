"""The switches of a world, and the readings of the spec."""

from typing import Annotated, Any, Final

from pydantic import WithJsonSchema

from sandbox.control.context import ControlRequest
from sandbox.control.models import TOTAL, View, WholeBody, shows
from sandbox.control.routing import PREFIX, WORLD, get, put
from sandbox.domain import readings, switches
from sandbox.domain.readings import Reading
from sandbox.worlds.world import World


def _describe_switch(switch: switches.Switch) -> dict[str, Any]:
    about = {"description": f"{switch.about} ({switch.source})", "default": switch.default}
    if switch.values:
        return {"enum": list(switch.values), **about}
    kind = {"type": "integer", "format": "int64"} if switch.is_whole else {"type": "number"}
    return {**kind, "minimum": 0, "maximum": switch.number_max, **about}


def _describe_readings(*more: None) -> dict[str, Any]:
    return {
        reading.id: {
            "enum": [*reading.names, *more],
            "description": f"{reading.sentence} ({reading.clause})",
        }
        for reading in readings.READINGS.values()
    }


def _record(fields: dict[str, Any], **more: Any) -> WithJsonSchema:
    shown = {"type": "object", "properties": fields, "additionalProperties": False}
    return WithJsonSchema(shown | more)


_SWITCHES: Final = {name: _describe_switch(one) for name, one in switches.SWITCHES.items()}


class Switches(
    WholeBody[Annotated[dict[str, Any], _record(_SWITCHES)]],
    example={"batch.settlement": "manual"},
):
    """Switch name to value."""


class Readings(
    WholeBody[Annotated[dict[str, str | None], _record(_describe_readings(None))]],
    example={"stored_transaction_type": "first"},
):
    """Reading to value; null returns to the profile's."""


SwitchValues = Annotated[dict[str, Any], _record(_SWITCHES, required=list(_SWITCHES))]
"""The values of all switches, by name."""


@get(f"{WORLD}/switches", "switches.read")
def read_switches(request: ControlRequest) -> SwitchValues:
    """Read a world's switches."""
    return dict(request.world.switches)


@put(f"{WORLD}/switches", "switches.set")
def set_switches(request: ControlRequest, body: Switches) -> SwitchValues:
    """Set switches of a world.

    Switches that are not named stay as they are.
    """
    request.world.set_switches(switches.checked(body.root))
    return read_switches(request)


class ReadingValueView(View):
    """One way to read the sentence."""

    name: str
    meaning: str


@shows(Reading)
class ReadingView(View):
    """A sentence that can be read in several ways."""

    values: list[ReadingValueView]
    default: str


class AllReadings(View):
    """All readings."""

    readings: list[ReadingView]
    total: int = TOTAL


ReadingValues = Annotated[
    dict[str, str], _record(_describe_readings(), required=list(readings.READINGS))
]
"""The values of all readings, by id."""


def readings_apart(world: World) -> dict[str, str]:
    """Return the readings of a world that differ from those of the profile."""
    of_profile = readings.in_force(world.profile.readings, {})
    return {id: value for id, value in world.readings.items() if value != of_profile[id]}


@get(f"{PREFIX}/readings", "readings.list")
def list_readings(request: ControlRequest) -> AllReadings:
    """List the readings: sentences that can be read in several ways."""
    return AllReadings(readings=list(map(_show_reading, readings.READINGS.values())))


def _show_reading(reading: Reading) -> ReadingView:
    values = [ReadingValueView(name=name, meaning=said) for name, said in reading.values.items()]
    return ReadingView.of(reading, values=values)


@get(f"{WORLD}/readings", "readings.read")
def read_readings(request: ControlRequest) -> ReadingValues:
    """Read the readings that are in force in a world."""
    return dict(request.world.readings)


@put(f"{WORLD}/readings", "readings.set")
def set_readings(request: ControlRequest, body: Readings) -> ReadingValues:
    """Choose readings of a world.

    Readings that are not named stay as they are; null returns to the profile's.
    """
    request.world.set_readings(body.root)
    return read_readings(request)
