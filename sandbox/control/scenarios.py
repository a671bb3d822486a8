"""Control endpoints on scenarios: the library, and the running one of a world."""

import asyncio
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import urlsplit

from sandbox.control.rows import ControlFault, ControlRequest, Document, invalid
from sandbox.domain.instants import to_wire
from sandbox.domain.text import nearest
from sandbox.scenarios.loading import Problem, ScenarioError, parse_scenario, problems_of
from sandbox.worlds.scenarios import run_scenario
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.acting_shapes import CheckBody, ProveBody
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


class RuleInUse(TypedDict):
    """A rule of the scenario that runs, and the last request of the journal that it decided."""

    name: str
    fitted: int
    applied: int
    is_used_up: bool
    last_request_id: str | None


class RunningScenario(TypedDict):
    """The scenario that runs in a world, also as a TOML file; `since` is when it began to run.

    `examples` are the names of its examples, or their numbers.
    """

    name: str
    about: str
    since: str | None
    toml: str
    rules: list[RuleInUse]
    webhooks: list[RuleInUse]
    examples: list[str]


def read(request: ControlRequest) -> RunningScenario:
    """The scenario that runs in a world, and how often each of its rules applied."""
    found = running_in(request.world)
    if found is None:
        raise _no_scenario()
    return found


def running_in(world: World) -> RunningScenario | None:
    """The scenario that runs in a world; None without one."""
    from sandbox.scenarios.toml import written_toml

    if world.scenario is None:
        return None
    shown, since = world.scenario.view(), world.state.scenario_since
    decided, spoilt = _last_requests(world)
    return {
        "name": shown["name"],
        "about": shown["about"],
        "since": None if since is None else to_wire(since),
        "toml": written_toml(world.state.scenario or {}),
        "rules": [{**one, "last_request_id": decided.get(one["name"])} for one in shown["rules"]],
        "webhooks": [
            {**one, "last_request_id": spoilt.get(one["name"])} for one in shown["webhooks"]
        ],
        "examples": _names_of_examples(world.scenario.scenario),
    }


def _names_of_examples(scenario: "Scenario") -> list[str]:
    return [one.name or str(number) for number, one in enumerate(scenario.example, start=1)]


def _last_requests(world: World) -> tuple[dict[str, str], dict[str, str]]:
    """By the name of a rule the last request that it decided, or whose webhook it changed."""
    decided, spoilt = {}, {}
    since = world.state.scenario_since
    for entry in world.journal.entries():
        if since is not None and entry.at < since:
            continue
        if entry.choice is not None and entry.choice.source == "scenario":
            decided[entry.choice.rule] = entry.id
        for message_id in entry.events:
            for delivery in world.outbox.deliveries_of(message_id):
                if delivery.rule is not None:
                    spoilt[delivery.rule] = entry.id
    return decided, spoilt


def run(request: ControlRequest) -> RunningScenario:
    """Have a scenario run in a world: one of the library by name, or a whole one."""
    start(request.world, chosen(request, request.body))
    return read(request)


class ScenarioFile(TypedDict):
    """A scenario of the library, as its file and as JSON, with the names of its examples."""

    name: str
    title: str
    about: str
    toml: str
    json: dict[str, Any]
    examples: list[str]


def of_library(request: ControlRequest) -> ScenarioFile:
    """One scenario of the library, by the name of its file."""
    name, known = request.params["name"], request.services.scenarios()
    if name not in known:
        raise ControlFault(
            404,
            "unknown_scenario",
            f"there is no scenario {name[:80]!r}",
            nearest=nearest(name, known),
        )
    one = known[name]
    return {
        "name": name,
        "title": one.name,
        "about": one.about,
        "toml": request.services.scenario_text(name),
        "json": one.model_dump(mode="json", exclude_unset=True),
        "examples": _names_of_examples(one),
    }


class ProblemView(TypedDict):
    """A mistake: `rule` is the part and its number, as in `rule 2`; `line` is of the TOML."""

    rule: str | None
    field: str | None
    line: int | None
    message: str
    nearest: str | None


class Problems(TypedDict):
    """The first hundred mistakes of a scenario, and the `total`; none if it can be used."""

    problems: list[ProblemView]
    total: int


def check(request: ControlRequest) -> Problems:
    """The mistakes of a scenario, each with its place. Nothing is changed."""
    from sandbox.scenarios.toml import Lines, line_of_error, read_toml

    body: CheckBody = request.body
    text, document = body.toml, body.document
    if text is not None:
        try:
            document = read_toml(text)
        except ScenarioError as error:
            line, told = line_of_error(str(error)), str(error)
            one = ProblemView(rule=None, field=None, line=line, message=told, nearest=None)
            return {"problems": [one], "total": 1}
    found, total = problems_of(document or {})
    lines = None if text is None or not found else Lines(text)
    views: list[ProblemView] = [
        {
            "rule": None if one.part is None else f"{one.part} {one.number}",
            "field": one.field,
            "line": None if lines is None else lines.of(one),
            "message": one.message,
            "nearest": one.nearest,
        }
        for one in found
    ]
    return {"problems": views, "total": total}


class ProvedExample(TypedDict):
    """The result of an example: what did not come as expected, in words; none if all did.

    `line` is that of the example in the TOML that was given, null if none was.
    """

    number: int
    name: str
    line: int | None
    mistakes: list[str]


class Proof(TypedDict):
    """The results of all examples of a scenario; `ok` if none has a mistake."""

    name: str
    ok: bool
    examples: list[ProvedExample]
    total: int


async def prove(request: ControlRequest) -> Proof:
    """Whether the examples of a scenario come true, in a demo world of their own.

    It is the one of the body, else the one that runs. The world itself does not change. A scenario
    without examples is ok. Source: assumed D25-prove.
    """
    from sandbox.scenarios.toml import Lines

    body: ProveBody = request.body
    if body.toml is None:
        scenario = running(request.world)
    else:
        scenario = _parsed(request, _of_file(body.toml))
    found: dict[int, list[str]]
    try:
        # Examples take a sandbox with a loop of its own; the platform goes on beside them.
        steps = await asyncio.to_thread(request.services.prove, scenario)
        found = {step.number: step.mistakes for step in steps}
    except ScenarioError as error:
        why = f"cannot run in a demo world: {error}"
        found = {number: [why] for number in range(1, len(scenario.example) + 1)}
    lines = None if body.toml is None else Lines(body.toml)
    views: list[ProvedExample] = [
        {
            "number": number,
            "name": one.name or f"example {number}",
            "line": None if lines is None else lines.of(Problem("example", number, None, "", None)),
            "mistakes": found[number],
        }
        for number, one in enumerate(scenario.example, start=1)
    ]
    return {
        "name": scenario.name,
        "ok": not any(found.values()),
        "examples": views,
        "total": len(views),
    }


def running(world: World) -> "Scenario":
    """The scenario that runs in a world. Raises ControlFault."""
    document = world.state.scenario
    if document is None:
        raise _no_scenario()
    return parse_scenario(dict(document))


def _no_scenario() -> ControlFault:
    return ControlFault(404, "no_scenario", "no scenario runs in this world")


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
    if set(wanted) == {"toml"}:
        return _parsed(request, _of_file(wanted["toml"]))
    if set(wanted) != {"name"}:
        return _parsed(request, wanted)
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


def _of_file(text: Any) -> dict[str, Any]:
    from sandbox.scenarios.toml import read_toml

    if not isinstance(text, str):
        raise invalid("scenario: toml: must be text")
    try:
        return read_toml(text)
    except ScenarioError as error:
        raise invalid(f"scenario: toml: {error}") from None


def _parsed(request: ControlRequest, document: dict[str, Any]) -> "Scenario":
    try:
        scenario = parse_scenario(dict(document))
    except ScenarioError as error:
        raise invalid(f"scenario: {error}", error.nearest) from None
    for one in scenario.endpoint:
        problem = request.services.why_not_to(urlsplit(one.url).hostname or "")
        if problem is not None:
            raise invalid(f"scenario: endpoint {one.name!r}, url: {problem}")
    return scenario


def stop(request: ControlRequest) -> None:
    """Have no scenario decide any more."""
    request.world.scenario = None
    request.world.put_state(scenario=None, scenario_since=None)
