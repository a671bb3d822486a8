"""Operations on locations. Source: spec 4.4-paths-locations; details assumed 1.5."""

from typing import TYPE_CHECKING, cast

from sandbox.domain.accounts import Account
from sandbox.domain.directory import LOCATIONS
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.locations import Location
from sandbox.domain.rendering import Page
from sandbox.domain.terminals import Terminal
from sandbox.operations import directory
from sandbox.operations.call import Call

if TYPE_CHECKING:
    from sandbox.operations.bodies.locations import CreateLocation, LocationsQuery, UpdateLocation


def create(call: Call) -> Location:
    """Create a location of an account. Source: assumed 1.5-create."""
    given = cast("CreateLocation", call.body).given()
    _must_be_its_own(call, given.get("terminal_id"))
    location = Location(
        id=call.world.draws.uuid(),
        created_at=call.now,
        **({"country_code": "840", "currency": "USD"} | given),
    )
    return cast(Location, directory.add(call, LOCATIONS, location))


def update(call: Call) -> Location:
    """Change a location, its status included. Source: assumed 1.5."""
    given = cast("UpdateLocation", call.body).given()
    _must_be_its_own(call, given.get("terminal_id"))
    return cast(Location, directory.change_with_status(call, given))


def _must_be_its_own(call: Call, terminal_id: str | None) -> None:
    """Raises Refusal for a terminal of another account. Source: assumed 1.5-create."""
    if terminal_id is None:
        return
    terminal, account = call.unit.get(Terminal, terminal_id), cast(Account, call.account)
    if terminal is None or terminal.deleted_at or terminal.account_id != account.id:
        raise Refusal(
            VALIDATION_ERROR,
            "terminal_id: must be a terminal of the same account",
            source="assumed 1.5-create",
        )


def list_all(call: Call) -> Page:
    """Locations of the caller's hierarchy. Source: assumed 1.5."""
    query: LocationsQuery = call.query
    return directory.page_of(call, LOCATIONS, scope_status=query.status, search=query.search)
