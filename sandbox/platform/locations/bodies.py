"""Bodies of locations. Source: spec 2.8; details assumed 1.5."""

from typing import Any

from pydantic import Field, StrictStr

from sandbox.domain.currencies import CurrencyWord
from sandbox.domain.directory import ResourceStatus
from sandbox.domain.field_types import Text
from sandbox.platform.fields import AccountsOwnQuery, AddressBody, CreateBody, PricedBody


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
