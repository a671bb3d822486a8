"""The arguments of an operation: the caller, the target, the checked body, and its effects."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from sandbox.domain.access import Holds
from sandbox.domain.directory import Account
from sandbox.domain.events import EVENTS, Message
from sandbox.domain.instants import to_ms
from sandbox.domain.profile import Profile
from sandbox.domain.readings import UNSET_STRINGS
from sandbox.domain.records import Record, account_id_of, filled_body, id_of
from sandbox.scenarios.choosing import ChosenOutcome
from sandbox.scenarios.queue import Queue
from sandbox.scenarios.running import Running
from sandbox.store.store import UnitOfWork
from sandbox.worlds.journal import Decision
from sandbox.worlds.presented import Caller


class Draws(Protocol):
    """The ids and key material that an operation may draw, in the order of requests."""

    def uuid(self) -> str:
        """A UUIDv4 in lower case."""

    def message_id(self) -> str:
        """An id for a message."""

    def plain_chars(self, length: int) -> str:
        """Letters and digits for an id."""

    def digits(self, length: int) -> str:
        """Decimal digits."""

    def secret_chars(self, length: int) -> str:
        """Letters and digits for key material."""


class WorldServices(Protocol):
    """The services that a world gives its operations besides its records."""

    @property
    def profile(self) -> Profile:
        """The names in use."""

    @property
    def draws(self) -> Draws:
        """The source of ids."""

    @property
    def switches(self) -> Mapping[str, Any]:
        """The switches: which reading of the spec applies."""

    @property
    def readings(self) -> Mapping[str, str]:
        """Every reading of the spec with the value that is in force."""

    @property
    def queue(self) -> Queue:
        """The queue of next outcomes."""

    @property
    def scenario(self) -> Running | None:
        """The scenario that is running."""

    @property
    def taken_events(self) -> Mapping[str, str]:
        """The event_ids of attempts that wait for the processor, with the payment of each."""

    @property
    def terminal_outcomes(self) -> Mapping[str, str]:
        """The fixed outcomes of test terminals, by terminal id."""

    def last_used_at(self, key_id: str) -> datetime | None:
        """When the key last authenticated, or None."""

    def key_is_free(self, plaintext: str) -> bool:
        """Whether no world has this very key."""


class OperationContext(Struct, kw_only=True):
    """One operation to carry out, at the world's present time.

    `account` is the target account and `record` the record that the path names, both found and
    visible. `holds` are the permissions of the caller's key for the operation. `forced` is the
    outcome of the request's header. `decisions`, `events` (ids of messages), `near_misses` and
    `choice` are for the journal. An operation of a timer has no `request_id`.
    """

    world: WorldServices
    unit: UnitOfWork
    now: datetime
    request_id: str | None
    caller: Caller | None = None
    holds: Holds = Holds.NONE
    account: Account | None = None
    record: Record | None = None
    body: Any = None
    query: Any = None
    decisions: tuple[Decision, ...] = ()
    events: tuple[str, ...] = ()
    forced: str | None = None
    choice: ChosenOutcome | None = None
    near_misses: Sequence[str] = ()

    @property
    def now_ms(self) -> int:
        """The world's present in Unix milliseconds, as transactions carry it (spec 6.1.6)."""
        return to_ms(self.now)

    @property
    def known_caller(self) -> Caller:
        """The caller, which every request has."""
        assert self.caller is not None
        return self.caller

    def decided(self, step: str, verdict: str, reason: str, source: str) -> None:
        """Note a decision for the journal."""
        self.decisions += ((step, verdict, reason, source),)

    def emit(self, event_type: str, record: Record) -> None:
        """Announce that this happened to the record, as it is now."""
        shown: Record | dict[str, Any] = record
        if self.world.readings[UNSET_STRINGS] == "as_empty" and not EVENTS[event_type].sparse:
            shown = filled_body(record)  # assumed D35-unset
        id = self.world.draws.message_id()
        self.unit.emit(
            Message(
                id=id,
                event_type=event_type,
                account_id=account_id_of(record),
                subject=id_of(record),
                request_id=self.request_id,
                created_at=self.now,
                record=shown,
            )
        )
        self.events += (id,)
