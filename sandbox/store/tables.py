"""The tables of the store: one row for each kind of record, with its lookups and conditions.

A lookup is maintained with every commit; a condition is checked record by record when a query
names it. Deleted records match no condition, and stay readable by id.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, TypeVar

from msgspec import Struct, field

from sandbox.domain.batches import Batch, entries_of
from sandbox.domain.clock import Timer
from sandbox.domain.directory import Account, Credential, Location, Terminal
from sandbox.domain.events import Message
from sandbox.domain.keys import ApiKey, KeyUsage
from sandbox.domain.payments.action_records import records_of
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.follow_ups import Unanswered
from sandbox.domain.payments.transactions import BusyPayment, Payment, Transaction
from sandbox.domain.webhooks import Application, Delivery, Endpoint
from sandbox.store.world_state import WorldState

Row = Struct
"""A record of a kind that has a table."""

Values = Callable[[Any], str | Collection[str] | None]
Texts = Callable[[Any], tuple[str | None, ...]]
Fitting = Callable[[list[Any], Any], list[Any]]


class Table(Struct, frozen=True, kw_only=True, gc=False):
    """One kind of record: its name in files, the field that identifies it, and how it is found.

    A value in a `unique` lookup belongs to one record forever, deleted or not. `lookups` lead from
    a value to its records; a record has one value in each, several or None. The lookup `account`
    answers queries within a scope. `conditions` select the records that match a wanted value; any
    other condition compares the field of its name. `texts` has the name of the text search, and the
    texts that it searches. The field `moment` orders the records. If there is a part `within` the
    record, `key`, `moment` and conditions are about that part; lookups and texts get the whole
    record. A change in `can_wait` tables alone need not be durable before an answer; it is written
    with the next change. `derives` returns further records that are put together with a record.
    """

    name: str
    kind: type[Struct]
    key: str = "id"
    unique: Mapping[str, Callable[[Any], Collection[str]]] = field(default_factory=dict)
    lookups: Mapping[str, Values] = field(default_factory=dict)
    conditions: Mapping[str, Fitting] = field(default_factory=dict)
    within: str = ""
    texts: tuple[str, Texts] | None = None
    moment: str = ""
    can_wait: bool = False
    derives: Callable[[Any], Sequence[Any]] | None = None


def processor_identity(terminal: Terminal) -> str:
    """Return the identity at the processor, unique among live terminals (assumed 1.4)."""
    return f"{terminal.processor_config_id} {terminal.mid} {terminal.tid}"


def event_claim(account_id: str, event_id: str) -> str:
    """Return the unique value of an event_id: a merchant can use it once (assumed 2.6)."""
    return f"{account_id} {event_id}"


def _list_used_events(payment: Payment) -> Collection[str]:
    if payment.original_id is not None:
        # The original payment has them.
        return ()
    tx = payment.transaction
    return {event_claim(tx.account_id, attempt.event_id) for attempt in tx.history}


def _batches_of(payment: Payment) -> Collection[str]:
    """Return the batches in which the payment has an entry, or from which it was sent back."""
    return [*entries_of(payment), *payment.refused_in]


def _with_event(transactions: list[Transaction], wanted: str) -> list[Transaction]:
    """Return the transactions that have an attempt with this event_id."""
    return [tx for tx in transactions if wanted in [attempt.event_id for attempt in tx.history]]


def _with_card(transactions: list[Transaction], wanted: str) -> list[Transaction]:
    """Return the transactions whose card has these last four, or these first, digits."""
    has_it = str.endswith if len(wanted) == LAST_DIGITS else str.startswith
    fitting = {card.masked for card in CARDS.values() if has_it(card.masked, wanted)}
    return [tx for tx in transactions if tx.card in fitting]


LAST_DIGITS: Final = 4


def _texts_of(payment: Payment) -> tuple[str | None, ...]:
    """Return the searchable texts of a payment."""
    tx = payment.transaction
    return (
        tx.transaction_id,
        tx.gateway_transaction_id,
        tx.card,
        tx.merchant_name,
        tx.reader_identifier,
        tx.batch_id,
        *{attempt.event_id for attempt in tx.history},
    )


def values_in(found: str | Collection[str] | None) -> Collection[str]:
    """Return the values that a record has in a lookup."""
    return (found,) if isinstance(found, str) else found or ()


def set_of(wanted: str | Collection[str]) -> set[str]:
    """Return the wanted values as a set; one of them must match."""
    return {wanted} if isinstance(wanted, str) else set(wanted)


def having(field_name: str) -> Fitting:
    """Return a condition that selects the records whose field has one of the values."""
    value_of = attrgetter(field_name)

    def fitting(records: list[Any], wanted: Any) -> list[Any]:
        values = set_of(wanted)
        return [one for one in records if value_of(one) in values]

    return fitting


TABLES: Final[tuple[Table, ...]] = (
    Table(
        name="accounts",
        kind=Account,
        lookups={
            "account": attrgetter("id"),
            "ancestor": attrgetter("parent_account_ids"),
        },
        conditions={
            "parent": lambda accounts, wanted: [
                one for one in accounts if wanted in one.parent_account_ids[-1:]
            ],
        },
        texts=("search", lambda account: (account.name,)),
    ),
    Table(
        name="terminals",
        kind=Terminal,
        key="terminal_id",
        lookups={
            "account": attrgetter("account_id"),
            "processor_identity": processor_identity,
        },
        texts=("search", lambda terminal: (terminal.name, terminal.mid, terminal.tid)),
    ),
    Table(
        name="locations",
        kind=Location,
        lookups={"account": attrgetter("account_id"), "terminal": attrgetter("terminal_id")},
        texts=("search", lambda location: (location.name,)),
    ),
    Table(
        name="credentials",
        kind=Credential,
        lookups={"account": attrgetter("account_id"), "code": attrgetter("code")},
    ),
    Table(
        name="api_keys",
        kind=ApiKey,
        unique={"lookup": lambda key: (key.lookup,)},
        # Deleted keys are not listed; revoked and expired ones are (assumed 4.5-deleted).
        lookups={"account": attrgetter("account_id")},
        texts=("search", lambda key: (key.name,)),
    ),
    Table(
        name="transactions",
        kind=Payment,
        within="transaction",
        key="transaction_id",
        moment="created_at",
        derives=records_of,
        unique={"used_event": _list_used_events},
        lookups={
            "account": attrgetter("transaction.account_id"),
            "in_batch": _batches_of,
        },
        conditions={
            "terminal_id": having("tid"),
            "event_id": _with_event,
            "card_number": _with_card,
            "min_amount": lambda txs, least: [tx for tx in txs if tx.total_amount >= least],
            "max_amount": lambda txs, most: [tx for tx in txs if tx.total_amount <= most],
            "start_ms": lambda txs, first: [tx for tx in txs if tx.created_at >= first],
            "end_ms": lambda txs, last: [tx for tx in txs if tx.created_at <= last],
        },
        texts=("search_term", _texts_of),
    ),
    Table(
        name="batches",
        kind=Batch,
        lookups={
            "account": attrgetter("account_id"),
            "terminal_id": attrgetter("terminal_id"),
            "open_at_terminal": lambda one: one.terminal_id if one.status == "open" else None,
        },
    ),
    Table(name="applications", kind=Application, key="account_id"),
    Table(name="endpoints", kind=Endpoint),
    Table(
        name="deliveries",
        kind=Delivery,
        lookups={
            "message": attrgetter("message_id"),
            "open_at": lambda one: one.endpoint_id if one.status == "pending" else None,
        },
    ),
    Table(name="key_usage", kind=KeyUsage, key="key_id", can_wait=True),
    Table(name="busy_payments", kind=BusyPayment, key="transaction_id"),
    Table(name="unanswered", kind=Unanswered, key="transaction_id"),
    Table(name="world", kind=WorldState),
)

MESSAGES: Final = Table(name="messages", kind=Message)
TIMERS: Final = Table(name="timers", kind=Timer, lookups={"subject": attrgetter("subject")})

NAMES: Final[Mapping[type, str]] = {table.kind: table.name for table in TABLES}
"""The name of the table of each kind of record."""


# --- queries ----------------------------------------------------------------------------------

R = TypeVar("R", bound=Row)

Where = Mapping[str, str | int | Collection[str] | None]
"""The wanted value of each lookup or condition, or several values of which one must match.

`scope` is one or several ids of accounts: the record must belong to one of them or to an account
below it. None stands for all accounts. The value of a text search is a piece of text that may
appear anywhere in the record's texts; upper and lower case are the same.
"""


class Order(Struct, frozen=True, gc=False):
    """The order of results: by creation, or by a numeric field and then by creation."""

    by: str = ""
    is_descending: bool = True


NEWEST_FIRST: Final = Order()
OLDEST_FIRST: Final = Order(is_descending=False)


class UnitClosed(RuntimeError):
    """A unit was used for a change or a commit after it had been committed."""


class DuplicateValue(ValueError):
    """A commit would give two records the same value in a unique lookup; nothing was applied."""
