"""The port of state files: documents in tables, written with every commit.

A file knows no records. It stores JSON objects, and returns all of them when it is opened again.
After `write` returns, the data survives the death of the process.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic_core import from_json, to_json

PROGRAM: Final = "uat-sandbox"
"""What a file says of who wrote it."""

FORMAT: Final = 5
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
    """Return the secret that a file holds as text; empty if it holds none. Raises ValueError."""
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


def fields_of(document: Document) -> Any:
    """Return the content of a document."""
    return from_json(document.text)


class Change(NamedTuple):
    """The changes of one commit of a world.

    `puts` are documents to add or replace, by table; `gone` are the table and id of deleted ones.
    With `is_replacement` the world is emptied first; a deleted world is emptied and gets none.
    """

    world: str
    puts: Sequence[tuple[str, Document]] = ()
    gone: Sequence[tuple[str, str]] = ()
    is_replacement: bool = False


Tables = Mapping[str, Sequence[Document]]
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


class StateFile(ABC):
    """A file that keeps the worlds of one server.

    `name` is the name and kind of the file, for messages: `state.json (JSON)`. Where it
    `is_for_people`, who may edit it, everything in it is checked. `head` is what it says of itself
    besides.
    """

    is_for_people = False
    name: str

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.is_head_new = False

    @property
    def secret(self) -> bytes:
        """The secret of the server whose worlds it stores; empty if there is none."""
        return read_secret(self.head.get("secret"))

    @property
    def tokens(self) -> str:
        """The tokens of teams as JSON, as `write_tokens` writes them; empty if there are none."""
        return to_json(tokens).decode() if (tokens := self.head.get("tokens")) else ""

    def keep(self, **fields: Any) -> None:
        """Have the next write put these fields into what the file says of itself.

        `secret` is in hex digits, and `tokens` are a list.
        """
        self.head = {**self.head, **fields}
        self.is_head_new = True

    @abstractmethod
    def load(self) -> Mapping[str, Tables]:
        """All worlds by id. Raises StoreError."""

    @abstractmethod
    def keep_good_copy(self) -> None:
        """Copy the file as it was opened: its content was found good.

        Raises StoreError.
        """

    @abstractmethod
    def write(self, changes: Sequence[Change]) -> None:
        """Write all of these, or none. Raises StoreError; the same changes may be tried again."""

    @abstractmethod
    def close(self) -> None:
        """Close and unlock the file."""
