"""What is kept, and what it is found by: one row per kind of record.

An index is a function from a record and its path to the values it stands under; no value, and the
record is not in that index. That is how deleted records leave the listings and stay readable by
id. The path is every account above the record, its own included, and EVERYTHING, so that "all of
this account and its descendants" is one value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.domain.accounts import Account
from sandbox.domain.credentials import Credential
from sandbox.domain.keys import ApiKey
from sandbox.domain.locations import Location
from sandbox.domain.terminals import Terminal

EVERYTHING: Final = "*"
"""The value of a scope that holds every account's records."""

Path = tuple[str, ...]
Index = Callable[[Any, Path], tuple[str, ...]]
Texts = Callable[[Any], tuple[str | None, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One kind of record: its name in files, the field that identifies it, and its indexes.

    A value in a `unique` index belongs to one record for ever, deleted or not. `texts` are the
    fields of a record in which a piece of text can be searched, by the name of the search.
    """

    name: str
    kind: type
    key: str
    unique: Mapping[str, Index] = field(default_factory=dict)
    indexes: Mapping[str, Index] = field(default_factory=dict)
    texts: Mapping[str, Texts] = field(default_factory=dict)


def in_scope(scope: str, value: str | None) -> str:
    """The value of an index that joins a scope with one more field."""
    return f"{scope} {value}"


def _live(index: Index) -> Index:
    return lambda record, path: () if record.deleted_at is not None else index(record, path)


def _scope(record: Any, path: Path) -> Path:
    return path


def _scope_and(field_name: str) -> Index:
    return lambda record, path: tuple(
        in_scope(scope, getattr(record, field_name)) for scope in path
    )


def _field(field_name: str) -> Index:
    def values(record: Any, path: Path) -> tuple[str, ...]:
        value = getattr(record, field_name)
        return () if value is None else (value,)

    return values


def board_of(terminal: Terminal) -> str:
    """What no two live terminals have in common: where the processor knows them (assumed 1.4)."""
    return f"{terminal.processor_config_id} {terminal.mid} {terminal.tid}"


TABLES: Final = (
    Table(
        name="accounts",
        kind=Account,
        key="id",
        indexes={
            "ancestor": _live(lambda account, path: account.parent_account_ids),
            "parent": _live(lambda account, path: account.parent_account_ids[-1:]),
            "scope": _live(_scope),
            "scope_status": _live(_scope_and("status")),
            "scope_type": _live(_scope_and("type")),
        },
        texts={"search": lambda account: (account.name,)},
    ),
    Table(
        name="terminals",
        kind=Terminal,
        key="terminal_id",
        indexes={
            "account": _live(_field("account_id")),
            "scope": _live(_scope),
            "scope_status": _live(_scope_and("status")),
            "scope_processor_config_id": _live(_scope_and("processor_config_id")),
            "mid": _live(_field("mid")),
            "tid": _live(_field("tid")),
            "board": _live(lambda terminal, path: (board_of(terminal),)),
        },
        texts={"search": lambda terminal: (terminal.name, terminal.mid, terminal.tid)},
    ),
    Table(
        name="locations",
        kind=Location,
        key="id",
        indexes={
            "account": _live(_field("account_id")),
            "scope": _live(_scope),
            "scope_status": _live(_scope_and("status")),
        },
        texts={"search": lambda location: (location.name,)},
    ),
    Table(
        name="credentials",
        kind=Credential,
        key="id",
        indexes={
            "account": _live(_field("account_id")),
            "scope": _live(_scope),
            "code": _live(_field("code")),
        },
    ),
    Table(
        name="api_keys",
        kind=ApiKey,
        key="id",
        unique={"lookup": lambda key, path: (key.lookup,)},
        # Deleted keys are not listed; revoked and expired ones are (assumed 4.5-deleted).
        indexes={"account": _live(_field("account_id")), "scope": _live(_scope)},
    ),
)
