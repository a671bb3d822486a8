"""Checks of the documents that are not records, because people can edit them.

Every check raises ValueError with the field and its rule, and never repeats a value.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sandbox.domain.events import EVENTS, Message
from sandbox.domain.field_types import Percent, SurchargeBasis, TaxBasis, WorldName
from sandbox.domain.instants import Instant, to_ms
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import (
    STATUS_REASONS,
    STATUSES,
    TRANSACTION_TYPES,
    Attempt,
    Rates,
    Transaction,
)
from sandbox.domain.payments.transport import TRANSPORT_FAULTS
from sandbox.domain.payments.triggers import SETTLEMENTS
from sandbox.domain.timers import TIMER_KINDS, Timer
from sandbox.domain.webhooks.deliveries import Delivery
from sandbox.domain.webhooks.endpoints import Endpoint
from sandbox.scenarios.queue import Queued
from sandbox.store.documents import Unreadable, from_document, read_value
from sandbox.store.generated_data import GeneratedData
from sandbox.store.memory.timers import Timers
from sandbox.worlds.clock import EARLIEST, LATEST, RATE_MAX, Mode
from sandbox.worlds.saved_world import OF_THE_SERVER

COUNT_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    """A saved clock; `wall` is the system time at which it showed `now`."""

    mode: Mode
    rate: float
    now: Instant | None = None
    wall: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    now: Instant | None = None
    mode: Mode | None = None
    rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begins:
    clock: _Setting = _Setting()
    invention: GeneratedData | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The state of a world that is in no table: the fields of `recorder.state_of`."""

    id: str
    fixture: str
    clock: _Clock
    name: WorldName = ""
    seed: int = 1
    drawn: int = 0
    requests: int = 0
    switches: dict[str, Any]
    begins: _Begins = _Begins()
    keys: str = ""
    queue: tuple[Queued, ...] = ()
    counts: tuple[tuple[int, int], ...] = ()
    busy: tuple[str, ...] = ()
    meant_for: dict[str, str]
    terminal_outcomes: dict[str, str]


_MAY_BE_MISSING: Final[Mapping[str, Any]] = {
    "switches": {},
    "meant_for": {},
    "terminal_outcomes": {},
}


def check_state(fields: Mapping[str, Any]) -> None:
    """The document of a world."""
    state: _State = from_document(_State, {**_MAY_BE_MISSING, **fields})
    if not -(2**63) <= state.seed <= COUNT_MAX:
        raise Unreadable("seed: must be a number of 64 bits")
    _check_counts({"drawn": state.drawn, "requests": state.requests})
    for fitted, applied in state.counts:
        _check_counts({"counts": min(fitted, applied)})
    _check_clock("clock", state.clock)
    _check_clock("begins.clock", state.begins.clock)
    if state.begins.invention is not None:
        try:
            state.begins.invention.check()
        except ValueError as error:
            raise Unreadable(f"begins.invention: {error}") from None
    if state.keys not in ("", OF_THE_SERVER):
        raise Unreadable(f"keys: must be {OF_THE_SERVER!r}, or left out")
    for entry in state.queue:
        _check_next(entry)
    for outcome in state.terminal_outcomes.values():
        if outcome not in OUTCOMES:
            raise Unreadable("terminal_outcomes: must be known outcomes")


def _check_counts(counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        if not 0 <= count <= COUNT_MAX:
            raise Unreadable(f"{name}: must be a count")


def _check_clock(name: str, clock: _Clock | _Setting) -> None:
    if clock.rate is not None and not 0 < clock.rate <= RATE_MAX:
        raise Unreadable(f"{name}.rate: must be more than 0 and at most {RATE_MAX:g}")
    if clock.now is not None and not EARLIEST <= clock.now <= LATEST:
        raise Unreadable(f"{name}.now: must be from {EARLIEST.year} to {LATEST.year}")
    if isinstance(clock, _Clock) and clock.mode == "frozen" and clock.now is None:
        raise Unreadable(f"{name}.now: is missing")


def _check_next(entry: Queued) -> None:
    if entry.outcome is not None and entry.outcome not in OUTCOMES:
        raise Unreadable("queue.outcome: must be a known outcome")
    if entry.fault is not None and entry.fault not in TRANSPORT_FAULTS:
        raise Unreadable("queue.fault: must be a known transport fault")


def check_timer(timer: Timer, timers: Timers) -> None:
    """A timer that is about to be set."""
    if timer.kind not in TIMER_KINDS:
        raise Unreadable(f"kind: must be one of {', '.join(sorted(TIMER_KINDS))}")
    if timers.get(timer.kind, timer.subject, timer.tag) is not None:
        raise Unreadable("appears twice: a subject has one timer of a kind and tag")
    if timer.kind == "late_answer" and timer.detail not in OUTCOMES:
        raise Unreadable("detail: must be a known outcome")


_RATE_TYPES: Final[Mapping[str, Any]] = {
    "tax_rate": Percent,
    "tax_basis": TaxBasis,
    "surcharge_rate": Percent,
    "surcharge_basis": SurchargeBasis,
}

_WORD: Final = re.compile(r"[ !#-\[\]-~]*")
"""Check text that goes into JSON as it is: a template renders payments (decision 18)."""


def check_payment(tx: Transaction) -> None:
    """A payment: every word of ours is one of those there are, and the rest needs no escapes."""
    _check_attempt(tx)
    for attempt in tx.history:
        try:
            _check_attempt(attempt)
        except Unreadable as error:
            raise Unreadable(f"history.{error}") from None
    origin = tx.origin
    words = {
        "origin.transaction_id": origin.transaction_id,
        "origin.payment_method": origin.payment_method,
        "tip_capture_mode": tx.tip_capture_mode or "",
    }
    _check_words(words)
    _check_known("tip_type", tx.tip_type, ("fixed", "percentage"))
    _check_rates(tx.rates)
    if tx.settlement is not None:
        _check_known("settlement", tx.settlement, SETTLEMENTS)
    if tx.armed is not None:
        _check_known("armed", tx.armed[1], OUTCOMES)
    if not tx.history:
        raise Unreadable("history: has no attempt")
    _check_moment("origin.created_at", origin.created_at)


def _check_attempt(one: Transaction | Attempt) -> None:
    _check_known("status", one.status, STATUSES)
    _check_known("status_reason", one.status_reason, STATUS_REASONS)
    _check_known("transaction_type", one.transaction_type, TRANSACTION_TYPES)
    answer = {} if one.answer is None else one.answer._asdict()
    _check_words(
        {
            "gateway_transaction_id": one.gateway_transaction_id or "",
            "batch_id": one.batch_id or "",
            **{f"answer.{name}": word or "" for name, word in answer.items()},
        }
    )
    if isinstance(one, Attempt):
        _check_moment("created_at", one.created_at)


def _check_rates(rates: Rates) -> None:
    """The rates of a payment, by the rules of the accounts, terminals and locations they are of."""
    for name, kind in _RATE_TYPES.items():
        value = getattr(rates, name)
        if value is not None:
            try:
                read_value(kind, value)
            except ValueError as error:
                raise Unreadable(f"rates.{name}: {error}") from None


def _check_known(name: str, word: str, known: Collection[str]) -> None:
    if word not in known:
        raise Unreadable(f"{name}: must be one of {', '.join(known)}")


def _check_words(words: Mapping[str, str]) -> None:
    for name, word in words.items():
        if not _WORD.fullmatch(word):
            raise Unreadable(f"{name}: must be of plain characters")


def _check_moment(name: str, at: int) -> None:
    if not to_ms(EARLIEST) <= at <= to_ms(LATEST):
        raise Unreadable(f"{name}: must be from {EARLIEST.year} to {LATEST.year}")


def check_endpoint(endpoint: Endpoint, id: str) -> None:
    """Check the endpoints."""
    if endpoint.id != id:
        raise Unreadable("id: must be that of the document")


def check_message(message: Message, id: str, others: Collection[str]) -> None:
    """Check a message; `others` are the messages before it."""
    if message.id != id or id in others:
        raise Unreadable("id: must be that of the document, once")
    if message.event_type not in EVENTS:
        raise Unreadable("event_type: must be a known event")
    texts = {"account_id": message.account_id, "subject": message.subject}
    if message.request_id is not None:
        texts["request_id"] = message.request_id
    for name, value in texts.items():
        if not isinstance(value, str):
            raise Unreadable(f"{name}: must be text")


def check_delivery(delivery: Delivery, id: str, message_ids: Collection[str]) -> None:
    """How a message fares."""
    if delivery.subject != id:
        raise Unreadable("message_id and endpoint_id: must make the id of the document")
    if delivery.message_id not in message_ids:
        raise Unreadable("message_id: there is no such message")
