"""One table at one moment, to be written in steps while its rows change.

Records are immutable, so it is enough to hold the records of the moment. Unread records are read
from their file only while the table has not read them either: the table hands every record that it
reads to all moments before the record can change.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sandbox.store.files.port import Document

if TYPE_CHECKING:
    from sandbox.store.memory.table import Rows
    from sandbox.store.memory.texts import Texts


class TableMoment:
    """The rows of a table as they are now."""

    def __init__(self, rows: "Rows") -> None:
        self.name = rows.table.name
        self._rows = rows
        self._records: dict[int, Any] = dict.copy(rows.by_number)
        self._unread = rows.by_number.documents.copy()
        if self._unread:
            rows.by_number.moments[id(self)] = self._records

    def documents(self, texts: "Texts") -> Iterator[Document]:
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
