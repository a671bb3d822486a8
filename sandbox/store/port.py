"""The port that every store fulfils, and the only way to a world's state.

A unit of work reads committed records and its own changes. No other unit sees these changes until
`commit`, which applies records and messages together or not at all. A unit that is dropped without
a commit changes nothing. A unit never lives across an `await`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from sandbox.domain.clock import Timer
from sandbox.domain.events import Message
from sandbox.store.tables import Row
from sandbox.store.world_state import Counters

R = TypeVar("R", bound=Row)

Where = Mapping[str, str | int | Collection[str]]
"""Index name to the wanted value, or to several values of which one must match.

For a text index the value is a piece of text that may be anywhere in the record's texts, in upper
or lower case. For a filter it is the argument of the filter.
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


class UnitOfWork(Protocol):
    """One consistent change of one world.

    While it `can_wait`, the caller has changed nothing and can start again. Then `find` may raise
    `preparing.Unprepared` if the query is long work.
    """

    can_wait: bool

    def get(self, kind: type[R], id: str) -> R | None:
        """The record with this id, as this unit sees it, or None."""

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        """The committed record that has this value in a unique index; None when none has."""

    def newest(self, kind: type[R], index: str, value: str) -> R | None:
        """The last created of the committed records with this value in an index; or None."""

    def find(
        self,
        kind: type[R],
        where: Where,
        *,
        limit: int | None = None,
        offset: int = 0,
        between: Between = ANY_TIME,
        order: Order = NEWEST_FIRST,
    ) -> tuple[list[R], int]:
        """A page of the committed records that match everything in `where`, newest first.

        Also their total number. An empty `where` finds all. The order of creation is that of the
        records' moments if the table has them, and otherwise the order of the first put. An
        update does not change it.
        """

    def put(self, record: Row) -> None:
        """Add the record, or replace the one with its id, when this unit is committed.

        An account is put before what belongs to it, and never changes its parents.
        """

    def remove(self, kind: type[R], id: str) -> None:
        """Remove the record, if there is one, when this unit is committed.

        Only for kinds without indexes: the records of the platform are marked as deleted and stay.
        """

    def emit(self, message: Message) -> None:
        """Announce the message when this unit is committed."""

    def schedule(self, timer: Timer) -> None:
        """Have this happen later, in place of the subject's other timer of its kind and tag."""

    def cancel(self, kind: str, subject: str, tag: str = "") -> None:
        """Have the subject's timer of that kind and tag not happen."""

    def commit(self) -> None:
        """Apply everything at once. Afterwards the unit takes nothing more."""


class Store(Protocol):
    """The state of one world."""

    def begin(self) -> UnitOfWork:
        """A new unit of work."""

    def get(self, kind: type[R], id: str) -> R | None:
        """The committed record with this id, or None."""

    def all(self, kind: type[R]) -> Mapping[str, R]:
        """All committed records of a kind by id, oldest first, as a view that follows changes."""

    def put(self, record: Row) -> None:
        """Commit the record in a unit of work of its own."""

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        """The record that has this value in a unique index; None when none has."""

    def messages(self) -> Sequence[Message]:
        """Every committed message, oldest first."""

    def message(self, id: str) -> Message | None:
        """The committed message with this id, or None."""

    def messages_now(self) -> Sequence[Message]:
        """The messages that there are now; those that come later are not added to them."""

    def place_of(self, message_id: str) -> int | None:
        """The index in `messages` of the one with this id, or None."""

    def timer(self, kind: str, subject: str, tag: str = "") -> Timer | None:
        """The timer of that kind, subject and tag, or None."""

    def next_timer(self) -> Timer | None:
        """The timer that is due first, or None."""

    @property
    def counters(self) -> Counters:
        """The numbers that are taken one by one, outside of units of work."""

    def clear(self) -> None:
        """Forget everything: the state of a store that was never written to."""


class UnitClosed(RuntimeError):
    """Something was put, emitted or committed in a unit that was committed before."""


class DuplicateValue(ValueError):
    """A commit would give two records the same value in a unique index; nothing was applied."""
