"""What of a world is kept: the documents of a state file or a snapshot, by table."""

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
USES: Final = "uses_of_keys"
"""The tables beside those of records and messages."""

OF_THE_SERVER: Final = "of the server"
"""What a world says of its `keys` where a secret of the server is mixed into them."""


class NotRestored(ValueError):
    """Documents that make no world; the message names the table, the document and the field."""


@dataclass(frozen=True, slots=True)
class SavedWorld:
    """Documents to make a world of. `read` gives the text of one by table and id.

    Those that are from the server's own file need not be written to it again. Those that nobody
    edits are trusted, and read no sooner than somebody asks for them.
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
        """What it says, of which nothing was checked. Raises NotRestored."""
        state = from_json(self.state_text())
        if not isinstance(state, dict):
            raise NotRestored(f"{WORLD}: must be an object")
        return state

    def placed(self) -> "Iterator[tuple[str, Document | Parsed]]":
        """The documents that have a place of their own in their table."""
        for table in (ENDPOINTS, DELIVERIES, USES):
            for document in self.tables.get(table, ()):
                yield table, document
