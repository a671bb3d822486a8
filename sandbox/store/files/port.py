"""The interface of state files: documents in tables, written with every commit.

A file knows nothing about records. It stores JSON objects, and returns all of them when it is
opened again. After `write` returns, the data survives the death of the process.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic_core import from_json, to_json

PROGRAM: Final = "uat-sandbox"
"""The program that wrote a file, as the file names it."""

FORMAT: Final = 5
"""The format of files and snapshots. Other formats are refused."""

FILE: Final = "file"
"""The table with the program that wrote the file, and the format."""

WORLD: Final = "world"
"""The table with the single document of the world itself."""

COUNTERS: Final = "counters"
"""The table with the single document of a world's counters."""

FIXTURE: Final = "fixture"
"""The table with the fixture of a world, if it is not a bundled one."""

TIMERS: Final = "timers"
"""The table of timers."""

MESSAGES: Final = "messages"
"""The table of messages. They are put once, and deleted only with their world."""

RECORDS: Final = "records"
"""The table of the bodies of messages, by message id."""

SECRET_BYTES: Final = 32
"""The length of a server's secret."""


def read_secret(text: Any) -> bytes:
    """Return a secret from its text in a file; empty if there is none. Raises ValueError."""
    if text is None:
        return b""
    secret = bytes.fromhex(text) if isinstance(text, str) else b""
    if len(secret) != SECRET_BYTES:
        raise ValueError
    return secret


class Document(NamedTuple):
    """A document of a table. Tables are read in the order of the numbers."""

    id: str
    number: int
    text: str


def fields_of(document: Document) -> Any:
    """Return the content of a document."""
    return from_json(document.text)


class Change(NamedTuple):
    """The changes of one commit of a world.

    `puts` are documents to add or replace, with their tables; `gone` are table and id of deleted
    ones. With `is_replacement` the world is emptied first, which also deletes a world.
    """

    world: str
    puts: Sequence[tuple[str, Document]] = ()
    gone: Sequence[tuple[str, str]] = ()
    is_replacement: bool = False


Tables = Mapping[str, Sequence[Document]]
"""The documents of one world by table, each in the order of its numbers."""


class UnknownFormat(ValueError):
    """The file or snapshot has another format; the message names it."""


def check_format(found: object) -> None:
    """Raise UnknownFormat unless this version reads the format."""
    if type(found) is int and found > FORMAT:
        raise UnknownFormat(
            f"it has format {found}, which a later version wrote; this one reads format {FORMAT}"
        )
    if type(found) is not int or found != FORMAT:
        raise UnknownFormat(f"it has format {found!r}, and this version reads format {FORMAT}")


class StoreError(Exception):
    """A file cannot be read or written; the message gives its name, the reason and the remedy."""


class Unavailable(StoreError):
    """The place where worlds are kept cannot be reached now; a later attempt may succeed."""


class StateFile(ABC):
    """A file that stores the worlds of one server.

    `name` is the name and kind of the file for messages: `state.json (JSON)`. If it
    `is_for_people`, they may edit it, and everything in it is checked. `head` has further fields
    about the file itself.
    """

    is_for_people = False
    name: str

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.is_head_new = False

    @property
    def secret(self) -> bytes:
        """The secret of the server; empty if there is none."""
        return read_secret(self.head.get("secret"))

    @property
    def tokens(self) -> str:
        """The tokens of teams as JSON, as `write_tokens` writes them; empty if there are none."""
        return to_json(tokens).decode() if (tokens := self.head.get("tokens")) else ""

    def keep(self, **fields: Any) -> None:
        """Put these fields into `head` with the next write.

        `secret` is hex digits, and `tokens` is a list.
        """
        self.head = {**self.head, **fields}
        self.is_head_new = True

    @abstractmethod
    def load(self) -> Mapping[str, Tables]:
        """Return all worlds by id. Raises StoreError."""

    @abstractmethod
    def keep_good_copy(self) -> None:
        """Copy the file, whose content has been found good. Raises StoreError."""

    @abstractmethod
    def write(self, changes: Sequence[Change]) -> None:
        """Write all changes or none. Raises StoreError; the same changes can be tried again."""

    @abstractmethod
    def close(self) -> None:
        """Close and unlock the file."""
