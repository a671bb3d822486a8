"""What is kept, and what it is found by: one row per kind of record.

An index is a function from a record to the values it stands under; no value, and the record is
not in that index. That is how deleted records leave the listings and stay readable by id.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.domain.accounts import Account
from sandbox.domain.keys import ApiKey
from sandbox.domain.locations import Location
from sandbox.domain.terminals import Terminal

Index = Callable[[Any], tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One kind of record: its name in files, the field that identifies it, and its indexes.

    A value in a `unique` index belongs to one record for ever, deleted or not.
    """

    name: str
    kind: type
    key: str
    unique: Mapping[str, Index] = field(default_factory=dict)
    indexes: Mapping[str, Index] = field(default_factory=dict)


def _live(index: Index) -> Index:
    return lambda record: () if record.deleted_at is not None else index(record)


TABLES: Final = (
    Table(
        name="accounts",
        kind=Account,
        key="id",
        indexes={"ancestor": _live(lambda account: account.parent_account_ids)},
    ),
    Table(
        name="terminals",
        kind=Terminal,
        key="terminal_id",
        indexes={"account": _live(lambda terminal: (terminal.account_id,))},
    ),
    Table(
        name="locations",
        kind=Location,
        key="id",
        indexes={"account": _live(lambda location: (location.account_id,))},
    ),
    Table(
        name="api_keys",
        kind=ApiKey,
        key="id",
        unique={"lookup": lambda key: (key.lookup,)},
        # Deleted keys are not listed; revoked and expired ones are (assumed 4.5-deleted).
        indexes={"account": _live(lambda key: (key.account_id,))},
    ),
)
