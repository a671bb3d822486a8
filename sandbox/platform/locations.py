"""Locations: their models and operations. Source: spec 4.4-paths-locations; details assumed 1.5."""

from typing import Any, Final, cast

from msgspec.structs import replace
from pydantic import Field, StrictStr

from sandbox.domain.currencies import CurrencyWord
from sandbox.domain.directory import (
    LOCATIONS,
    Account,
    Location,
    ResourceStatus,
    Terminal,
    relate_with_admin_reach,
)
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.field_types import Text
from sandbox.platform import directory
from sandbox.platform.context import OperationContext
from sandbox.platform.fields import AccountsOwnQuery, AddressBody, CreateBody, PricedBody
from sandbox.platform.operation import Target, listing, operation


class LocationsQuery(AccountsOwnQuery):
    """Which locations; `search` looks into the name. Source: assumed 1.5."""


class UpdateLocation(PricedBody):
    """Body of the update of a location; its account never changes. Source: assumed 1.5."""

    not_stored = frozenset({"metadata"})

    name: Text = ""
    address: AddressBody = Field(default_factory=AddressBody)
    phone: StrictStr = ""
    email: StrictStr = ""
    country_code: StrictStr = ""
    currency: CurrencyWord = ""
    processor_config_id: StrictStr = ""
    terminal_id: StrictStr = ""
    status: ResourceStatus = "active"
    # Accepted, and null in every answer (assumed 1.5-metadata).
    metadata: Any = None


class CreateLocation(CreateBody, UpdateLocation):
    """Body of the creation of a location. Source: assumed 1.5-create."""

    account_id: StrictStr
    name: Text


_TARGET: Final = Target("path", "location_id", Location)


@operation(
    "locations.create",
    "POST",
    "/v1/locations",
    needs="locations:create",
    target=Target("body", "account_id", is_required=True),
    status=201,
    events=("location.created",),
    source="assumed 1.5-create",
)
def create(context: OperationContext, body: CreateLocation) -> Location:
    """Create a location."""
    given = body.given()
    _must_be_its_own(context, given.get("terminal_id"))
    location = Location(
        id=context.world.draws.uuid(),
        created_at=context.now,
        **({"country_code": "840", "currency": "USD"} | given),
    )
    return directory.add(context, location)


@operation(
    "locations.list",
    "GET",
    "/v1/locations",
    needs="locations:read",
    target=Target("query", "account_id", relate=relate_with_admin_reach),
    response=listing("locations", Location),
    source="assumed 1.5",
)
def list_all(context: OperationContext, query: LocationsQuery) -> Any:
    """List locations."""
    return directory.page_of(context, LOCATIONS, status=query.status, search=query.search)


@operation(
    "locations.read",
    "GET",
    "/v1/locations/{location_id}",
    needs="locations:read",
    target=replace(_TARGET, relate=relate_with_admin_reach),
    source="spec 4.4-paths-locations",
)
def read(context: OperationContext, location: Location) -> Location:
    """Read a location."""
    return location


@operation(
    "locations.update",
    "PUT",
    "/v1/locations/{location_id}",
    needs="locations:edit",
    target=_TARGET,
    events=("location.updated", "location.blocked", "location.unblocked"),
    source="assumed 1.5",
)
def update(context: OperationContext, location: Location, body: UpdateLocation) -> Location:
    """Change a location."""
    given = body.given()
    _must_be_its_own(context, given.get("terminal_id"))
    return directory.change_with_status(context, location, given)


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


@operation(
    "locations.delete",
    "DELETE",
    "/v1/locations/{location_id}",
    needs="locations:delete",
    target=_TARGET,
    response=Location,
    status=204,
    events=("location.deleted",),
    source="assumed 1.5",
)
def delete(context: OperationContext, location: Location) -> Location | None:
    """Delete a location."""
    return directory.delete(context, location)


directory.register_blocking(__name__, LOCATIONS, "/v1/locations/{location_id}", _TARGET)
