"""A store at one moment, to be written in steps while it changes.

Records are immutable, so it is enough to hold the records of the moment. Unread records are read
from their file only while the table has not read them either: the table hands every record that it
reads to all moments before the record can change.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json

from sandbox.domain.clock import Timer
from sandbox.store.documents import to_document
from sandbox.store.files.port import (
    COUNTERS,
    FIXTURE,
    MESSAGES,
    RECORDS,
    TIMERS,
    Document,
)
from sandbox.store.memory.messages import Messages
from sandbox.store.memory.texts import Texts
from sandbox.store.steps import Steps
from sandbox.store.world_state import Counters

if TYPE_CHECKING:
    from sandbox.store.memory.store import MemoryStore
    from sandbox.store.memory.table import Rows

WHOLE_REMEMBERED_MAX: Final = 50_000
"""The parts of payments that are cached while the messages about them are written."""

Take = Callable[[str, Document], None]
"""Takes a document with the name of its table."""

Fixture = Mapping[str, Any]
"""The document of a fixture of the user's own."""


class TableMoment:
    """The rows of a table as they are now."""

    def __init__(self, rows: "Rows") -> None:
        self.name = rows.table.name
        self._rows = rows
        self._records: dict[int, Any] = dict.copy(rows.by_number)
        self._unread = rows.by_number.documents.copy()
        if self._unread:
            rows.by_number.moments[id(self)] = self._records

    def documents(self, texts: Texts) -> Iterator[Document]:
        """The documents of all rows, in the order of their numbers."""
        numbers = (
            sorted(self._records) if not self._unread else sorted({**self._records, **self._unread})
        )
        for number in numbers:
            record = self._records.get(number)
            if record is None:
                yield self._rows.unread_document(self._unread[number])
            else:
                yield self._rows.document_of(number, record, texts)

    def close(self) -> None:
        """Stop following changes."""
        self._rows.by_number.moments.pop(id(self), None)


def write_all(store: "MemoryStore", fixture: Fixture | None, take: Take) -> Steps[None]:
    """Write all documents of the store as of the first step, table by table.

    `fixture` is the document with which the world began, if it is in no file of ours.
    """
    tables = [TableMoment(rows) for _, rows in store.tables()]
    messages, timers = store.messages_now(), store.timers.numbered()
    counters = counters_document(store.counters)
    texts = Texts(WHOLE_REMEMBERED_MAX)
    try:
        for table in tables:
            for document in table.documents(texts):
                take(table.name, document)
                yield
        take(COUNTERS, counters)
        if fixture is not None:
            take(FIXTURE, Document(FIXTURE, 0, (yield from _written_fixture(fixture))))
        yield from _write_messages(messages, texts, take)
        for number, timer in timers:
            take(TIMERS, timer_document(number, timer))
            yield
    finally:
        for table in tables:
            table.close()


def _write_messages(messages: Messages, texts: Texts, take: Take) -> Steps[None]:
    for number in range(len(messages)):
        id, text, body = messages.written(number, texts)
        take(MESSAGES, Document(id, number, text))
        take(RECORDS, Document(id, number, body))
        yield


def counters_document(counters: Counters) -> Document:
    """The document of the numbers that a store counts."""
    return Document(COUNTERS, 0, to_json(to_document(counters)).decode())


def timer_document(number: int, timer: Timer) -> Document:
    """The document of a timer, which has that number among all."""
    return Document(timer.id, number, to_json(to_document(timer)).decode())


def _written_fixture(document: Fixture) -> Steps[str]:
    """The fixture as JSON: it may be a whole saved world."""
    tables = []
    for name, documents in document.items():
        if not isinstance(documents, dict):
            tables.append(f"{_text(name)}:{_text(documents)}")
            continue
        written = []
        for number, fields in documents.items():
            written.append(f"{_text(number)}:{_text(fields)}")
            yield
        tables.append(f"{_text(name)}:{{{','.join(written)}}}")
    return f"{{{','.join(tables)}}}"


def _text(value: Any) -> str:
    return to_json(value).decode()
