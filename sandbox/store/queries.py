"""The words of queries to a store, and its errors."""

from collections.abc import Collection, Mapping
from typing import Final, TypeVar

from msgspec import Struct

from sandbox.store.tables import Row

R = TypeVar("R", bound=Row)

Where = Mapping[str, str | int | Collection[str]]
"""Name of a lookup or a field to the wanted value, or to several values of which one must match.

`scope` is the id of an account, or several: the record belongs to one or is below it. For a text
search the value is a piece of text that may be anywhere in the record's texts, in upper or lower
case. For a filter it is the argument of the filter.
"""

Between = tuple[int | None, int | None]
"""The first and the last moment, in Unix milliseconds, both included; None: no bound.

Only for tables whose records have a moment.
"""

ANY_TIME: Final[Between] = (None, None)


class Order(Struct, frozen=True, gc=False):
    """The order of found records: by creation, or by an order of the table.

    Equal records follow in the order of creation.
    """

    by: str = ""
    is_descending: bool = True


NEWEST_FIRST: Final = Order()
OLDEST_FIRST: Final = Order(is_descending=False)


class UnitClosed(RuntimeError):
    """Something was put, emitted or committed in a unit that was committed before."""


class DuplicateValue(ValueError):
    """A commit would give two records the same value in a unique lookup; nothing was applied."""
