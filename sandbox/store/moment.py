"""One table at one moment, to be written in steps while its rows go on changing.

Records never change, so that holding on to those of the moment is enough. Those that nobody has
read yet are read from their file only while the table has not read them either: what is read is
told to every moment before it can change.
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
        """Be told of nothing more."""
        self._rows.by_number.moments.pop(id(self), None)
