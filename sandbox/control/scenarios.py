"""Control endpoints on scenarios: what there is, and what runs in a world."""

from typing import TYPE_CHECKING, Any

from sandbox.control.rows import Ask, ControlFault, invalid
from sandbox.scenarios.loading import ScenarioError, parse_scenario
from sandbox.world.world import World

if TYPE_CHECKING:
    from sandbox.scenarios.shapes import Scenario


def library(ask: Ask) -> dict[str, Any]:
    """The scenarios that come with the sandbox."""
    views = [
        {"name": name, "title": one.name, "about": one.about}
        for name, one in ask.services.scenarios().items()
    ]
    return {"scenarios": views, "total": len(views)}


def schema(ask: Ask) -> dict[str, Any]:
    """The JSON Schema of scenario files, as `scenarios/` has it too."""
    from sandbox.scenarios.schema import scenario_schema

    return scenario_schema()


def read(ask: Ask) -> dict[str, Any]:
    """The scenario that runs in a world, and how often each of its rules applied."""
    if ask.world.scenario is None:
        raise ControlFault(404, "no_scenario", "no scenario runs in this world")
    return ask.world.scenario.view()


def run(ask: Ask) -> dict[str, Any]:
    """Have a scenario run in a world: one of the library by name, or a whole one."""
    start(ask.world, chosen(ask, ask.body))
    return read(ask)


def start(world: World, scenario: "Scenario") -> None:
    """Have it run in the world. Raises ControlFault for names that the world does not have."""
    try:
        world.run_scenario(scenario)
    except ScenarioError as error:
        raise invalid(f"scenario: {error}", error.nearest) from None


def chosen(ask: Ask, wanted: Any) -> "Scenario":
    """The scenario that is named, or written out. Raises ControlFault."""
    if isinstance(wanted, str):
        wanted = {"name": wanted}
    if not isinstance(wanted, dict):
        raise invalid("scenario: must be a name or a whole scenario")
    if set(wanted) != {"name"}:
        try:
            return parse_scenario(wanted)
        except ScenarioError as error:
            raise invalid(f"scenario: {error}", error.nearest) from None
    name = wanted["name"]
    if not isinstance(name, str):
        raise invalid("scenario: name: must be text")
    try:
        found: Scenario = ask.services.scenario(name)
        return found
    except ScenarioError as error:
        raise ControlFault(
            400,
            "unknown_scenario",
            f"scenario: {error}",
            details=f"there are: {', '.join(ask.services.scenarios())}",
            nearest=error.nearest,
        ) from None


def stop(ask: Ask) -> None:
    """Have no scenario decide any more."""
    ask.world.scenario = None
