"""A saved world: the documents of a state file or a snapshot, by table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox.store.documents import from_document
from sandbox.store.world_state import Counters, WorldState

if TYPE_CHECKING:
    from sandbox.store.files.port import Document, Parsed


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

    def state(self) -> WorldState:
        """The state of the world. Raises NotRestored."""
        from sandbox.store.files.port import WORLD

        state: WorldState = self._only(WORLD, WorldState)
        return state

    def counters(self) -> Counters:
        """What the world has counted. Raises NotRestored."""
        from sandbox.store.files.port import COUNTERS

        counters: Counters = self._only(COUNTERS, Counters)
        return counters

    def _only(self, table: str, kind: type) -> Any:
        from sandbox.store.files.port import fields_of

        documents = self.tables.get(table) or ()
        if len(documents) != 1:
            raise NotRestored(f"{table}: must have one document, and has {len(documents)}")
        try:
            return from_document(kind, fields_of(documents[0]))
        except ValueError as error:
            raise NotRestored(f"{table}, {documents[0].id[:80]}: {error}") from None
