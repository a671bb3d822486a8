"""A saved world: the documents of a state file or a snapshot, by table."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from sandbox.store.files.port import Document, Parsed


class NotRestored(ValueError):
    """Documents that make no world; the message names the table, the document and the field."""


class SavedWorld(Struct, frozen=True):
    """The documents of a world. `read` gives the text of one by table and id.

    Documents from the server's own file are not written to it again. Documents that people cannot
    edit are trusted, and read only when they are needed.
    """

    tables: "Mapping[str, Sequence[Document | Parsed]]"
    read: Callable[[str, str], str]
    is_from_file: bool = False
    is_trusted: bool = False
