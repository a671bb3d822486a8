"""Bodies and queries of accounts. Source: spec 2.6; details assumed 1.3."""

from typing import Annotated, Any

from pydantic import Field, StrictStr

from sandbox.domain.directory import AccountType, ResourceStatus
from sandbox.domain.field_types import CONFIGS, Mcc, Text
from sandbox.platform.fields import AddressBody, CreateBody, PageQuery, PricedBody

_Configs = Annotated[list[Text], CONFIGS]


class CreateAccount(CreateBody, PricedBody):
    """Body of the creation of an account. Source: assumed 1.3-create."""

    not_stored = frozenset({"parent_id", "admin_email", "admin_first_name", "admin_last_name"})

    type: Annotated[AccountType, Field(strict=False)]
    name: Text
    description: StrictStr
    address: AddressBody
    parent_id: StrictStr | None = None
    mcc: Mcc | None = None
    tax_id: StrictStr | None = None
    available_processor_configs: _Configs | None = None
    # Known and ignored: who administers the account elsewhere.
    admin_email: Any = None
    admin_first_name: Any = None
    admin_last_name: Any = None


class UpdateAccount(PricedBody):
    """Body of the update of an account; type and parent never change. Source: assumed 1.3-update.

    Fields that the spec types as plain strings cannot be unset (assumed C10).
    """

    name: Text = ""
    description: StrictStr = ""
    address: AddressBody = Field(default_factory=AddressBody)
    mcc: Mcc = ""
    tax_id: StrictStr | None = None
    organization_id: StrictStr | None = None
    available_processor_configs: _Configs = Field(default_factory=list)
    status: ResourceStatus = "active"


class AccountsQuery(PageQuery):
    """Which accounts. `parent_id` asks for children only (assumed D20)."""

    type: AccountType | None = None
    status: ResourceStatus | None = None
    parent_id: str | None = None
    search: str | None = None
