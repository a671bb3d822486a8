"""Locations: their models and operations. Source: spec 4.4-paths-locations; details assumed 1.5."""

from typing import Any, Final

from pydantic import Field, StrictStr

from sandbox.domain.currencies import CurrencyWord
from sandbox.domain.directory import LOCATIONS, Location, ResourceStatus, Terminal
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.field_types import Text
from sandbox.platform import directory, fields
from sandbox.platform.context import OperationContext


class LocationsQuery(fields.AccountsOwnQuery):
    """Which locations; `search` looks into the name. Source: assumed 1.5."""


class UpdateLocation(fields.PricedBody):
    """The body that updates a location; its account never changes. Source: assumed 1.5."""

    not_stored = frozenset({"metadata"})

    name: Text = ""
    address: fields.AddressBody = Field(default_factory=fields.AddressBody)
    phone: StrictStr = ""
    email: StrictStr = ""
    country_code: StrictStr = ""
    currency: CurrencyWord = ""
    processor_config_id: StrictStr = ""
    terminal_id: StrictStr = ""
    status: ResourceStatus = "active"
    # Accepted, and null in every answer (assumed 1.5-metadata).
    metadata: Any = None


class CreateLocation(fields.CreateBody, UpdateLocation):
    """The body that creates a location. Source: assumed 1.5-create."""

    account_id: StrictStr
    name: Text


_LOCATIONS: Final = directory.Resource(LOCATIONS, "/v1/locations", "location_id")


@_LOCATIONS.operation(
    "create",
    source="assumed 1.5-create",
    example={
        "account_id": "{accounts.merchant}",
        "name": "Garden",
        "address": fields.EXAMPLE_ADDRESS,
    },
)
def create(context: OperationContext, body: CreateLocation) -> Location:
    """Create a location."""
    given = body.read_given()
    _must_be_its_own(context, given.get("terminal_id"))
    given = {"country_code": "840", "currency": "USD"} | given
    location = Location(id=context.world.draws.uuid(), created_at=context.now, **given)
    return directory.add(context, location)


_LOCATIONS.register(__name__, "list", query=lambda _: LocationsQuery, source="assumed 1.5")
_LOCATIONS.register(__name__, "read", source="spec 4.4-paths-locations")


@_LOCATIONS.operation("update", source="assumed 1.5", example={"phone": "5125550199"})
def update(context: OperationContext, location: Location, body: UpdateLocation) -> Location:
    """Change a location."""
    given = body.read_given()
    if given.get("terminal_id") != location.terminal_id:
        _must_be_its_own(context, given.get("terminal_id"))
    return directory.change_with_status(context, location, given)


def _must_be_its_own(context: OperationContext, terminal_id: str | None) -> None:
    """Raise Refusal for a terminal of another account. Source: assumed 1.5-create."""
    if terminal_id is None:
        return
    terminal = context.unit.get(Terminal, terminal_id)
    if terminal is None or terminal.deleted_at or terminal.account_id != context.known_account.id:
        why = "terminal_id: must be a terminal of the same account"
        raise Refusal(VALIDATION_ERROR, why, source="assumed 1.5-create")


_LOCATIONS.register(__name__, "delete", source="assumed 1.5")
_LOCATIONS.register(__name__, "block", "unblock")
