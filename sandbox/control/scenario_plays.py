"""The control endpoint that plays an example of the running scenario in its world."""

from typing import TYPE_CHECKING, Any, TypedDict

from msgspec.structs import replace

from sandbox.control import taps, worlds
from sandbox.control.rows import ControlFault, ControlRequest, PlayedStep, invalid
from sandbox.control.scenarios import running
from sandbox.domain.instants import to_wire
from sandbox.domain.text import nearest
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.control.acting_shapes import PlayBody
    from sandbox.scenarios.examples import Example


class PlayedRequest(TypedDict):
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


class PlayedMessage(TypedDict):
    """A message that a step fired."""

    id: str
    event_type: str


class PlayedExample(TypedDict):
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


class Play(TypedDict):
    """What came of an example and of those before it; `now` is the clock after it."""

    name: str
    ok: bool
    steps: list[PlayedExample]
    total: int
    now: str


async def play(request: ControlRequest) -> Play:
    """Play an example of the running scenario in this world. The world changes by it.

    The examples before it are played first, as they are its story. Source: assumed D25-play.
    """
    body: PlayBody = request.body
    world = request.world
    scenario = running(world)
    last = _number("example", scenario.example, body.example)
    first = 1 if body.begin is None else _number("from", scenario.example, body.begin)
    if first > last:
        raise invalid(f"from: example {first} comes after example {last}")
    numbers = range(first, last + 1)
    _must_have_names(world, scenario.example, numbers)

    async def act(path: str, wanted: Any) -> tuple[int, Any]:
        return await _act(request, path, wanted)

    played = await request.services.play(world, scenario, numbers, act)
    steps = [_view(one) for one in played]
    return {
        "name": scenario.name,
        "ok": not any(one["mistakes"] for one in steps),
        "steps": steps,
        "total": len(steps),
        "now": to_wire(world.clock.now()),
    }


def _number(field: str, examples: "Sequence[Example]", wanted: int | str) -> int:
    """The number of an example, which is named by it or by its name. Raises ControlFault."""
    if not examples:
        raise ControlFault(409, "no_example", "the running scenario has no example to play")
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


def _must_have_names(world: World, examples: "Sequence[Example]", numbers: range) -> None:
    """Raises ControlFault for a terminal or a key that the world lacks, before anything is sent."""
    for number in numbers:
        one = examples[number - 1]
        for field, name, known in (
            ("terminal", one.send.terminal, world.cast.terminals),
            ("key", one.send.key, world.cast.keys),
        ):
            if name not in known:
                raise ControlFault(
                    409,
                    "not_playable",
                    f"example {number}, send.{field}: this world has no {name!r}",
                    details="prove runs the examples in a demo world of their own",
                    nearest=nearest(name, known),
                )


async def _act(request: ControlRequest, path: str, wanted: Any) -> tuple[int, Any]:
    """An action of the control API in the world: status and answer."""
    from sandbox.control.shapes import Advance, TapBody

    try:
        if path == "/clock/advance":
            advance = replace(request, body=Advance.model_validate(wanted))
            return 200, await worlds.advance_clock(advance)
        params = {**request.params, "id": path.rpartition("/")[2]}
        tap = replace(request, params=params, body=TapBody.model_validate(wanted))
        return 200, await taps.tap(tap)
    except ControlFault as fault:
        return fault.status, {"error": fault.error, "message": fault.message}


def _view(step: PlayedStep) -> PlayedExample:
    shown = step.shown
    return {
        "number": step.number,
        "name": step.name,
        "operation": step.operation,
        "mistakes": step.mistakes,
        "requests": [
            {
                "request_id": one.request_id,
                "method": one.method,
                "path": one.path,
                "query": one.query,
                "body": one.body,
                "status": one.status,
                "answer": one.answer,
            }
            for one in step.exchanges
        ],
        "messages": [{"id": id, "event_type": event} for id, event in step.events],
        "subject": shown.get("transaction_id") or shown.get("id"),
        "status": shown.get("status"),
        "status_reason": shown.get("status_reason"),
    }
