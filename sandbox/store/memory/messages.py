"""The messages of one world, oldest first. Those of an earlier run are read when needed."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from msgspec.structs import replace
from pydantic_core import from_json, to_json

from sandbox.domain.events import LazyRecord, Message
from sandbox.domain.instants import to_wire
from sandbox.domain.payments.cards import STORED_CARDS
from sandbox.domain.payments.transactions import Origin, Transaction
from sandbox.store.memory.packed_messages import PackedMessages
from sandbox.store.steps import Container
from sandbox.store.tables import TABLES

if TYPE_CHECKING:
    from sandbox.store.files.port import Document, Parsed
    from sandbox.store.memory.texts import Texts

_KINDS = {table.name: table.kind for table in TABLES}

ReadText = Callable[[str, str], str]
"""Gives the text of a document by table and id."""


OriginOf = Callable[[str], Origin]
"""Gives the origin of the payment with this id."""


def message_text(message: Message) -> str:
    """The document of a message, without its body."""
    fields = {
        "id": message.id,
        "event_type": message.event_type,
        "account_id": message.account_id,
        "subject": message.subject,
        "request_id": message.request_id,
        "created_at": to_wire(message.created_at),
    }
    if message.only_for is not None:
        fields["only_for"] = message.only_for
    return to_json(fields).decode()


def read_message(document: "Document | Parsed", read: ReadText, origin_of: OriginOf) -> Message:
    """The message of a document; its body is read when needed. Raises Unreadable."""
    from sandbox.store.documents import Unreadable, read_instant
    from sandbox.store.files.port import MESSAGES, RECORDS, Parsed

    if isinstance(document, Parsed):
        fields = {**document.fields}
    else:
        fields = from_json(document.text or read(MESSAGES, document.id))
    try:
        fields["created_at"] = read_instant(fields["created_at"])
        id, subject = fields["id"], fields["subject"]
        record = LazyRecord(
            lambda: read(RECORDS, id), lambda text: _read_record(text, subject, origin_of)
        )
        message = Message(**fields, record=record)
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"is no message: {error}") from None
    return message


def _read_record(text: str, subject: str, origin_of: OriginOf) -> Any:
    from sandbox.store.documents import from_document
    from sandbox.store.memory.texts import BODY, CARD

    fields = from_json(text)
    token = fields.pop(CARD, None)
    ((kind, document),) = fields.items()
    if kind == BODY:
        return document
    if token is None:
        return from_document(_KINDS[kind], document)
    origin = replace(origin_of(subject), card=STORED_CARDS[token])
    return from_document(Transaction, document | {"origin": origin})


class Messages(Sequence[Message]):
    """A list that begins with documents of an earlier run, and grows at its end."""

    def __init__(
        self,
        saved: "Sequence[Document | Parsed]" = (),
        read: ReadText | None = None,
        origin_of: OriginOf | None = None,
    ) -> None:
        self._saved = saved
        self._saved_count = len(saved)
        self._woken: dict[int, Message] = {}
        self._new = PackedMessages()
        self._read = read
        self._origin_of = origin_of
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return self._saved_count + len(self._new)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> "list[Message]": ...
    def __getitem__(self, index: int | slice) -> "Message | list[Message]":
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if place >= self._saved_count:
            return self._new[place - self._saved_count]
        message = self._woken.get(place)
        if message is None:
            assert self._read
            assert self._origin_of
            message = read_message(self._saved[place], self._read, self._origin_of)
            self._woken[place] = message
        return message

    def __iter__(self) -> Iterator[Message]:
        for place in range(len(self)):
            yield self[place]

    def written(self, place: int, texts: "Texts") -> tuple[str, str, str]:
        """The id of a message, its document, and the document of its body.

        Unread messages of an earlier run stay unread.
        """
        if place < self._saved_count and place not in self._woken:
            from sandbox.store.files.port import MESSAGES, RECORDS

            assert self._read
            saved = self._saved[place]
            text = saved.text or self._read(MESSAGES, saved.id)
            return saved.id, text, self._read(RECORDS, saved.id)
        message = self[place]
        return message.id, message_text(message), texts.of_message(message)

    def as_now(self) -> "Messages":
        """The same messages, as a view that never grows."""
        now = Messages(self._saved, self._read, self._origin_of)
        now._woken, now._new = self._woken.copy(), self._new.as_now()
        return now

    def containers(self) -> list[Container]:
        """All containers of messages, to be freed."""
        # The first list may be in use elsewhere.
        self._saved, self._saved_count = (), 0
        return [self._woken, *self._new.containers(), self._places]

    def extend(self, messages: Sequence[Message]) -> None:
        """Add these at the end: all those of one commit."""
        self._new.extend(messages)

    def subject(self, place: int) -> str:
        """The id of what the message at this place is about."""
        if place < self._saved_count:
            return self[place].subject
        return self._new.subject(place - self._saved_count)

    def place_of(self, id: str) -> int | None:
        """The index of the message with this id in the list, or None."""
        # Hardly anybody asks: they are put in order for it only then.
        for place in range(len(self._places), len(self)):
            is_new = place >= self._saved_count
            one = self._new.id(place - self._saved_count) if is_new else self._saved[place].id
            self._places[one] = place
        return self._places.get(id)

    def by_id(self, id: str) -> Message | None:
        """The message with this id, or None."""
        place = self.place_of(id)
        return None if place is None else self[place]
