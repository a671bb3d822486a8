"""The messages of one world, oldest first. Those of an earlier run are read when asked for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

from pydantic_core import from_json, to_json

from sandbox.domain.events import Kept, Message
from sandbox.domain.instants import parse_rfc3339, to_wire
from sandbox.store.codec import Unreadable, from_document
from sandbox.store.tables import TABLES
from sandbox.store.texts import BODY

_KINDS = {table.name: table.kind for table in TABLES}

ReadText = Callable[[str], str]
"""Gives the text of what the message with this id says."""


def message_text(message: Message) -> str:
    """The document of a message, without what it says."""
    return to_json(
        {
            "id": message.id,
            "event_type": message.event_type,
            "account_id": message.account_id,
            "subject": message.subject,
            "request_id": message.request_id,
            "created_at": to_wire(message.created_at),
        }
    ).decode()


def read_message(text: str, read: ReadText) -> Message:
    """The message in a document; what it says is read when somebody asks. Raises Unreadable."""
    fields = from_json(text)
    try:
        fields["created_at"] = parse_rfc3339(fields["created_at"])
        id = fields["id"]
        message = Message(**fields, record=Kept(lambda: read(id), _read_record))
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"is no message: {error}") from None
    return message


def _read_record(text: str) -> Any:
    ((kind, document),) = from_json(text).items()
    return document if kind == BODY else from_document(_KINDS[kind], document)


class Messages(Sequence[Message]):
    """A list that begins with documents of an earlier run, and grows at its end."""

    def __init__(self, kept: Sequence[str] = (), read: ReadText = str) -> None:
        self._items: list[Message | str] = list(kept)
        self._read = read

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> "list[Message]": ...
    def __getitem__(self, index: int | slice) -> "Message | list[Message]":
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self._items)))]
        item = self._items[index]
        if isinstance(item, str):
            item = self._items[index] = read_message(item, self._read)
        return item

    def __iter__(self) -> Iterator[Message]:
        for place in range(len(self._items)):
            yield self[place]

    def extend(self, messages: Iterable[Message]) -> None:
        """Add these at the end."""
        self._items += messages
