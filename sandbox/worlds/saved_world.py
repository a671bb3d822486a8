"""A saved world: the documents of a state file or a snapshot, by table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

if TYPE_CHECKING:
    from sandbox.store.files.port import Document, Parsed

WORLD: Final = "world"
SCENARIO: Final = "scenario"
FIXTURE: Final = "fixture"
TIMERS: Final = "timers"
ENDPOINTS: Final = "endpoints"
DELIVERIES: Final = "deliveries"
KEY_USAGE: Final = "uses_of_keys"
"""The tables besides records and messages."""

OF_THE_SERVER: Final = "of the server"
"""The value of `keys` if they depend on a secret of the server."""


class NotRestored(ValueError):
    """Documents that make no world; the message names the table, the document and the field."""


@dataclass(frozen=True, slots=True)
class SavedWorld:
    """The documents of a world. `read` gives the text of one by table and id.

    Documents from the server's own file are not written to it again. Documents that people cannot
    edit are trusted, and read only when they are needed.
    """

    tables: "Mapping[str, Sequence[Document | Parsed]]"
    read: Callable[[str, str], str]
    is_from_file: bool = False
    is_trusted: bool = False

    def state_text(self) -> str:
        """The document of the world itself. Raises NotRestored."""
        documents = self.tables.get(WORLD) or ()
        if not documents:
            raise NotRestored(f"{WORLD}: there is no document of the world itself")
        return documents[0].text

    def state(self) -> dict[str, Any]:
        """Its content, unchecked. Raises NotRestored."""
        state = from_json(self.state_text())
        if not isinstance(state, dict):
            raise NotRestored(f"{WORLD}: must be an object")
        return state

    def placed(self) -> "Iterator[tuple[str, Document | Parsed]]":
        """The documents that have a place of their own in their table."""
        for table in (ENDPOINTS, DELIVERIES, KEY_USAGE):
            for document in self.tables.get(table, ()):
                yield table, document
