"""The switches of a world, and the readings of the spec."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import ConfigDict, RootModel, WithJsonSchema

from sandbox.control.context import ControlFault, ControlRequest
from sandbox.control.models import View
from sandbox.control.routing import PREFIX, WORLD, Router
from sandbox.domain import readings, switches
from sandbox.domain.directory_readings import Reading
from sandbox.worlds.world import World

router = Router()


def _describe_switch(switch: switches.Switch) -> dict[str, Any]:
    about = {"description": f"{switch.about} ({switch.source})", "default": switch.default}
    if switch.values:
        return {"enum": list(switch.values), **about}
    return {"type": "number", "minimum": 0, "maximum": switch.number_max, **about}


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


class Switches(RootModel[Annotated[dict[str, Any], _record(_SWITCHES)]]):
    """Switch name to value."""

    model_config = ConfigDict(defer_build=True)


class Readings(RootModel[Annotated[dict[str, str | None], _record(_describe_readings(None))]]):
    """Reading to value; null returns to the profile's."""

    model_config = ConfigDict(defer_build=True)


SwitchValues = Annotated[dict[str, Any], _record(_SWITCHES, required=list(_SWITCHES))]
"""The values of all switches, by name."""


def check_switches(wanted: dict[str, Any]) -> dict[str, Any]:
    """Check the names and values of switches. Raises ControlFault."""
    try:
        return switches.checked(wanted)
    except switches.UnknownSwitch as error:
        why = f"switches: {error}"
        raise ControlFault(400, "unknown_switch", why, nearest=error.nearest) from None


@router.get(f"{WORLD}/switches", "switches.read")
def read_switches(request: ControlRequest) -> SwitchValues:
    """Read a world's switches."""
    return dict(request.world.switches)


@router.put(f"{WORLD}/switches", "switches.set", example={"batch.settlement": "manual"})
def set_switches(request: ControlRequest, body: Switches) -> SwitchValues:
    """Set switches of a world.

    Those not named stay.
    """
    request.world.set_switches(check_switches(body.root))
    return read_switches(request)


class ReadingValueView(View):
    """One way to read the sentence."""

    name: str
    meaning: str


class ReadingView(View):
    """A sentence that can be read in several ways."""

    id: str
    sentence: str
    values: list[ReadingValueView]
    default: str
    clause: str


class AllReadings(View):
    """All readings."""

    readings: list[ReadingView]


ReadingValues = Annotated[
    dict[str, str], _record(_describe_readings(), required=list(readings.READINGS))
]
"""The values of all readings, by id."""


def own_readings(wanted: Mapping[str, str]) -> dict[str, str]:
    """The same readings. Raises ControlFault for an unknown one or an unknown value."""
    try:
        return readings.checked(wanted)
    except readings.UnknownReading as error:
        raise _unknown_reading(error) from None


def readings_apart(world: World) -> dict[str, str]:
    """The readings of a world that differ from those of the profile."""
    of_profile = readings.in_force(world.profile.readings, {})
    return {id: value for id, value in world.readings.items() if value != of_profile[id]}


@router.get(f"{PREFIX}/readings", "readings.list")
def list_readings(request: ControlRequest) -> AllReadings:
    """List the readings: sentences that can be read in several ways."""
    return AllReadings(readings=list(map(_show_reading, readings.READINGS.values())))


def _show_reading(reading: Reading) -> ReadingView:
    values = [ReadingValueView(name=name, meaning=said) for name, said in reading.values.items()]
    return ReadingView.of(reading, values=values)


@router.get(f"{WORLD}/readings", "readings.read")
def read_readings(request: ControlRequest) -> ReadingValues:
    """Read the readings that are in force in a world."""
    return dict(request.world.readings)


@router.put(f"{WORLD}/readings", "readings.set", example={"stored_transaction_type": "first"})
def set_readings(request: ControlRequest, body: Readings) -> ReadingValues:
    """Choose readings of a world.

    Those not named stay, null returns to the profile's.
    """
    try:
        request.world.set_readings(body.root)
    except readings.UnknownReading as error:
        raise _unknown_reading(error) from None
    return read_readings(request)


def _unknown_reading(error: readings.UnknownReading) -> ControlFault:
    return ControlFault(400, "unknown_reading", f"readings: {error}", nearest=error.nearest)
