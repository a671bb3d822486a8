"""Runs of a scenario's examples: in a sandbox of their own, or in the world."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec.structs import replace
from pydantic import Field

from sandbox.control.clock import Advance, advance_clock
from sandbox.control.context import ControlFault, ControlRequest, PlayedStep, conflict, invalid
from sandbox.control.models import Body, Time, View
from sandbox.control.outcomes import TapBody, tap_card
from sandbox.control.routing import WORLD, post
from sandbox.control.scenarios import get_running, parse_checked, parse_file
from sandbox.domain.text import nearest
from sandbox.scenarios.parser import Lines, Problem, ScenarioError
from sandbox.scenarios.scenario import Example
from sandbox.worlds.world import World

_ExampleWord = int | Annotated[str, Field(min_length=1, max_length=200)]


class ProveBody(Body):
    """The scenario whose examples run: the text of its file, else the one that runs."""

    toml: Annotated[str, Field(max_length=500_000)] | None = None


class PlayBody(Body):
    """Which example of the running scenario to play: its number, from 1, or its name.

    Those before it are played too, since they are its story; `from` names a later beginning.
    """

    example: _ExampleWord
    begin: _ExampleWord | None = Field(default=None, alias="from")


class ProvedExample(View):
    """The result of an example: what did not come as expected, in words; none if all did.

    `line` is that of the example in the TOML that was given, null if none was.
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
    total: int


@post(f"{WORLD}/scenario/prove", "scenario.prove", example={})
async def prove_scenario(request: ControlRequest, body: ProveBody) -> Proof:
    """Run the examples of a scenario in a sandbox of their own.

    It is the one of the body, else the one that runs. The world itself does not change. A scenario
    without examples is ok. Source: assumed D25-prove.
    """
    if body.toml is None:
        scenario = get_running(request.world)
    else:
        scenario = parse_checked(request, parse_file(body.toml))
    found: dict[int, list[str]]
    try:
        # Examples take a sandbox with a loop of its own; the platform goes on beside them.
        steps = await asyncio.to_thread(request.services.prove, scenario)
        found = {step.number: step.mistakes for step in steps}
    except ScenarioError as error:
        why = f"cannot run in a demo world: {error}"
        found = {number: [why] for number in range(1, len(scenario.example) + 1)}
    lines = None if body.toml is None else Lines(body.toml)
    views = [
        ProvedExample(
            number=number,
            name=one.name or f"example {number}",
            line=lines and lines.of(Problem("", part="example", number=number)),
            mistakes=found[number],
        )
        for number, one in enumerate(scenario.example, start=1)
    ]
    ok = not any(found.values())
    return Proof(name=scenario.name, ok=ok, examples=views, total=len(views))


class PlayedRequest(View):
    """What was sent and what came.

    `request_id` is null for an action of the control API: a tap, or a move of the clock. `status`
    is null where the connection was closed without an answer.
    """

    request_id: str | None
    method: str
    path: str
    query: str
    body: Any
    status: int | None
    answer: Any


class PlayedMessage(View):
    """A message that a step fired."""

    id: str
    event_type: str


class PlayedExample(View):
    """One step: its requests, its messages, the payment or batch after it, and its mistakes.

    `mistakes` say what did not come as the example expects; none if all did.
    """

    number: int
    name: str
    operation: str
    mistakes: list[str]
    requests: list[PlayedRequest]
    messages: list[PlayedMessage]
    subject: str | None
    status: str | None
    status_reason: str | None


class Play(View):
    """What came of an example and of those before it; `now` is the clock after it."""

    name: str
    ok: bool
    steps: list[PlayedExample]
    total: int
    now: Time


@post(f"{WORLD}/scenario/play", "scenario.play", refuses=(409,), example={"example": 1})
async def play_example(request: ControlRequest, body: PlayBody) -> Play:
    """Play an example of the running scenario in its world.

    The world changes by it. The examples before it are played first, as they are its story.
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
        return await _act_in_world(request, path, wanted)

    played = await request.services.play(world, scenario, numbers, act)
    steps = [_view_step(one) for one in played]
    return Play(
        name=scenario.name,
        ok=not any(one.mistakes for one in steps),
        steps=steps,
        total=len(steps),
        now=world.clock.now(),
    )


def _number(field: str, examples: Sequence[Example], wanted: int | str) -> int:
    """The number of an example, which is named by it or by its name. Raises ControlFault."""
    if not examples:
        raise conflict("no_example", "the running scenario has no example to play")
    if isinstance(wanted, str):
        names = {one.name: number for number, one in enumerate(examples, start=1) if one.name}
        if wanted not in names:
            raise invalid(
                f"{field}: the scenario has no example {wanted[:80]!r}", nearest(wanted, names)
            )
        return names[wanted]
    if not 1 <= wanted <= len(examples):
        count = len(examples)
        there = "the only example is 1" if count == 1 else f"its examples are 1 to {count}"
        raise invalid(f"{field}: the scenario has no example {wanted}; {there}")
    return wanted


def _must_have_names(world: World, examples: Sequence[Example], numbers: range) -> None:
    """Raises ControlFault for a terminal or a key that the world lacks, before anything is sent."""
    for number in numbers:
        one = examples[number - 1]
        for field, name, known in (
            ("terminal", one.send.terminal, world.cast.terminals),
            ("key", one.send.key, world.cast.keys),
        ):
            if name not in known:
                raise conflict(
                    "not_playable",
                    f"example {number}, send.{field}: this world has no {name!r}",
                    details="prove runs the examples in a demo world of their own",
                    nearest=nearest(name, known),
                )


async def _act_in_world(request: ControlRequest, path: str, wanted: Any) -> tuple[int, Any]:
    """An action of the control API in the world: status and answer."""
    try:
        if path == "/clock/advance":
            advanced = await advance_clock(request, Advance.model_validate(wanted))
            return 200, advanced.model_dump()
        params = {**request.params, "id": path.rpartition("/")[2]}
        tapped = await tap_card(replace(request, params=params), TapBody.model_validate(wanted))
        return 200, tapped.model_dump()
    except ControlFault as fault:
        return fault.status, {"error": fault.error, "message": fault.message}


def _view_step(step: PlayedStep) -> PlayedExample:
    shown = step.shown
    return PlayedExample.of(
        step,
        requests=list(step.exchanges),
        messages=[PlayedMessage(id=id, event_type=event) for id, event in step.events],
        subject=shown.get("transaction_id") or shown.get("id"),
        status=shown.get("status"),
        status_reason=shown.get("status_reason"),
    )
