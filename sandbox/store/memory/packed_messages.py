"""The messages of a process, packed: a payment has two or three, and most memory went to them.

Nearly every message is about a payment, and says little that the payment does not say. Of such a
message the list has the payment as it was, and a row of bytes has the rest; a message is made of
both when somebody asks. All others are in the list as they are.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from sandbox.domain.events import EVENTS, Message
from sandbox.domain.instants import from_ms, to_ms
from sandbox.domain.payments.initiation import as_created
from sandbox.domain.payments.transactions import Transaction
from sandbox.store.steps import Container

_EVENTS: Final = tuple(EVENTS)
_NUMBER_OF: Final = {name: number for number, name in enumerate(_EVENTS)}

_ID_START: Final = "msg_"
_ID_CHARS: Final = len(_ID_START) + 27
_REQUEST_START: Final = "req_"
_REQUEST: Final = _REQUEST_START + "%010d"
_NO_REQUEST: Final = -1
_OTHER_REQUEST: Final = -2

_ROW: Final = Struct(f"<{_ID_CHARS - len(_ID_START)}sBqq")
"""The id, the number of the event, that of the request, and the moment in Unix milliseconds."""
_NOTHING: Final = bytes(_ROW.size)

PACKED_AT_ONCE: Final = 512
"""So many messages wait to be packed. One by one it would cost three times as much."""

_Item = Message | Transaction | None
"""None is the payment at its creation, which the version in the next item tells."""


class PackedMessages:
    """Messages in the order in which they were announced. It grows at its end only."""

    __slots__ = ("_items", "_recent", "_rows")

    def __init__(self) -> None:
        self._items: list[_Item] = []
        self._rows = bytearray()
        self._recent: list[Message] = []

    def __len__(self) -> int:
        return len(self._items) + len(self._recent)

    def extend(self, messages: Sequence[Message]) -> None:
        """Add these at the end."""
        self._recent += messages
        if len(self._recent) >= PACKED_AT_ONCE:
            self.pack()

    def pack(self) -> None:
        """Pack the messages that are not packed yet."""
        items, rows, recent = self._items, self._rows, self._recent
        last = len(recent)
        moment, moment_ms, is_exact = None, 0, True
        request, number = None, _NO_REQUEST
        for place, message in enumerate(recent, 1):
            # The messages of a commit have one moment and one request.
            if message.created_at is not moment:
                moment = message.created_at
                moment_ms, is_exact = to_ms(moment), not moment.microsecond % 1000
            if message.request_id is not request:
                request = message.request_id
                number = _number_of(request)
            payment = message.record
            if (
                type(payment) is not Transaction
                or number == _OTHER_REQUEST
                or not is_exact
                or not _has_the_rest(payment, message)
            ):
                items.append(message)
                rows += _NOTHING
                continue
            is_told = place < last and _tells(recent[place].record, payment)
            items.append(None if is_told else payment)
            id, event = message.id[len(_ID_START) :].encode(), _NUMBER_OF[message.event_type]
            rows += _ROW.pack(id, event, number, moment_ms)
        self._recent = []

    def __getitem__(self, place: int) -> Message:
        if place >= len(self._items):
            return self._recent[place - len(self._items)]
        item = self._items[place]
        if type(item) is Message:
            return item
        id, event, number, moment_ms = _ROW.unpack_from(self._rows, place * _ROW.size)
        payment = self._payment(place)
        return Message(
            id=_ID_START + id.decode(),
            event_type=_EVENTS[event],
            account_id=payment.account_id,
            subject=payment.transaction_id,
            request_id=None if number == _NO_REQUEST else _REQUEST % number,
            created_at=from_ms(moment_ms),
            record=payment if item is not None else as_created(payment),
        )

    def _payment(self, place: int) -> Transaction:
        """The payment of a message, in the version that the list has."""
        while (item := self._items[place]) is None:
            place += 1
        return item.record if type(item) is Message else item  # type: ignore[return-value]

    def id(self, place: int) -> str:
        """The id of the message at this place."""
        item = self._item(place)
        if type(item) is Message:
            return item.id
        start = place * _ROW.size
        return _ID_START + self._rows[start : start + _ID_CHARS - len(_ID_START)].decode()

    def subject(self, place: int) -> str:
        """The id of what the message at this place is about."""
        item = self._item(place)
        return item.subject if type(item) is Message else self._payment(place).transaction_id

    def _item(self, place: int) -> _Item:
        packed = len(self._items)
        return self._items[place] if place < packed else self._recent[place - packed]

    def as_now(self) -> "PackedMessages":
        """The same messages, as a view that never grows."""
        now = PackedMessages()
        now._items, now._recent = self._items.copy(), self._recent.copy()
        # They only grow, and are not asked for more than there are items.
        now._rows = self._rows
        return now

    def containers(self) -> list[Container]:
        """All containers of messages, to be freed."""
        return [self._items, self._recent]


def _number_of(request: str | None) -> int:
    """The number in the id of a request, or what stands for one."""
    if request is None:
        return _NO_REQUEST
    digits = request[len(_REQUEST_START) :]
    number = int(digits) if digits.isdecimal() else 0
    return number if _REQUEST % number == request else _OTHER_REQUEST


def _has_the_rest(payment: Transaction, message: Message) -> bool:
    """Whether the payment says what a row of bytes does not."""
    origin = payment.origin
    return (
        message.subject == origin.transaction_id
        and message.account_id == origin.site.account_id
        and message.only_for is None
        and len(message.id) == _ID_CHARS
    )


def _tells(later: object, payment: Transaction) -> bool:
    """Whether the later version of a payment has all of this one, which is its first."""
    return (
        type(later) is Transaction
        and later.origin is payment.origin
        and len(payment.history) == 1
        and as_created(later) == payment
    )
