"""The port that every store fulfils, and the only way to a world's state.

A unit of work reads what is committed and what it has itself put; nothing that it puts is seen by
anybody else until `commit`, which applies records and messages together or not at all. Leaving a
unit without committing it leaves the store as it was. A unit never lives across an `await`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from sandbox.domain.events import Message
from sandbox.domain.records import Record

R = TypeVar("R", bound=Record)

Where = Mapping[str, str | Collection[str]]
"""Index name to the value that is looked for, or to several of which any will do.

The name of a text index stands for a piece of text, in upper or lower case, that is looked for
anywhere in the record's texts.
"""


class UnitOfWork(Protocol):
    """One consistent change of one world."""

    def get(self, kind: type[R], id: str) -> R | None:
        """The record with this id, as this unit sees it; None when there is none."""

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        """The committed record that has this value in a unique index; None when none has."""

    def find(
        self, kind: type[R], where: Where, *, limit: int | None = None, offset: int = 0
    ) -> tuple[list[R], int]:
        """A page of the committed records that match every index in `where`, newest first.

        Also their total number. An empty `where` finds all. The order is that in which records
        were first put, which updating one does not change.
        """

    def put(self, record: Record) -> None:
        """Add the record, or replace the one with its id, when this unit is committed.

        An account is put before what belongs to it, and never changes its parents.
        """

    def emit(self, message: Message) -> None:
        """Announce the message when this unit is committed."""

    def commit(self) -> None:
        """Apply everything at once. Nothing can be put, emitted or committed afterwards."""


class Store(Protocol):
    """The state of one world."""

    def begin(self) -> UnitOfWork:
        """A new unit of work."""

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        """The record that has this value in a unique index; None when none has."""

    def messages(self) -> Sequence[Message]:
        """Every committed message, oldest first."""

    def message(self, id: str) -> Message | None:
        """The committed message with this id; None when there is none."""

    def clear(self) -> None:
        """Forget everything: the state of a store that was never written to."""


class UnitClosed(RuntimeError):
    """Something was put, emitted or committed in a unit that was committed before."""


class DuplicateValue(ValueError):
    """A commit would give two records the same value in a unique index; nothing was applied."""
