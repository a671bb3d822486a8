"""Control endpoints on the next deliveries to spoil."""

from typing import TYPE_CHECKING, Any, TypedDict

from sandbox.control.rows import ControlFault, ControlRequest, invalid
from sandbox.domain.webhooks import Spoiled
from sandbox.scenarios.loading import ScenarioError
from sandbox.scenarios.spoiling import SpoiledFull

if TYPE_CHECKING:
    from sandbox.control.acting_shapes import SpoilBody


class SpoiledView(TypedDict):
    """A delivery to spoil: `left` is how many more deliveries it applies to."""

    id: str
    when: dict[str, Any]
    then: dict[str, Any]
    left: int


class SpoiledQueue(TypedDict):
    """The deliveries to spoil, the next one first."""

    queue: list[SpoiledView]
    total: int


def _view(entry: Spoiled) -> SpoiledView:
    return {
        "id": entry.id,
        "when": dict(entry.when),
        "then": dict(entry.then),
        "left": entry.left,
    }


def add(request: ControlRequest) -> SpoiledView:
    """Spoil the next delivery that matches. Source: assumed D24."""
    body: SpoilBody = request.body
    if "times" in body.then:
        raise invalid("then.times: give `times` beside `then`")
    try:
        entry = request.world.spoiling.add(body.when, body.then, body.times)
    except ScenarioError as error:
        said = str(error).partition("webhook 1, ")[2] or str(error)
        raise invalid(said, error.nearest) from None
    except SpoiledFull as error:
        details = "DELETE .../webhooks/next forgets them"
        raise ControlFault(409, "queue_full", str(error), details=details) from None
    return _view(entry)


def list_all(request: ControlRequest) -> SpoiledQueue:
    """The deliveries to spoil, the next one first."""
    waiting = [_view(entry) for entry in request.world.spoiling.entries]
    return {"queue": waiting, "total": len(waiting)}


def clear(request: ControlRequest) -> None:
    """Forget the deliveries to spoil."""
    spoiling = request.world.spoiling
    spoiling.remove([one.id for one in spoiling.entries])
