"""The contexts of requests and operations: what was sent, and the results of the steps so far."""

from collections.abc import Awaitable, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Any, TypeVar

from msgspec import Struct
from starlette.types import Receive

from sandbox.domain.access import Holds
from sandbox.domain.directory import Account
from sandbox.domain.events import EVENTS, Message
from sandbox.domain.faults import NOT_FOUND, Refusal
from sandbox.domain.instants import to_ms
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Payment, Transaction, show
from sandbox.domain.permissions import Grants
from sandbox.domain.records import Record, filled_body
from sandbox.domain.states import Step
from sandbox.domain.transport_faults import TransportFault
from sandbox.platform.operation import Row
from sandbox.platform.routing import Match
from sandbox.platform.wire import header, list_header, read_body
from sandbox.scenarios.outcome_choice import ChosenOutcome
from sandbox.store.store import UnitOfWork
from sandbox.worlds.elsewhere import ReservedKey
from sandbox.worlds.journal import SHOWN_HEADERS, Decision, Origin
from sandbox.worlds.quotas import Quota
from sandbox.worlds.world import World

T = TypeVar("T")

Headers = list[tuple[bytes, bytes]]


class IncomingRequest(Struct):
    """An incoming request. `body` is None if it was too large to read.

    While it `has_unread_body`, that is yet to be read, which needs a key that may be used.
    `fields` are the headers by name, or None if one of them was sent more than once. `match` is
    what the route table has for the path. `origin` says who sent it, see `Entry`. `taken_keys` are
    the keys in the body that other worlds have on other servers, and `reserved_keys` the rest.
    """

    method: str
    path: str
    query_string: bytes
    headers: Headers
    body: bytes | None
    fields: dict[bytes, bytes] | None = None
    match: Match[Row] | None = None
    origin: Origin = "client"
    has_unread_body: bool = False
    taken_keys: Sequence[str] = ()
    reserved_keys: Sequence[ReservedKey] = ()

    @property
    def row(self) -> Row | None:
        """The row of the operation that it asks for; None if there is none."""
        return None if self.match is None else self.match.row

    @property
    def is_read(self) -> bool:
        """Whether it only reads. HEAD is answered wherever GET is (RFC 9110, 9.1)."""
        return self.method in ("GET", "HEAD")

    async def read_body(self, receive: Receive, bytes_max: int) -> None:
        """Read the body, unless that was done or there is none to read. Raises ClientGone."""
        if self.has_unread_body:
            body = await read_body(receive, bytes_max=bytes_max)
            self.body = None if body is None else bytes(body)
            self.has_unread_body = False

    def header(self, name: bytes) -> bytes | None:
        """Return the value of a header, as `wire.header` finds it. Raises BadInput."""
        return header(self.headers, name) if self.fields is None else self.fields.get(name)

    @property
    def shown_headers(self) -> tuple[bytes | None, ...]:
        """The values of the journal's SHOWN_HEADERS: of one that was sent twice, the last."""
        fields = dict(self.headers) if self.fields is None else self.fields
        return tuple(map(fields.get, SHOWN_HEADERS))

    def list_header(self, name: bytes) -> bytes | None:
        """Return the value of a header that is a list, as `wire.list_header` finds it."""
        return list_header(self.headers, name) if self.fields is None else self.fields.get(name)


class Caller(Struct):
    """The caller: the key, its account, its grants, and the decision that it may call."""

    key: ApiKey
    account: Account
    grants: Grants
    decision: Decision


class PresentedKey(Struct):
    """The API key of a request: its world and record, or the reason why it has none.

    The record may have changed since: `access.usable` reads it again.
    """

    world: World | None = None
    key: ApiKey | None = None
    reason: str = ""
    source: str = "spec 5.1"
    is_production: bool = False
    _caller: Caller | None = None

    def caller(self, key: ApiKey, account: Account) -> Caller:
        """Return the caller with this key of that account. Remembered for the next request."""
        known = self._caller
        if known is None or known.key is not key or known.account is not account:
            introduction = f"key {key.id} ({key.name!r}) of {account.id}"
            decision = ("authenticate", "ok", introduction, "spec 5.1")
            known = self._caller = Caller(key, account, key.grants, decision)
        return known


class OperationContext(Struct, kw_only=True):
    """One operation to carry out, at the world's present time.

    `account` is the target account and `record` the record that the path names, both found and
    visible. `holds` says which of the operation's permissions the caller's key has. `forced` is the
    outcome that the request's header asks for. `decisions`, `events` (ids of messages),
    `near_misses` and `choice` are for the journal. The operation of a timer has no `request_id`.
    """

    world: World
    unit: UnitOfWork
    now: datetime
    request_id: str | None = None
    caller: Caller | None = None
    holds: Holds = Holds.NONE
    account: Account | None = None
    record: Record | None = None
    body: Any = None
    query: Any = None
    decisions: list[Decision] = []
    events: list[str] = []
    forced: str | None = None
    choice: ChosenOutcome | None = None
    near_misses: list[str] = []

    @classmethod
    def of_world(cls, world: World, now: datetime | None = None) -> "OperationContext":
        """Return the context of an operation without a request, at this time of the world."""
        return cls(world=world, unit=world.store.begin(), now=now or world.clock.now())

    @property
    def now_ms(self) -> int:
        """The world's present in Unix milliseconds, as transactions carry it (spec 6.1.6)."""
        return to_ms(self.now)

    @property
    def known_caller(self) -> Caller:
        """The caller, which every request has."""
        assert self.caller is not None
        return self.caller

    @property
    def known_account(self) -> Account:
        """The target account, which every request about one has."""
        assert self.account is not None
        return self.account

    def explain(self, step: str, verdict: str, reason: str, source: str) -> None:
        """Explain a decision in the journal."""
        self.decisions.append((step, verdict, reason, source))

    def emit(self, event_type: str, record: Record) -> None:
        """Announce an event about the record, with the record as it is now."""
        shown: Record | Transaction | dict[str, Any]
        shown = show(record) if isinstance(record, Payment) else record
        if self.world.readings["unset_strings"] == "as_empty" and not EVENTS[event_type].sparse:
            shown = filled_body(shown)  # assumed D35-unset
        id = self.world.draws.message_id()
        self.unit.emit(
            Message(
                id=id,
                event_type=event_type,
                account_id=record.account_id,
                subject=record.id,
                request_id=self.request_id,
                created_at=self.now,
                record=shown,
            )
        )
        self.events.append(id)

    def apply(self, step: Step, record: Record) -> None:
        """Store the record after this step of its life, explain the step, and announce it."""
        self.unit.put(record)
        reason = f"{step.trigger}: {step.state} to {step.target}"
        self.explain("apply", "ok", reason, step.source)
        if step.event is not None:
            self.emit(step.event, record)


class RequestContext(OperationContext, kw_only=True):
    """The state of a request in the pipeline; each step fills in what the next ones need.

    The answer is sent `late_ms` after the work is done. `quota` is what remains of the key's quota.
    `again_at` is when a request that is refused for a while can succeed. `foreign` are the accounts
    of a filter that are out of reach and that a reading ignores.
    """

    request_id: str
    incoming: IncomingRequest
    presented: PresentedKey
    step: str = "route"
    fault: TransportFault | None = None
    again_at: datetime | None = None
    late_ms: int = 0
    quota: Quota | None = None
    refusal: str | None = None
    notes: list[str] = []
    sent: dict[str, Any] | None = None
    may_hold_secret: bool = True
    foreign: frozenset[str] = frozenset()

    @property
    def retry_after_s(self) -> int:
        """The seconds after which to try again. Source: assumed 5.3."""
        wait = self.again_at - self.now if self.again_at is not None else timedelta()
        return max(1, ceil(wait.total_seconds()))

    def note(self, note: str) -> None:
        """Add a note for the journal."""
        self.notes.append(note)

    async def wait_for(self, awaitable: Awaitable[T]) -> T:
        """Wait for something, and return it. Raises Refusal if the world was reset meanwhile.

        A reset world may have other records with the same ids.
        """
        busy = self.world.busy
        found = await awaitable
        if busy is not self.world.busy:
            raise Refusal(NOT_FOUND, reason="the world was reset while the request waited")
        return found

    def begin(self) -> None:
        """Begin a unit of work at the world's present time."""
        self.unit = self.world.store.begin()
        self.now = self.world.clock.now()

    def begin_again(self) -> None:
        """Begin as if the request had arrived now.

        Forgets everything that was found in the world.
        """
        self.begin()
        self.record = self.account = None
        self.foreign = frozenset()
        self.decisions, self.notes = self.decisions[:1], []


class Answer(Struct):
    """The answer: status, body, headers. `fault` applies to its transport (assumed 5.3)."""

    status: int
    body: bytes
    headers: Headers
    fault: TransportFault | None = None
    delay_ms: int = 0

    @property
    def arriving_body(self) -> bytes:
        """The part of the body that reaches the client: a fault may cut it."""
        if self.fault is None or not self.fault.needs_body:
            return self.body
        return self.body[: len(self.body) // 2]
