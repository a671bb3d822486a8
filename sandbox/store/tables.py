"""The tables of the store and their indexes: one row per kind of record.

An index is a function from a record and its path to the values under which it is found. Without a
value the record is not in that index. So deleted records leave the listings and stay readable by
id. The path has every account above the record, its own account, and EVERYTHING, so "this account
and its descendants" is one value.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct, field

from sandbox.domain.batches import Batch, refund_batches
from sandbox.domain.directory import Account, Credential, Location, Terminal
from sandbox.domain.keys import ApiKey, KeyUsage
from sandbox.domain.payments.cards import NOT_READ
from sandbox.domain.payments.transactions import BusyPayment, Transaction
from sandbox.domain.records import Record
from sandbox.domain.webhooks import Application, Delivery, Endpoint
from sandbox.store.world_state import WorldState

Row = Record | Application | Endpoint | Delivery | KeyUsage | BusyPayment | WorldState
"""Everything that a unit of work can put: all kinds of records."""

EVERYTHING: Final = "*"
"""The value of a scope that holds every account's records."""

Path = tuple[str, ...]
Index = Callable[[Any, Path], tuple[str, ...]]
Unique = Callable[[Any], Sequence[tuple[str, str]]]
Texts = Callable[[Any], tuple[str | None, ...]]
Filter = Callable[[Any, Any], bool]
Rank = Callable[[Any], int]


class Table(Struct, frozen=True, kw_only=True, gc=False):
    """One kind of record: its name in files, the field that identifies it, and its indexes.

    A value in a `unique` index belongs to one record forever, deleted or not; `in_two` splits it
    into parts. `texts` are the fields of a record for text search, by the name of the search.
    `filters` narrow the result of an index; `orders` are orders other than creation. With a
    `moment`, in Unix milliseconds, records are listed by it and can be queried by time.
    `keeps_place` decides whether a change of a record leaves all indexes alone. `for_changes` are
    the indexes that changes query. Records that belong to no account have no path: `has_path`. A
    change of a `can_wait` table alone need not be durable before an answer: a state file gets it
    with the next change.
    """

    name: str
    kind: type
    key: str
    unique: Mapping[str, Unique] = field(default_factory=dict)
    indexes: Mapping[str, Index] = field(default_factory=dict)
    texts: Mapping[str, Texts] = field(default_factory=dict)
    filters: Mapping[str, Filter] = field(default_factory=dict)
    orders: Mapping[str, Rank] = field(default_factory=dict)
    moment: Rank | None = None
    keeps_place: Callable[[Any, Any], bool] | None = None
    for_changes: tuple[str, ...] = ()
    has_path: bool = True
    can_wait: bool = False


def in_scope(scope: str, value: str | None) -> str:
    """The value of an index that combines a scope with one more field."""
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


def in_two(value: str) -> tuple[str, str]:
    """A value of a unique index in parts: up to its first space, and after it."""
    first, space, second = value.partition(" ")
    return (first, second) if space else ("", first)


def processor_identity(terminal: Terminal) -> str:
    """The identity at the processor, which no two live terminals share (assumed 1.4)."""
    return f"{terminal.processor_config_id} {terminal.mid} {terminal.tid}"


def used_event(account_id: str, event_id: str) -> str:
    """The unique value of an attempt's event_id: once per merchant (assumed 2.6)."""
    return f"{account_id} {event_id}"


def _event_ids(tx: Transaction) -> tuple[str, ...]:
    """The event_ids of all attempts; a creation and its outcome share one (assumed D11)."""
    history = tx.history
    if len(history) <= 2 and history[0].event_id == history[-1].event_id:
        return (history[0].event_id,)
    return tuple(dict.fromkeys(attempt.event_id for attempt in history))


def _transaction_keeps_place(old: Transaction, new: Transaction) -> bool:
    return (
        old.status == new.status
        and old.batch_id == new.batch_id
        and old.transaction_type == new.transaction_type
        and len(old.history) == len(new.history)
        and old.gateway_transaction_id == new.gateway_transaction_id
        # The one thing of an origin that a tap changes.
        and old.origin.card is new.origin.card
    )


def _keeps_status(old: Any, new: Any) -> bool:
    same: bool = old.status == new.status
    return same


def _open_at(delivery: Delivery, path: Path) -> tuple[str, ...]:
    return (delivery.endpoint_id,) if delivery.status == "pending" else ()


def _origin(path_to_field: str) -> Index:
    value_of = attrgetter(f"origin.{path_to_field}")

    def values(tx: Transaction, path: Path) -> tuple[str, ...]:
        value = value_of(tx)
        return () if value is None else (value,)

    return values


def _if_read(index: Index) -> Index:
    """What only a payment has whose card was read. Source: assumed D29."""
    return lambda tx, path: () if tx.origin.card is NOT_READ else index(tx, path)


def _looks_like(tx: Transaction, wanted: str) -> bool:
    """The card by its last four digits, or by the beginning of its masked number."""
    card = tx.origin.card.masked
    return card.endswith(wanted) if len(wanted) == LAST_DIGITS else card.startswith(wanted)


LAST_DIGITS: Final = 4


def _mentions(tx: Transaction, piece: str) -> bool:
    origin, wanted = tx.origin, piece.lower()
    texts = (
        origin.transaction_id,
        *_event_ids(tx),
        tx.gateway_transaction_id,
        origin.card.masked,
        origin.site.merchant_name,
        origin.reader_identifier,
        tx.batch_id,
    )
    return any(text is not None and wanted in text.lower() for text in texts)


TABLES: Final[tuple[Table, ...]] = (
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
        for_changes=("ancestor",),
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
            "processor_identity": _live(lambda terminal, path: (processor_identity(terminal),)),
        },
        texts={"search": lambda terminal: (terminal.name, terminal.mid, terminal.tid)},
        for_changes=("account", "processor_identity"),
    ),
    Table(
        name="locations",
        kind=Location,
        key="id",
        indexes={
            "account": _live(_field("account_id")),
            "terminal": _live(_field("terminal_id")),
            "scope": _live(_scope),
            "scope_status": _live(_scope_and("status")),
        },
        texts={"search": lambda location: (location.name,)},
        for_changes=("account", "terminal"),
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
        for_changes=("account", "code"),
    ),
    Table(
        name="api_keys",
        kind=ApiKey,
        key="id",
        unique={"lookup": lambda key: (("", key.lookup),)},
        # Deleted keys are not listed; revoked and expired ones are (assumed 4.5-deleted).
        indexes={"account": _live(_field("account_id")), "scope": _live(_scope)},
        texts={"search": lambda key: (key.name,)},
    ),
    Table(
        name="transactions",
        kind=Transaction,
        key="transaction_id",
        moment=lambda tx: tx.origin.created_at,
        unique={
            # The parts of what `used_event` joins.
            "used_event": lambda tx: [
                (tx.origin.site.account_id, event_id) for event_id in _event_ids(tx)
            ]
        },
        indexes={
            "scope": _scope,
            "scope_status": _scope_and("status"),
            "scope_transaction_type": _scope_and("transaction_type"),
            "transaction_id": lambda tx, path: (tx.transaction_id,),
            "event_id": lambda tx, path: _event_ids(tx),
            "batch_id": _field("batch_id"),
            "refund_batch_id": lambda tx, path: refund_batches(tx),
            "refused_in": lambda tx, path: tx.refused_in,
            "terminal_id": _origin("site.terminal_id"),
            "location_id": _origin("site.location_id"),
            "mid": _origin("site.account_id"),
            "processor_mid": _origin("site.processor_mid"),
            "processor_tid": _origin("site.processor_tid"),
            "reader_identifier": _origin("reader_identifier"),
            "gateway_transaction_id": _field("gateway_transaction_id"),
            "owner_id": _origin("site.owner_id"),
            "card_brand": _if_read(_origin("card.brand")),
            "payment_method": _if_read(_origin("payment_method")),
        },
        filters={
            "min_amount": lambda tx, least: tx.amounts.total >= least,
            "max_amount": lambda tx, most: tx.amounts.total <= most,
            "card_number": _looks_like,
            "search_term": _mentions,
            "status_reason": lambda tx, wanted: tx.status_reason in wanted,
        },
        orders={"total_amount": lambda tx: tx.amounts.total},
        keeps_place=_transaction_keeps_place,
    ),
    Table(
        name="batches",
        kind=Batch,
        key="id",
        indexes={
            "scope": _scope,
            "scope_status": _scope_and("status"),
            "terminal_id": _field("terminal_id"),
            "processor_config_id": _field("processor_config_id"),
            "terminal_status": lambda batch, path: (in_scope(batch.terminal_id, batch.status),),
        },
        keeps_place=_keeps_status,
        for_changes=("terminal_id", "terminal_status"),
    ),
    Table(name="applications", kind=Application, key="account_id", has_path=False),
    Table(name="endpoints", kind=Endpoint, key="id", has_path=False),
    Table(
        name="deliveries",
        kind=Delivery,
        key="id",
        indexes={"message": lambda delivery, path: (delivery.message_id,), "open_at": _open_at},
        keeps_place=_keeps_status,
        for_changes=("message", "open_at"),
        has_path=False,
    ),
    Table(name="key_usage", kind=KeyUsage, key="key_id", has_path=False, can_wait=True),
    Table(name="busy_payments", kind=BusyPayment, key="transaction_id", has_path=False),
    Table(name="world", kind=WorldState, key="id", has_path=False),
)

NAMES: Final[Mapping[type, str]] = {table.kind: table.name for table in TABLES}
"""The name of the table of each kind of record."""
