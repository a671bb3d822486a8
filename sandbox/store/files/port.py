"""The port of state files: documents in tables, written with every commit.

A file knows no records. It stores JSON objects, and returns all of them when it is opened again.
After `write` returns, the data survives the death of the process.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct
from pydantic_core import from_json, to_json

PROGRAM: Final = "uat-sandbox"
"""What a file says of who wrote it."""

FORMAT: Final = 3
"""The format of files and snapshots. One of another format is refused."""

FILE: Final = "file"
"""The table with the program that wrote the file, and the format."""

WORLD: Final = "world"
"""The table of the one document of the world itself."""

COUNTERS: Final = "counters"
"""The table of the one document of what a world counts."""

FIXTURE: Final = "fixture"
"""The table of the document with which a world began, if it was a file of the user's own."""

TIMERS: Final = "timers"
"""The table of timers."""

MESSAGES: Final = "messages"
"""The table of messages. One is never put twice, nor does one go while its world stays."""

RECORDS: Final = "records"
"""The table of the bodies of messages, by message id."""

SECRET_BYTES: Final = 32
"""How long the secret of a server is."""


def read_secret(text: Any) -> bytes:
    """The secret that a file holds as text; empty if it holds none. Raises ValueError."""
    if text is None:
        return b""
    secret = bytes.fromhex(text) if isinstance(text, str) else b""
    if len(secret) != SECRET_BYTES:
        raise ValueError
    return secret


class Document(NamedTuple):
    """One document of a table. Tables are read in the order of numbers."""

    id: str
    number: int
    text: str


class Parsed(Struct, frozen=True, gc=False):
    """A document whose text was read already. Replaces a `Document`."""

    id: str
    number: int
    fields: dict[str, Any]

    @property
    def text(self) -> str:
        """The JSON object."""
        return to_json(self.fields).decode()


def fields_of(document: "Document | Parsed") -> Any:
    """The content of a document."""
    return document.fields if isinstance(document, Parsed) else from_json(document.text)


class Change(NamedTuple):
    """The changes of one commit of a world.

    `puts` are documents to add or replace, by table; `gone` are the table and id of deleted ones.
    With `anew` the world is emptied first; a deleted world is emptied and gets no documents.
    """

    world: str
    puts: Sequence[tuple[str, Document]] = ()
    gone: Sequence[tuple[str, str]] = ()
    anew: bool = False


Tables = Mapping[str, Sequence[Document | Parsed]]
"""The documents of one world by table, each in the order of its numbers."""


class UnknownFormat(ValueError):
    """The file or snapshot is of another format; the message names it."""


def check_format(found: object) -> None:
    """Raise UnknownFormat unless this is the format that this version reads."""
    if type(found) is int and found > FORMAT:
        raise UnknownFormat(
            f"it is of format {found}, which a later version wrote; this one reads format {FORMAT}"
        )
    if type(found) is not int or found != FORMAT:
        raise UnknownFormat(f"it is of format {found!r}, and this version reads format {FORMAT}")


class StoreError(Exception):
    """A file cannot be read or written; the message gives its name, the reason and the remedy."""


class Unavailable(StoreError):
    """What keeps the worlds cannot be reached at the moment; it is worth trying again."""


class StateFile(Protocol):
    """A file that keeps the worlds of one server."""

    @property
    def name(self) -> str:
        """The name and kind of the file, for messages: `state.json (JSON)`."""

    @property
    def is_for_people(self) -> bool:
        """Whether people edit it, so everything in it is checked."""

    @property
    def secret(self) -> bytes:
        """The secret of the server whose worlds it stores; empty if there is none.

        Raises StoreError.
        """

    def keep_secret(self, secret: bytes) -> None:
        """Have the next write put this secret into the file, in place of the one it has."""

    @property
    def tokens(self) -> str:
        """The tokens of teams as JSON, as `write_tokens` writes them; empty if there are none.

        Raises StoreError.
        """

    def keep_tokens(self, tokens: str) -> None:
        """Have the next write put these tokens into the file, in place of those it has."""

    def load(self) -> Mapping[str, Tables]:
        """All worlds by id. Raises StoreError."""

    def keep_good_copy(self) -> None:
        """The content was found good: make a copy of the file as it was opened.

        Raises StoreError.
        """

    def write(self, changes: Sequence[Change]) -> None:
        """Write all of these, or none. Raises StoreError; the same changes may be tried again."""

    def close(self) -> None:
        """Close and unlock the file."""
