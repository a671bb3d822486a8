"""One request per operation that succeeds in a fresh demo world.

They are in the document and in the forms of the docs page; a test sends each. An id of the cast is
written `{terminals.merchant}`.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

Cast = Mapping[str, Mapping[str, str]]
"""Kind, such as `terminals`, to cast name to id."""

NOWHERE: Final = "00000000-0000-4000-8000-000000000000"
"""A placeholder for ids that do not exist yet, and for ids that the fixture lacks."""

OF_CAST: Final = re.compile(r"\{(\w+)\.(\w+)\}")
"""How an id of the cast is written: its kind and the name of the member."""
VERSION_OF_NAME: Final = re.compile(r"_v\d$")


class Example(Struct, frozen=True, kw_only=True, gc=False):
    """A request by the key `by` of the cast; `id` is the one in its path.

    `first` creates a resource that must exist before. Its id goes into the path, or into the field
    of the body that `takes` names.
    """

    operation: str
    by: str = "merchant"
    id: str = ""
    body: Mapping[str, Any] | None = None
    first: "Example | None" = None
    takes: str = ""


def _sale(terminal: str, by: str = "merchant", operation: str = "payments.create") -> Example:
    body = {
        "amount": 2500,
        "terminal_id": f"{{terminals.{terminal}}}",
        "card_reader_data": {"paymentCardData": "tok_visa_credit"},
    }
    return Example(operation=operation, by=by, body=body)


_SALE: Final = _sale("merchant")
_HOLD: Final = _sale("merchant", operation="payments.preauth")
_ADDRESS: Final = {
    "street_line1": "907 Congress Ave",
    "city": "Austin",
    "state": "TX",
    "zip": "78701",
    "country": "USA",
}
_ACCOUNT: Final = Example(
    operation="accounts.create",
    by="partner",
    body={
        "type": "merchant",
        "name": "Congress Avenue Coffee",
        "description": "Coffee and cake",
        "address": _ADDRESS,
    },
)
_CREDENTIAL: Final = Example(operation="credentials.create", body={"pin": "246810"})
_TERMINAL: Final = Example(
    operation="terminals.create",
    body={
        "account_id": "{accounts.merchant}",
        "processor_config_id": "cfg-tsys-001",
        "name": "till-2",
        "mid": "886000001131",
        "tid": "00000002",
    },
)
_LOCATION: Final = Example(
    operation="locations.create",
    body={"account_id": "{accounts.merchant}", "name": "Garden", "address": _ADDRESS},
)
_BATCH: Final = Example(operation="batches.open", body={"terminal_id": "{terminals.merchant}"})
_KEY: Final = Example(
    operation="apikeys.create", body={"name": "Till 2", "permissions": ["payments:read"]}
)

_ALL: Final = (
    _ACCOUNT,
    Example(operation="accounts.list", by="partner"),
    Example(operation="accounts.read", by="partner", id="{accounts.merchant}"),
    Example(
        operation="accounts.update",
        by="partner",
        id="{accounts.merchant}",
        body={"description": "Open until late"},
    ),
    Example(operation="accounts.delete", by="partner", first=_ACCOUNT),
    Example(operation="accounts.block", by="partner", id="{accounts.second_merchant}"),
    Example(operation="accounts.unblock", by="partner", id="{accounts.blocked_merchant}"),
    _CREDENTIAL,
    Example(operation="credentials.list"),
    Example(operation="credentials.read", first=_CREDENTIAL),
    Example(operation="credentials.update", body={"is_active": False}, first=_CREDENTIAL),
    Example(operation="credentials.delete", first=_CREDENTIAL),
    Example(operation="credentials.block", first=_CREDENTIAL),
    Example(operation="credentials.unblock", first=_CREDENTIAL),
    _TERMINAL,
    Example(operation="terminals.list"),
    Example(operation="terminals.read", id="{terminals.merchant}"),
    Example(
        operation="terminals.update",
        id="{terminals.merchant}",
        body={"description": "By the entrance"},
    ),
    Example(operation="terminals.delete", first=_TERMINAL),
    Example(operation="terminals.block", id="{terminals.merchant}"),
    Example(operation="terminals.unblock", id="{terminals.merchant}"),
    _LOCATION,
    Example(operation="locations.list"),
    Example(operation="locations.read", id="{locations.merchant}"),
    Example(operation="locations.update", id="{locations.merchant}", body={"phone": "5125550199"}),
    Example(operation="locations.delete", first=_LOCATION),
    Example(operation="locations.block", id="{locations.merchant}"),
    Example(operation="locations.unblock", id="{locations.merchant}"),
    _SALE,
    _HOLD,
    Example(operation="payments.capture", body={"amount": 2500}, first=_HOLD),
    Example(operation="payments.increment", body={"amount": 500}, first=_HOLD),
    Example(operation="payments.reverse", body={}, first=_SALE),
    Example(operation="payments.adjust", body={"type": "fixed", "amount": 400}, first=_SALE),
    Example(operation="payments.refund", body={"amount": 1000}, first=_SALE),
    Example(
        operation="payments.confirm",
        by="partner",
        body={"confirm": True},
        first=_sale("surcharge_merchant", "partner"),
    ),
    Example(
        operation="refunds.create",
        body={"transaction_id": NOWHERE, "amount": 1000},
        first=_SALE,
        takes="transaction_id",
    ),
    Example(operation="transactions.search"),
    Example(operation="transactions.list"),
    Example(operation="transactions.read", first=_SALE),
    Example(operation="transactions.history", first=_SALE),
    Example(
        operation="transactions.edit",
        by="partner",
        body={"status": "captured"},
        first=_sale("passthrough_merchant", "partner"),
    ),
    _BATCH,
    Example(operation="batches.list"),
    Example(operation="batches.read", first=_BATCH),
    Example(operation="batches.edit", body={"processor_batch_id": "101"}, first=_BATCH),
    Example(operation="batches.close", first=_BATCH),
    _KEY,
    Example(operation="apikeys.list"),
    Example(operation="apikeys.read", first=_KEY),
    Example(operation="apikeys.update", body={"status": "revoked"}, first=_KEY),
    Example(operation="apikeys.delete", first=_KEY),
)

EXAMPLES: Final[Mapping[str, Example]] = {example.operation: example for example in _ALL}


def example_of(row: str) -> Example | None:
    """The example of the row of that name; another version of a path has the same one."""
    return EXAMPLES.get(row) or EXAMPLES.get(VERSION_OF_NAME.sub("", row))


def with_ids(value: Any, cast: Cast) -> Any:
    """The value with the ids of the cast in it."""
    if isinstance(value, Mapping):
        return {name: with_ids(one, cast) for name, one in value.items()}
    if isinstance(value, list):
        return [with_ids(one, cast) for one in value]
    if isinstance(value, str):
        return OF_CAST.sub(lambda found: cast.get(found[1], {}).get(found[2], NOWHERE), value)
    return value
