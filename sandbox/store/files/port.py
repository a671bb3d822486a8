"""The port of state files: documents in tables, written with every commit.

A file knows no records. It stores texts, each a JSON object, and returns all of them when it is
opened again. After `write` returns, the data survives the death of the process.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from pydantic_core import from_json, to_json

FORMAT: Final = 1
"""The version of what is written. A later one reads every earlier one."""

FILE: Final = "file"
"""The table that says what wrote a document, and in which format."""

MESSAGES: Final = "messages"
"""The table of messages. One is never put twice, nor does one go while its world stays."""

RECORDS: Final = "records"
"""The table that is read one document at a time: what messages say, by the id of the message."""

TAKEN_IDS: Final = "taken_ids"
"""The table that says of a world that ids in it may be drawn again: its documents, and with them
the number of draws, were once where people can edit them."""

SECRET_BYTES: Final = 32
"""How long the secret of a server is."""


def read_secret(text: Any) -> bytes:
    """The secret that a file holds as text; empty where it holds none. Raises ValueError."""
    if text is None:
        return b""
    secret = bytes.fromhex(text) if isinstance(text, str) else b""
    if len(secret) != SECRET_BYTES:
        raise ValueError
    return secret


class Document(NamedTuple):
    """One document of a table. `number` is its place in the table: tables are read in this order.

    `claims` are the values that it takes in unique indexes, as JSON; empty where it takes none.
    """

    id: str
    number: int
    text: str
    unique_values: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document whose text was read already. Replaces a `Document`."""

    id: str
    number: int
    fields: dict[str, Any]
    unique_values: str = ""

    @property
    def text(self) -> str:
        """The JSON object."""
        return to_json(self.fields).decode()


def fields_of(document: "Document | Parsed") -> Any:
    """What a document says."""
    return document.fields if isinstance(document, Parsed) else from_json(document.text)


class Change(NamedTuple):
    """What one commit of a world changes.

    `puts` are documents by table, added or in place of the one with their id; `gone` are table and
    id. With `anew` everything that the world had is forgotten first: a world that is deleted is
    one that begins anew with nothing.
    """

    world: str
    puts: Sequence[tuple[str, Document]] = ()
    gone: Sequence[tuple[str, str]] = ()
    anew: bool = False


Tables = Mapping[str, Sequence[Document]]
"""The documents of one world by table, each in the order of its numbers."""


class StoreError(Exception):
    """A file cannot be used, or not be written; the message names it, says why, and what to do."""


class StateFile(Protocol):
    """A file that keeps the worlds of one server."""

    @property
    def name(self) -> str:
        """What it is, for people: `state.json (JSON)`."""

    @property
    def is_for_people(self) -> bool:
        """Whether people edit it, so everything in it is checked."""

    @property
    def secret(self) -> bytes:
        """The secret of the server whose worlds it keeps; empty where there is none.

        Raises StoreError.
        """

    def keep_secret(self, secret: bytes) -> None:
        """Have the next write put this secret into the file, in place of the one it has."""

    def load(self) -> Mapping[str, Tables]:
        """All worlds by id, without the tables of RECORDS. Raises StoreError.

        Of transactions with claims the text may be left empty: `read` has it. Messages may be
        read when they are needed.
        """

    def read(self, world: str, table: str, id: str) -> str | None:
        """The text of one document; None when there is none."""

    def records(self, world: str) -> Iterator[Document]:
        """The documents of RECORDS, one at a time, in no order. For copying a file."""

    def keep_good_copy(self) -> None:
        """The content was found good: keep a copy of the file as it was opened.

        Raises StoreError.
        """

    def write(self, changes: Sequence[Change]) -> None:
        """Write all of these, or none. Raises StoreError; the same changes may be tried again."""

    def close(self) -> None:
        """Let go of the file. What was written stays."""
