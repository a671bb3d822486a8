"""Operations on locations. Source: spec 4.4-paths-locations; details assumed 1.5."""

from typing import TYPE_CHECKING, cast

from sandbox.domain.directory import LOCATIONS, Account, Location, Terminal
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.records import Page
from sandbox.platform.directory import operations as directory
from sandbox.platform.operation_context import OperationContext

if TYPE_CHECKING:
    from sandbox.platform.locations.bodies import CreateLocation, LocationsQuery, UpdateLocation


def create(context: OperationContext) -> Location:
    """Create a location of an account. Source: assumed 1.5-create."""
    given = cast("CreateLocation", context.body).given()
    _must_be_its_own(context, given.get("terminal_id"))
    location = Location(
        id=context.world.draws.uuid(),
        created_at=context.now,
        **({"country_code": "840", "currency": "USD"} | given),
    )
    return cast(Location, directory.add(context, LOCATIONS, location))


def update(context: OperationContext) -> Location:
    """Change a location, its status included. Source: assumed 1.5."""
    given = cast("UpdateLocation", context.body).given()
    _must_be_its_own(context, given.get("terminal_id"))
    return cast(Location, directory.change_with_status(context, given))


def _must_be_its_own(context: OperationContext, terminal_id: str | None) -> None:
    """Raises Refusal for a terminal of another account. Source: assumed 1.5-create."""
    if terminal_id is None:
        return
    terminal, account = context.unit.get(Terminal, terminal_id), cast(Account, context.account)
    if terminal is None or terminal.deleted_at or terminal.account_id != account.id:
        raise Refusal(
            VALIDATION_ERROR,
            "terminal_id: must be a terminal of the same account",
            source="assumed 1.5-create",
        )


def list_all(context: OperationContext) -> Page:
    """Locations of the caller's hierarchy. Source: assumed 1.5."""
    query: LocationsQuery = context.query
    return directory.page_of(context, LOCATIONS, status=query.status, search=query.search)
