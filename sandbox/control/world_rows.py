"""Control endpoints on worlds in short, and on the fixtures that they begin with."""

from typing import Final, TypedDict

from sandbox.control.gathering import clock_of, state_of
from sandbox.control.rows import ControlRequest
from sandbox.domain.payments.transactions import Transaction
from sandbox.worlds.clock import ClockView
from sandbox.worlds.elsewhere import KeptWorld
from sandbox.worlds.world import World

_REFUSED_FROM: Final = 400


class WorldRow(TypedDict):
    """A world in a list, without its keys.

    `payments` are those that it has, and `requests` all that it ever had. `refused` counts the
    requests since the server started that were refused or got no answer. `server` is the name of
    the one of several servers that has the world; null where no server has it, or one has all.
    """

    id: str
    name: str
    clock: ClockView
    scenario: str | None
    payments: int
    requests: int
    refused: int
    server: str | None


class Fixtures(TypedDict):
    """The names of fixtures."""

    fixtures: list[str]
    total: int


def row_of(world: World, server: str | None = None) -> WorldRow:
    """A world as lists show it, and the server that has it."""
    return {
        "id": world.spec.id,
        "name": world.spec.name,
        "clock": world.clock.view(),
        "scenario": None if world.scenario is None else world.scenario.scenario.name,
        "payments": len(world.store.all(Transaction)),
        "requests": world.store.counters.requests,
        "refused": sum(
            count
            for (_, status, *_rest), count in world.coverage.answers.items()
            if status == 0 or status >= _REFUSED_FROM
        ),
        "server": server,
    }


def row_of_kept(request: ControlRequest, kept: KeptWorld) -> WorldRow:
    """A world that no server has, as lists show it."""
    state = state_of(kept)
    return {
        "id": kept.id,
        "name": state.begins.name,
        "clock": clock_of(request, state).view(),
        "scenario": None if state.scenario is None else state.scenario.get("name"),
        "payments": kept.payments,
        "requests": kept.requests,
        "refused": 0,
        "server": None,
    }


def fixtures(request: ControlRequest) -> Fixtures:
    """The fixtures that a world can begin with, by name."""
    names = request.services.fixture_names()
    return {"fixtures": names, "total": len(names)}
