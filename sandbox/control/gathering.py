"""Answers about all worlds, where several servers share them: what each has is put together."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic_core import from_json

from sandbox.control.rows import ControlRequest
from sandbox.platform.forwarding import was_forwarded
from sandbox.platform.routing import path_of
from sandbox.store.documents import from_document
from sandbox.store.steps import Steps
from sandbox.store.world_state import OF_THE_SERVER, WorldState
from sandbox.worlds.clock import Clock
from sandbox.worlds.elsewhere import Elsewhere, KeptWorld
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import World


def others_of(request: ControlRequest) -> Elsewhere | None:
    """The other servers, if they are to be asked too; not by one that another has asked."""
    if was_forwarded(request.scope["headers"]):
        return None
    return request.services.elsewhere


async def said_elsewhere(request: ControlRequest, others: Elsewhere) -> list[dict[str, Any]]:
    """What the other servers answer to this request, each about the worlds that it has."""
    scope = request.scope
    headers = [
        (name, value) for name, value in scope["headers"] if name in (b"authorization", b"cookie")
    ]
    bodies = await others.ask_all(path_of(scope), scope["query_string"], headers)
    return [from_json(body) for body in bodies]


async def kept_elsewhere(
    request: ControlRequest, others: Elsewhere, known: Iterable[str]
) -> list[KeptWorld]:
    """The worlds within reach beside the known ones: no server has them, or none that answers."""
    kept = await others.kept_beside(known)
    return [one for one in kept if request.who.reaches(one.id)]


def state_of(kept: KeptWorld) -> WorldState:
    """The state of a world that no server has, as its last owner left it."""
    state: WorldState = from_document(WorldState, from_json(kept.state))
    return state


def clock_of(request: ControlRequest, state: WorldState) -> Clock:
    """Its clock, which runs on wherever it is."""
    return Clock(request.services.system_clock, lambda clock: None, state.clock)


def sketch_of(request: ControlRequest, kept: KeptWorld) -> Steps[World]:
    """The same world as it began. Raises FixtureError."""
    begins = state_of(kept).begins
    services = request.services
    spec = WorldSpec(
        id=kept.id,
        name=begins.name,
        seed=begins.seed,
        fixture=services.fixture_of(begins.fixture, None),
        clock=begins.clock,
        keys_are_known=begins.keys != OF_THE_SERVER,
    )
    yield
    return services.worlds.sketch(spec)


def added(sections: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A section of coverage as all servers together have it."""
    counts: Counter[str] = Counter()
    names: dict[str, None] = {}
    for section in sections:
        counts.update(section["exercised"])
        names.update(dict.fromkeys((*section["exercised"], *section["never"])))
    return {
        "exercised": {name: counts[name] for name in names if counts[name]},
        "never": [name for name in names if not counts[name]],
    }
