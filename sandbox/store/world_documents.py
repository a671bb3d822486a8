"""The documents of a world: of its records, messages, timers and counters.

A message has two documents, of which one is its body: the record of that moment, or of a sample the
body as it is.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import structs

from sandbox.domain.events import Message, MessageHead
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Payment, Transaction
from sandbox.store.documents import Read, Unreadable, to_text
from sandbox.store.files.port import COUNTERS, FIXTURE, MESSAGES, RECORDS, TIMERS, Document
from sandbox.store.store import Store
from sandbox.store.tables import TABLES
from sandbox.store.world_state import Counters

BODY: Final = "body"
"""The kind of a message that has a body of its own."""

_KINDS: Final = {table.name: table.kind for table in TABLES} | {"transactions": Transaction}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
"""The kinds of record in bodies: of a payment they have what is shown."""

PaymentOf = Callable[[str], Payment | None]
"""Gives the payment with this id, or None."""


Fixture = Mapping[str, Any]
"""The document of a fixture of the user's own."""

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
        yield COUNTERS, self._counters
        if self._fixture is not None:
            yield FIXTURE, Document(FIXTURE, 0, to_text(self._fixture))
        for number, message in enumerate(self._messages):
            yield from message_documents(number, message)
        for number, timer in self._timers:
            yield TIMERS, Document(timer.id, number, to_text(timer))


def counters_document(counters: Counters) -> Document:
    """The document of the numbers that a store counts."""
    return Document(COUNTERS, 0, to_text(counters))


def message_documents(number: int, message: Message) -> Iterator[Put]:
    """Both documents of a message."""
    head = MessageHead(**{name: getattr(message, name) for name in MessageHead.__struct_fields__})
    yield MESSAGES, Document(message.id, number, to_text(head))
    yield RECORDS, Document(message.id, number, body_text(message))


def body_text(message: Message) -> str:
    """The document of a message's body."""
    record = message.record
    if isinstance(record, dict):
        return to_text({BODY: record})
    if isinstance(record, ApiKey):
        # Only the key's own record has a key that can be read again (D26).
        record = structs.replace(record, readable_key=None)
    return to_text({_NAMES[type(record)]: record})


def read_message(fields: Any, record: Any, read_record: Read) -> Message:
    """The message of a document, with its record. Raises Unreadable."""
    head: MessageHead = read_record(MessageHead, fields)
    return Message(**structs.asdict(head), record=record)


def read_body(body: Any, subject: Any, payment_of: PaymentOf, read_record: Read) -> Any:
    """The record of a message, or for a sample its body. Raises Unreadable, ValueError, ..."""
    ((kind, document),) = body.items()
    if kind == BODY:
        return document
    read = read_record(_KINDS[kind], document)
    if not isinstance(read, Transaction):
        return read
    payment = payment_of(subject)
    if payment is None:
        raise Unreadable("subject: there is no such payment")
    # Memory holds once what a payment and the messages about it have in common.
    pairs = [
        (name, getattr(read, name), getattr(payment.transaction, name))
        for name in Transaction.__struct_fields__
    ]
    read = Transaction(**{name: known if own == known else own for name, own, known in pairs})
    known = payment.history[: len(read.history)]
    return structs.replace(read, history=known) if known == read.history else read
