"""The texts of records in files and snapshots.

A payment and the messages about it share their beginning and most of their history. The shared part
is written once, and cached for a while.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from msgspec import structs
from pydantic_core import to_json

from sandbox.domain.events import LazyRecord, Message
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Transaction
from sandbox.store.documents import to_document
from sandbox.store.tables import NAMES

REMEMBERED_MAX: Final = 256
CARD: Final = "card"
"""The field of a message about a payment that holds the card of that moment."""

BODY: Final = "body"
"""The kind of a message that has a body of its own."""


class Texts:
    """Writes records. Up to `remembered_max` parts are cached."""

    def __init__(self, remembered_max: int = REMEMBERED_MAX) -> None:
        self._max = remembered_max
        # By identity: parts are frozen, and equal ones are mostly the same.
        self._parts: OrderedDict[int, tuple[Any, str]] = OrderedDict()

    def of_record(self, record: Any) -> str:
        """The document of a record."""
        if type(record) is Transaction:
            return f'{{"origin":{self._part(record.origin)},{self._after_origin(record)}'
        return to_json(to_document(record)).decode()

    def _after_origin(self, tx: Transaction) -> str:
        """The rest of a payment's document, which is that of the last message about it as well."""
        return self._remembered(tx, self._written_after_origin)

    def _written_after_origin(self, tx: Transaction) -> str:
        rest = to_json(to_document(structs.replace(tx, origin=None, history=()))).decode()
        history = ",".join(self._part(attempt) for attempt in tx.history)
        # It begins with the origin, which is none.
        return f'{rest[len(_NO_ORIGIN) : -1]},"history":[{history}]}}'

    def of_message(self, message: Message) -> str:
        """The document of a message's body: the record of its moment, or a body as it is."""
        record = message.record
        if isinstance(record, LazyRecord):
            return record.text()
        if isinstance(record, dict):
            return to_json({BODY: record}).decode()
        if type(record) is Transaction:
            # The payment itself has the origin; only the card may differ.
            fields = self._after_origin(record)
            return f'{{"{CARD}":"{record.origin.card.token}","{NAMES[Transaction]}":{{{fields}}}'
        if isinstance(record, ApiKey):
            # Only the key's own record has a key that can be read again (D26).
            record = replace(record, readable_key=None)
        return f'{{"{NAMES[type(record)]}":{self.of_record(record)}}}'

    def _part(self, part: Any) -> str:
        return self._remembered(part, _written)

    def _remembered(self, part: Any, write: Callable[[Any], str]) -> str:
        known = self._parts.get(id(part))
        if known is not None and known[0] is part:
            return known[1]
        text = write(part)
        self._parts[id(part)] = part, text
        if len(self._parts) > self._max:
            self._parts.popitem(last=False)
        return text


def _written(part: Any) -> str:
    return to_json(to_document(part)).decode()


_NO_ORIGIN: Final = '{"origin":null,'
