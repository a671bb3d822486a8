"""Control endpoints on scenarios: the library, and the running one of a world."""

from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import urlsplit

from sandbox.control.rows import ControlFault, ControlRequest, Document, invalid
from sandbox.scenarios.loading import ScenarioError, parse_scenario
from sandbox.scenarios.running import RunningView
from sandbox.worlds.scenarios import run_scenario
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.scenarios.shapes import Scenario


class ScenarioOfLibrary(TypedDict):
    """A scenario of the library; `name` is that of its file."""

    name: str
    title: str
    about: str


class Scenarios(TypedDict):
    """The scenarios of the library."""

    scenarios: list[ScenarioOfLibrary]
    total: int


def library(request: ControlRequest) -> Scenarios:
    """The scenarios that come with the sandbox."""
    views: list[ScenarioOfLibrary] = [
        {"name": name, "title": one.name, "about": one.about}
        for name, one in request.services.scenarios().items()
    ]
    return {"scenarios": views, "total": len(views)}


def schema(request: ControlRequest) -> Document:
    """The JSON Schema of scenario files, as `scenarios/` has it too."""
    from sandbox.scenarios.schema import scenario_schema

    return scenario_schema()


def read(request: ControlRequest) -> RunningView:
    """The scenario that runs in a world, and how often each of its rules applied."""
    if request.world.scenario is None:
        raise ControlFault(404, "no_scenario", "no scenario runs in this world")
    return request.world.scenario.view()


def run(request: ControlRequest) -> RunningView:
    """Have a scenario run in a world: one of the library by name, or a whole one."""
    start(request.world, chosen(request, request.body))
    return read(request)


def start(world: World, scenario: "Scenario") -> None:
    """Have it run in the world. Raises ControlFault for names that the world does not have."""
    try:
        run_scenario(world, scenario)
    except ScenarioError as error:
        raise invalid(f"scenario: {error}", error.nearest) from None


def chosen(request: ControlRequest, wanted: Any) -> "Scenario":
    """The scenario that is named, or written out. Raises ControlFault."""
    if isinstance(wanted, str):
        wanted = {"name": wanted}
    if not isinstance(wanted, dict):
        raise invalid("scenario: must be a name or a whole scenario")
    if set(wanted) != {"name"}:
        try:
            scenario = parse_scenario(wanted)
        except ScenarioError as error:
            raise invalid(f"scenario: {error}", error.nearest) from None
        for one in scenario.endpoint:
            problem = request.services.why_not_to(urlsplit(one.url).hostname or "")
            if problem is not None:
                raise invalid(f"scenario: endpoint {one.name!r}, url: {problem}")
        return scenario
    name = wanted["name"]
    if not isinstance(name, str):
        raise invalid("scenario: name: must be text")
    try:
        found: Scenario = request.services.scenario(name)
        return found
    except ScenarioError as error:
        raise ControlFault(
            400,
            "unknown_scenario",
            f"scenario: {error}",
            details=f"there are: {', '.join(request.services.scenarios())}",
            nearest=error.nearest,
        ) from None


def stop(request: ControlRequest) -> None:
    """Have no scenario decide any more."""
    request.world.scenario = None
