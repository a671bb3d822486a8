"""Scenarios: the library, and the one that runs in a world."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field

from sandbox import library
from sandbox.control.clock import Advance, advance_clock
from sandbox.control.context import ControlFault, ControlRequest, PlayedExample, conflict, invalid
from sandbox.control.models import TOTAL, Body, Document, Time, View, WholeBody, Words, either
from sandbox.control.outcomes import TapBody, tap_card
from sandbox.control.routing import PREFIX, WORLD, delete, get, post, put
from sandbox.domain.text import expects, nearest
from sandbox.scenarios import parser
from sandbox.scenarios.scenario import Example, Scenario
from sandbox.scenarios.schema import scenario_schema
from sandbox.worlds.background import run_in_thread
from sandbox.worlds.lifecycle import run_scenario
from sandbox.worlds.world import World


class ScenarioBody(WholeBody[dict[str, Any]], example={"name": "batch_partially_accepted"}):
    """The name of a scenario of the library, or a whole scenario."""


class CheckBody(
    Body, example={"toml": 'name = "mine"\n[[rule]]\nthen = { outcme = "lost_card" }\n'}
):
    """A scenario to check: the text of its file, or a document."""

    toml: Annotated[str, Field(max_length=500_000)] | None = None
    document: Annotated[dict[str, Any] | None, Field(alias="json")] = None
    _has_one = either("toml", "document")


class ScenarioOfLibrary(View):
    """A scenario of the library; `name` is that of its file."""

    name: str
    title: str
    about: str


class Scenarios(View):
    """The scenarios of the library."""

    scenarios: list[ScenarioOfLibrary]
    total: int = TOTAL


@get(f"{PREFIX}/scenarios", "scenarios.list")
def list_scenarios(request: ControlRequest) -> Scenarios:
    """List the scenarios of the library."""
    known = library.scenarios().items()
    views = [ScenarioOfLibrary.of(one, name=name, title=one.name) for name, one in known]
    return Scenarios(scenarios=views)


@get(f"{PREFIX}/scenario.schema.json", "scenario.schema", is_open=True)
async def read_scenario_schema(request: ControlRequest) -> Document:
    """Return the JSON Schema of scenario files, for editors."""
    return await run_in_thread(scenario_schema)


class RuleInUse(View):
    """A rule of the scenario that runs, and the last request of the journal that it decided.

    `toml` is its condition and its effect, as in a file.
    """

    name: str
    toml: str
    fitted: int
    applied: int
    is_used_up: bool
    last_request_id: str | None


class RunningScenario(View):
    """The scenario that runs in a world, also as a TOML file; `since` is when it began to run.

    `examples` are the names of its examples, or their numbers.
    """

    name: str
    about: str
    since: Time | None
    toml: str
    rules: list[RuleInUse]
    webhooks: list[RuleInUse]
    examples: list[str]


@get(f"{WORLD}/scenario", "scenario.read")
def read_scenario(request: ControlRequest) -> RunningScenario:
    """Read the running scenario of a world."""
    if (view := view_running(request.world)) is None:
        raise _no_scenario()
    return view


def _no_scenario() -> ControlFault:
    return ControlFault(404, "no_scenario", "no scenario runs in this world")


def view_running(world: World) -> RunningScenario | None:
    """Return the scenario that runs in a world; None without one."""
    if (runs := world.scenario) is None:
        return None
    decided, faults = _last_requests(world)
    rules, webhooks = _rules_in_use(runs.attempts, decided), _rules_in_use(runs.webhooks, faults)
    toml, examples = parser.to_toml(world.state.scenario or {}), _names_of_examples(runs.scenario)
    lists = {"rules": rules, "webhooks": webhooks, "examples": examples}
    return RunningScenario.of(runs.scenario, since=world.state.scenario_since, toml=toml, **lists)


def _rules_in_use(rules: Sequence[Any], last: dict[str, str]) -> list[RuleInUse]:
    views = []
    for one in rules:
        said = one.rule.model_dump(mode="json", exclude_unset=True, exclude={"name"})
        toml, request = parser.to_toml(said), last.get(one.name)
        views.append(RuleInUse.of(one, toml=toml, last_request_id=request))
    return views


def _names_of_examples(scenario: Scenario) -> list[str]:
    return [one.name or str(number) for number, one in enumerate(scenario.example, start=1)]


def _last_requests(world: World) -> tuple[dict[str, str], dict[str, str]]:
    """Return the last request that each rule decided, or whose webhook it changed."""
    since = world.state.scenario_since
    entries = [one for one in world.journal.entries() if since is None or one.at >= since]
    choices = ((one.choice, one.id) for one in entries if one.choice is not None)
    decided = {choice.rule: id for choice, id in choices if choice.source == "scenario"}
    fired = ((message, entry.id) for entry in entries for message in entry.events)
    sent = ((one.rule, id) for each, id in fired for one in world.outbox.deliveries_of(each))
    return decided, {rule: id for rule, id in sent if rule is not None}


@put(f"{WORLD}/scenario", "scenario.run")
async def put_scenario(request: ControlRequest, body: ScenarioBody) -> RunningScenario:
    """Run a scenario in a world."""
    scenario = await choose_scenario(request, body.root)
    # The world may have been deleted or replaced meanwhile.
    request.find_world()
    run_scenario(request.world, scenario)
    return read_scenario(request)


class ScenarioFile(ScenarioOfLibrary):
    """A scenario of the library, as its file and as JSON, with the names of its examples."""

    toml: str
    document: Annotated[dict[str, Any], Field(alias="json")]
    examples: list[str]


@get(f"{PREFIX}/scenarios/{{name}}", "scenarios.read")
def read_scenario_file(request: ControlRequest) -> ScenarioFile:
    """Read a scenario of the library."""
    name, known = request.params["name"], library.scenarios()
    if name not in known:
        why = f"there is no scenario {name[:80]!r}"
        raise ControlFault(404, "unknown_scenario", why, nearest=nearest(name, known))
    one = known[name]
    document = one.model_dump(mode="json", exclude_unset=True)
    toml, examples = library.scenario_text(name), _names_of_examples(one)
    about = {"name": name, "title": one.name, "toml": toml, "examples": examples}
    return ScenarioFile.of(one, **about, json=document)


class ProblemView(View):
    """A mistake: `rule` is the part and its number, as in `rule 2`; `line` is that of the TOML."""

    rule: str | None = None
    field: str | None = None
    line: int | None
    message: str
    nearest: str | None = None


class Problems(View):
    """The first hundred mistakes of a scenario, and the `total`; none if it can be used."""

    problems: list[ProblemView]
    total: int


@post(f"{PREFIX}/scenarios/check", "scenarios.check")
async def check_scenario(request: ControlRequest, body: CheckBody) -> Problems:
    """List the mistakes of a scenario.

    Nothing is changed.
    """
    return await run_in_thread(_find_problems, body.toml, body.document)


def _find_problems(text: str | None, document: dict[str, Any] | None) -> Problems:
    views: list[ProblemView] = []
    try:
        parser.parse_scenario((document or {}) if text is None else parser.read_toml(text))
    except parser.ScenarioError as error:
        lines = parser.find_lines(text or "", error.problems)
        for one, found in zip(error.problems, lines, strict=True):
            line = text and (found or parser.line_of_error(one.message))
            rule = one.part and f"{one.part} {one.number}"
            views.append(ProblemView.of(one, rule=rule, line=line or None))
        return Problems(problems=views, total=error.total)
    return Problems(problems=views, total=0)


def get_running(world: World) -> Scenario:
    """Return the scenario that runs in a world. Raises ControlFault."""
    if world.scenario is None:
        raise _no_scenario()
    return world.scenario.scenario


async def choose_scenario(request: ControlRequest, wanted: Any) -> Scenario:
    """Return the scenario that is named, or given in full.

    Raises ControlFault, also for an endpoint at a host that webhooks may not go to.
    """
    if isinstance(wanted, str):
        wanted = {"name": wanted}
    if not isinstance(wanted, dict):
        raise invalid("scenario: must be a name or a whole scenario")
    if set(wanted) == {"name"}:
        return _find_in_library(wanted["name"])
    # To read a large one would hold up other requests.
    scenario = await run_in_thread(_read_scenario, wanted)
    for one in scenario.endpoint:
        if problem := request.services.why_not_to(urlsplit(one.url).hostname or ""):
            raise invalid(f"scenario: endpoint {one.name!r}, url: {problem}")
    return scenario


def _find_in_library(name: Any) -> Scenario:
    if not isinstance(name, str):
        raise invalid("scenario: name: must be text")
    try:
        return library.scenario(name)
    except parser.ScenarioError as error:
        why, there = f"scenario: {error}", f"there are: {', '.join(library.scenarios())}"
        near = error.nearest
        raise ControlFault(400, "unknown_scenario", why, details=there, nearest=near) from None


def _read_scenario(wanted: dict[str, Any]) -> Scenario:
    """Return the scenario in a document, or in a document with the text of a file."""
    if set(wanted) != {"toml"}:
        return parser.parse_scenario(wanted)
    if not isinstance(wanted["toml"], str):
        raise invalid("scenario: toml: must be text")
    try:
        document = parser.read_toml(wanted["toml"])
    except parser.ScenarioError as error:
        raise invalid(f"scenario: toml: {error}") from None
    return parser.parse_scenario(document)


@delete(f"{WORLD}/scenario", "scenario.stop")
def stop_scenario(request: ControlRequest) -> None:
    """Stop the scenario of a world."""
    request.world.scenario = None
    request.world.put_state(scenario=None, scenario_since=None)


_ExampleWord = Annotated[
    int | Words, expects("must be the number or the name of an example, of 1 to 200 characters")
]


class ProveBody(Body):
    """The scenario whose examples to run: the text of its file, or else the running one."""

    toml: Annotated[str, Field(max_length=500_000)] | None = None


class PlayBody(Body, example={"example": 1}):
    """Which example of the running scenario to play: its number, from 1, or its name.

    Those before it are played first, since it builds on them; `from` names a later start.
    """

    example: _ExampleWord
    begin: _ExampleWord | None = Field(default=None, alias="from")


class ProvedExample(View):
    """The result of an example: its mistakes say what differs from what it expects.

    `line` is that of the example in the given TOML, or null without one.
    """

    number: int
    name: str
    line: int | None
    mistakes: list[str]


class Proof(View):
    """The results of all examples of a scenario; `ok` if none has a mistake."""

    name: str
    ok: bool
    examples: list[ProvedExample]
    total: int = TOTAL


@post(f"{WORLD}/scenario/prove", "scenario.prove")
async def prove_scenario(request: ControlRequest, body: ProveBody) -> Proof:
    """Run the examples of a scenario in a sandbox of their own.

    The scenario is that of the body, or else the running one. The world itself does not change. A
    scenario without examples is ok. Source: assumed D25-prove.
    """
    if body.toml is None:
        scenario = get_running(request.world)
    else:
        scenario = await choose_scenario(request, {"toml": body.toml})
    numbers = range(1, len(scenario.example) + 1)
    places = [parser.Problem("", part="example", number=number) for number in numbers]
    try:
        # Examples run in a sandbox with its own event loop, so this server keeps answering.
        found = await asyncio.to_thread(request.services.prove, scenario)
    except parser.ScenarioError as error:
        why = [f"cannot run in a demo world: {error}"]
        found = dict.fromkeys(numbers, why)
    lines, views = parser.find_lines(body.toml or "", places), []
    for number, one, line in zip(numbers, scenario.example, lines, strict=True):
        name, mistakes = one.name or f"example {number}", found[number]
        views.append(ProvedExample(number=number, name=name, line=line, mistakes=mistakes))
    return Proof(name=scenario.name, ok=not any(found.values()), examples=views)


class Play(View):
    """The results of an example and of those before it; `now` is the world's time after it."""

    name: str
    ok: bool
    steps: list[PlayedExample]
    total: int = TOTAL
    now: Time


@post(f"{WORLD}/scenario/play", "scenario.play", refuses=(409,))
async def play_example(request: ControlRequest, body: PlayBody) -> Play:
    """Play an example of the running scenario in its world.

    This changes the world. The examples before it are played first, since it builds on them.
    Source: assumed D25-play.
    """
    world = request.world
    scenario = get_running(world)
    last = _number("example", scenario.example, body.example)
    first = 1 if body.begin is None else _number("from", scenario.example, body.begin)
    if first > last:
        raise invalid(f"from: example {first} comes after example {last}")
    numbers = range(first, last + 1)
    _must_have_names(world, scenario.example, numbers)

    async def act(path: str, wanted: Any) -> tuple[int, Any]:
        try:
            if path == "/clock/advance":
                shown: View = await advance_clock(request, Advance.model_validate(wanted))
            else:
                tapped = replace(request, params={"id": path.rpartition("/")[2]})
                shown = await tap_card(tapped, TapBody.model_validate(wanted))
            return 200, shown.model_dump()
        except ControlFault as fault:
            return fault.status, {"error": fault.error, "message": fault.message}

    played = await request.services.play(world, scenario, numbers, act)
    is_ok = not any(one.mistakes for one in played)
    return Play(name=scenario.name, ok=is_ok, steps=list(played), now=world.clock.now())


def _number(field: str, examples: Sequence[Example], wanted: int | str) -> int:
    """Return the number of an example that is given by number or name. Raises ControlFault."""
    if not examples:
        raise conflict("no_example", "the running scenario has no example to play")
    if isinstance(wanted, str):
        names = {one.name: number for number, one in enumerate(examples, start=1) if one.name}
        if wanted in names:
            return names[wanted]
        why = f"{field}: the scenario has no example {wanted[:80]!r}"
        raise invalid(why, nearest(wanted, names))
    count = len(examples)
    if not 1 <= wanted <= count:
        there = "the only example is 1" if count == 1 else f"its examples are 1 to {count}"
        raise invalid(f"{field}: the scenario has no example {wanted}; {there}")
    return wanted


def _must_have_names(world: World, examples: Sequence[Example], numbers: range) -> None:
    """Raise ControlFault for a terminal or a key that the world lacks, before anything is sent."""
    for number in numbers:
        send = examples[number - 1].send
        for field, name in (("terminal", send.terminal), ("key", send.key)):
            if name not in (known := world.cast.ids_of(field)):
                why = f"example {number}, send.{field}: this world has no {name!r}"
                how = "prove runs the examples in a separate demo world"
                raise conflict("not_playable", why, details=how, nearest=nearest(name, known))
