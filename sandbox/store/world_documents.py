"""The documents of a world's records, messages, timers and counters.

A message has two documents. One of them is its body: the record at that moment, or for a sample the
body itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from msgspec import Struct, structs

from sandbox.domain.events import Message, MessageHead
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Payment, Transaction
from sandbox.domain.text import did_you_mean
from sandbox.store.documents import Read, Unreadable, from_document, from_own, to_text
from sandbox.store.files import port
from sandbox.store.files.port import Document
from sandbox.store.records import Records
from sandbox.store.store import Store
from sandbox.store.tables import TABLES
from sandbox.store.world_state import Counters

BODY: Final = "body"
"""The kind of messages with a body instead of a record."""

_KINDS: Final = {table.name: table.kind for table in TABLES} | {"transactions": Transaction}
_NAMES: Final[Mapping[type, str]] = {kind: name for name, kind in _KINDS.items()}
"""The names of records in bodies; a payment is stored there as its transaction."""

_OTHER_TABLES: Final = (port.COUNTERS, port.FIXTURE, port.RECORDS)
"""The tables of documents that are no records."""

Fixture = Mapping[str, Any]
"""The document of a fixture that is not bundled."""

T = TypeVar("T")

Put = tuple[str, Document]
"""The name of a table, and a document for it."""


class Moment:
    """The content of a store at one moment. Records are immutable, so references are enough.

    `fixture` is the document from which the world began, if it is not bundled.
    """

    def __init__(self, store: Store, fixture: Fixture | None) -> None:
        self._tables = [(table, table.numbered()) for table in store.tables()]
        self._counters = counters_document(store.counters)
        self._fixture = fixture

    def documents(self) -> Iterator[Put]:
        """Yield all documents, table by table. This may run in a thread while the store changes."""
        for table, records in self._tables:
            for number, record in records:
                yield from documents_of(table, number, record)
        yield port.COUNTERS, self._counters
        if self._fixture is not None:
            yield port.FIXTURE, Document(port.FIXTURE, 0, to_text(self._fixture))


def counters_document(counters: Counters) -> Document:
    """Return the document of a store's counters."""
    return Document(port.COUNTERS, 0, to_text(counters))


def documents_of(records: Records, number: int, record: Any) -> Iterator[Put]:
    """Yield the document of a record, or both documents of a message."""
    id, name = records.id_of(record), records.table.name
    if not isinstance(record, Message):
        yield name, Document(id, number, to_text(record))
        return
    head = structs.asdict(record)
    record = head.pop("record")
    yield name, Document(id, number, to_text(MessageHead(**head)))
    if isinstance(record, ApiKey):
        # Only the key's own record has its retrievable key (D26).
        record = structs.replace(record, readable_key=None)
    body = {_NAMES.get(type(record), BODY): record}
    yield port.RECORDS, Document(id, number, to_text(body))


def _read_body(body: Any, subject: Any, store: Store, read_record: Read) -> Any:
    """Return the record of a message, or for a sample its body; `place` names the mistakes."""
    ((kind, document),) = body.items()
    if kind == BODY:
        return read_record(dict[str, Any], document)
    read = read_record(_KINDS[kind], document)
    if not isinstance(read, Transaction):
        return read
    payment = store.get(Payment, subject)
    if payment is None:
        raise Unreadable("subject: there is no such payment")
    # Share equal values of a payment and its messages, to save memory.
    known = structs.asdict(payment.transaction)
    known["history"] = payment.history[: len(read.history)]
    same = {name: known[name] for name, own in structs.asdict(read).items() if known[name] == own}
    return structs.replace(read, **same)


# --- saved worlds -------------------------------------------------------------------------------

SAID_MAX: Final = 400
"""Length limit of an error message, since a field may contain a whole book."""


class NotRestored(ValueError):
    """Documents that are not a valid world; the message names table, document and field."""


class SavedWorld(Struct, frozen=True):
    """The documents of a world.

    Documents from the server's own file are not written to it again. Documents that people cannot
    edit are trusted: only their types are checked.
    """

    tables: Mapping[str, Sequence[Document]]
    is_from_file: bool = False
    is_trusted: bool = False

    @property
    def read(self) -> Read:
        """The function that makes a record from a document, with full checks unless trusted."""
        return from_own if self.is_trusted else from_document


@contextmanager
def place(table: str, id: str) -> Iterator[None]:
    """Turn every error inside the block into NotRestored, with the table and the document."""
    try:
        yield
    # Until a field is checked it may have any type, and a number any size.
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise NotRestored(f"{table}, {id[:80]}: {_message_of(error)}") from None


def _message_of(error: BaseException) -> str:
    message = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
    return message if len(message) <= SAID_MAX else message[:SAID_MAX] + "…"


def only(saved: SavedWorld, table: str, kind: type[T]) -> T:
    """Return the only record of a table. Raises NotRestored."""
    documents = saved.tables.get(table) or ()
    if len(documents) != 1:
        raise NotRestored(f"{table}: must have one document, and has {len(documents)}")
    (document,) = documents
    with place(table, document.id):
        read: T = from_document(kind, port.fields_of(document))
        _must_be(document.id, getattr(read, "id", table))
        return read


def _must_be(id: str, expected: str, *, known: Records | None = None) -> None:
    """Raise Unreadable for a known id, or another one, which would make two documents of one."""
    if id != expected:
        raise Unreadable(f"its id must be {expected[:80]}")
    if known is not None and id in known.by_id:
        raise Unreadable("appears twice, and its id must be there once")


def load(store: Store, saved: SavedWorld) -> None:
    """Fill an empty store with everything but the state of the world. Raises NotRestored."""
    known = {*_OTHER_TABLES, *(records.table.name for records in store.tables())}
    for name in saved.tables:
        if name not in known:
            raise NotRestored(f"{name[:80]}: is not a known table{did_you_mean(name, known)}")
    store.is_restored = True
    for records in store.tables():
        # The caller changes the state of the world before storing it.
        if records.table.name not in (port.WORLD, port.MESSAGES):
            _load_table(records, saved)
    _load_messages(store, saved)


def _load_table(records: Records, saved: SavedWorld) -> None:
    table = records.table
    for document in saved.tables.get(table.name, ()):
        id = document.id
        with place(table.name, id):
            record = saved.read(table.kind, port.fields_of(document))
            _must_be(id, records.id_of(record), known=records)
            records.add(id, record, document.number)


def _load_messages(store: Store, saved: SavedWorld) -> None:
    messages = store.table(Message)
    bodies = {one.id: one for one in saved.tables.get(port.RECORDS, ())}
    for document in saved.tables.get(port.MESSAGES, ()):
        id = document.id
        with place(port.MESSAGES, id):
            fields = port.fields_of(document)
            subject = fields["subject"]
        if id not in bodies:
            raise NotRestored(f"{port.RECORDS}: there is no body of the message {id[:80]}")
        with place(port.RECORDS, id):
            record = _read_body(port.fields_of(bodies[id]), subject, store, saved.read)
        with place(port.MESSAGES, id):
            head: MessageHead = saved.read(MessageHead, fields)
            _must_be(id, head.id, known=messages)
            messages.put(id, Message(**structs.asdict(head), record=record), document.number)
    for id in bodies:
        if id not in messages.by_id:
            raise NotRestored(f"{port.RECORDS}, {id[:80]}: there is no message with this body")
