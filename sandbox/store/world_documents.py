"""The documents of a world: of its records, messages, timers and counters.

A message has two documents, of which one is its body: the record of that moment, or of a sample the
body as it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from msgspec import Struct, structs

from sandbox.domain.clock import Timer
from sandbox.domain.events import Message, MessageHead
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Payment, Transaction
from sandbox.store.documents import Read, Unreadable, from_document, from_own, to_text
from sandbox.store.files import port
from sandbox.store.files.port import Document
from sandbox.store.records import Records
from sandbox.store.store import Store
from sandbox.store.tables import TABLES
from sandbox.store.world_state import Counters

BODY: Final = "body"
"""The kind of a message that has a body of its own."""

_KINDS: Final = {table.name: table.kind for table in TABLES} | {"transactions": Transaction}
_NAMES: Final[Mapping[type, str]] = {kind: name for name, kind in _KINDS.items()}
"""The kinds of record in bodies: of a payment they have what is shown."""

Fixture = Mapping[str, Any]
"""The document of a fixture of the user's own."""

T = TypeVar("T")

Put = tuple[str, Document]
"""A document, after the name of its table."""


class Moment:
    """All that a store holds at one moment. Records never change, so references are enough.

    `fixture` is the document with which the world began, if it is in no file of ours.
    """

    def __init__(self, store: Store, fixture: Fixture | None) -> None:
        self._tables = [(table, table.numbered()) for table in store.tables()]
        self._messages = list(store.messages())
        self._timers = store.timers.numbered()
        self._counters = counters_document(store.counters)
        self._fixture = fixture

    def documents(self) -> Iterator[Put]:
        """All documents, table by table. This may run in a thread while the store changes."""
        for table, records in self._tables:
            for number, record in records:
                id = table.id_of(record)
                yield table.table.name, Document(id, number, to_text(record))
        yield port.COUNTERS, self._counters
        if self._fixture is not None:
            yield port.FIXTURE, Document(port.FIXTURE, 0, to_text(self._fixture))
        for number, message in enumerate(self._messages):
            yield from message_documents(number, message)
        for number, timer in self._timers:
            yield port.TIMERS, Document(timer.id, number, to_text(timer))


def counters_document(counters: Counters) -> Document:
    """Return the document of the numbers that a store counts."""
    return Document(port.COUNTERS, 0, to_text(counters))


def message_documents(number: int, message: Message) -> Iterator[Put]:
    """Both documents of a message."""
    # By name, which takes a tenth of the time of a list of names.
    head = MessageHead(
        id=message.id,
        event_type=message.event_type,
        account_id=message.account_id,
        subject=message.subject,
        request_id=message.request_id,
        created_at=message.created_at,
        only_for=message.only_for,
    )
    yield port.MESSAGES, Document(message.id, number, to_text(head))
    record = message.record
    if isinstance(record, ApiKey):
        # Only the key's own record has a key that can be read again (D26).
        record = structs.replace(record, readable_key=None)
    body = {_NAMES.get(type(record), BODY): record}
    yield port.RECORDS, Document(message.id, number, to_text(body))


def _read_body(body: Any, subject: Any, store: Store, read_record: Read) -> Any:
    """Return the record of a message, or for a sample its body.

    Raises Unreadable, ValueError, ...
    """
    ((kind, document),) = body.items()
    if kind == BODY:
        return document
    read = read_record(_KINDS[kind], document)
    if not isinstance(read, Transaction):
        return read
    payment = store.get(Payment, subject)
    if payment is None:
        raise Unreadable("subject: there is no such payment")
    # Memory holds once what a payment and the messages about it have in common.
    known = structs.asdict(payment.transaction)
    known["history"] = payment.history[: len(read.history)]
    same = {name: known[name] for name, own in structs.asdict(read).items() if known[name] == own}
    return structs.replace(read, **same)


# --- saved worlds -------------------------------------------------------------------------------

SAID_MAX: Final = 400
"""Length limit of an error message: a field may hold a whole book."""


class NotRestored(ValueError):
    """Documents that make no world; the message names the table, the document and the field."""


class SavedWorld(Struct, frozen=True):
    """The documents of a world.

    Documents from the server's own file are not written to it again. Documents that people cannot
    edit are trusted: their types are checked, and nothing else.
    """

    tables: Mapping[str, Sequence[Document]]
    is_from_file: bool = False
    is_trusted: bool = False

    @property
    def read(self) -> Read:
        """What makes a record of a document: the door, unless the documents are trusted."""
        return from_own if self.is_trusted else from_document


@contextmanager
def place(table: str, id: str) -> Iterator[None]:
    """Add the table and the document to every error inside the block."""
    try:
        yield
    except NotRestored:
        raise
    # A field may be of any type until it was checked, and a number of any size.
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise NotRestored(f"{table}, {id[:80]}: {_message_of(error)}") from None


def _message_of(error: BaseException) -> str:
    message = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
    return message if len(message) <= SAID_MAX else message[:SAID_MAX] + "…"


def only(saved: SavedWorld, table: str, kind: type[T]) -> T:
    """Return the one record of a table, which has no other. Raises NotRestored."""
    documents = saved.tables.get(table) or ()
    if len(documents) != 1:
        raise NotRestored(f"{table}: must have one document, and has {len(documents)}")
    (document,) = documents
    with place(table, document.id):
        read: T = from_document(kind, port.fields_of(document))
        _must_be(document.id, getattr(read, "id", table))
        return read


def _must_be(id: str, expected: str) -> None:
    """Refuse a document of another id: a file would get a second one."""
    if id != expected:
        raise Unreadable(f"its id must be {expected[:80]}")


def load(store: Store, saved: SavedWorld) -> None:
    """Fill the empty store, but for the state of the world. Raises NotRestored."""
    store.is_restored = True
    for records in store.tables():
        # The state of the world is changed before it is stored.
        if records.table.name != port.WORLD:
            _load_table(records, saved)
    _load_messages(store, saved)
    for document in saved.tables.get(port.TIMERS, ()):
        with place(port.TIMERS, document.id):
            timer: Timer = saved.read(Timer, port.fields_of(document))
            _must_be(document.id, timer.id)
            if store.timers.entry(timer.id) is not None:
                raise Unreadable("appears twice: a subject has one timer of a kind and tag")
            store.timers.set(timer, document.number)


def _load_table(records: Records, saved: SavedWorld) -> None:
    table = records.table
    for document in saved.tables.get(table.name, ()):
        id = document.id
        with place(table.name, id):
            record = saved.read(table.kind, port.fields_of(document))
            if records.id_of(record) != id or id in records.by_id:
                raise Unreadable(f"its id must be {id[:80]}, once")
            records.add(id, record, document.number)


def _load_messages(store: Store, saved: SavedWorld) -> None:
    found = []
    bodies = {one.id: one for one in saved.tables.get(port.RECORDS, ())}
    for document in saved.tables.get(port.MESSAGES, ()):
        id = document.id
        with place(port.MESSAGES, id):
            fields = port.fields_of(document)
            subject = fields["subject"]
        if id not in bodies:
            raise NotRestored(f"{port.RECORDS}: there is nothing of the message {id[:80]}")
        with place(port.RECORDS, id):
            record = _read_body(port.fields_of(bodies[id]), subject, store, saved.read)
        with place(port.MESSAGES, id):
            head: MessageHead = saved.read(MessageHead, fields)
            _must_be(id, head.id)
            found.append(Message(**structs.asdict(head), record=record))
    store.add_messages(found)
