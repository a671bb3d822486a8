"""Control endpoints on worlds in short, and on the fixtures that they begin with."""

from typing import Final, TypedDict

from sandbox.control.rows import ControlRequest
from sandbox.domain.payments.transactions import Transaction
from sandbox.worlds.clock import ClockView
from sandbox.worlds.world import World

_REFUSED_FROM: Final = 400


class WorldRow(TypedDict):
    """A world in a list, without its keys.

    `payments` are those that it has, and `requests` all that it ever had. `refused` counts the
    requests since the server started that were refused or got no answer.
    """

    id: str
    name: str
    clock: ClockView
    scenario: str | None
    payments: int
    requests: int
    refused: int


class Fixtures(TypedDict):
    """The names of fixtures."""

    fixtures: list[str]
    total: int


def row_of(world: World) -> WorldRow:
    """A world as lists show it."""
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
    }


def fixtures(request: ControlRequest) -> Fixtures:
    """The fixtures that a world can begin with, by name."""
    names = request.services.fixture_names()
    return {"fixtures": names, "total": len(names)}
