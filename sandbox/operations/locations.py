"""Operations on locations. Source: spec 4.4-paths-locations; details assumed 1.5."""

from typing import TYPE_CHECKING, Any, cast

from sandbox.domain.accounts import Account, Address
from sandbox.domain.directory import LOCATIONS
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.locations import Location
from sandbox.domain.rendering import Page
from sandbox.domain.terminals import Terminal
from sandbox.operations import directory
from sandbox.operations.call import Call

if TYPE_CHECKING:
    from sandbox.operations.bodies.locations import CreateLocation, LocationsQuery, UpdateLocation
    from sandbox.operations.bodies.shared import AddressBody


def create(call: Call) -> Location:
    """Create a location of an account. Source: assumed 1.5-create."""
    body, account = cast("CreateLocation", call.body), cast(Account, call.account)
    given = _kept(call, body.given(), account)
    location = Location(
        id=call.world.draws.uuid(),
        created_at=call.now,
        **({"country_code": "840", "currency": "USD"} | given | {"account_id": account.id}),
    )
    return cast(Location, directory.add(call, LOCATIONS, location))


def update(call: Call) -> Location:
    """Change a location, its status included. Source: assumed 1.5."""
    body, account = cast("UpdateLocation", call.body), cast(Account, call.account)
    return cast(Location, directory.change_with_status(call, _kept(call, body.given(), account)))


def _kept(call: Call, given: dict[str, Any], account: Account) -> dict[str, Any]:
    """Fields of a body as a record keeps them. Raises Refusal for a terminal of somebody else."""
    given.pop("metadata", None)
    if "address" in given:
        address: AddressBody | None = given["address"]
        given["address"] = address.address() if address else Address()
    terminal_id = given.get("terminal_id")
    if terminal_id is not None:
        terminal = call.unit.get(Terminal, terminal_id)
        if terminal is None or terminal.deleted_at or terminal.account_id != account.id:
            raise Refusal(
                VALIDATION_ERROR,
                "terminal_id: must be a terminal of the same account",
                source="assumed 1.5-create",
            )
    return given


def list_all(call: Call) -> Page:
    """Locations of the caller's hierarchy. Source: assumed 1.5."""
    query: LocationsQuery = call.query
    return directory.page_of(call, LOCATIONS, scope_status=query.status, search=query.search)
