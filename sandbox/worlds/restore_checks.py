"""Checks of the documents that are not records, because people can edit them.

Every check raises ValueError with the field and its rule, and never repeats a value.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from pydantic_core import from_json

from sandbox.domain.batches import TIME_PATTERN, BatchSchedule, batch_schedule
from sandbox.domain.clock import BATCH_CLOSES, EARLIEST, LATEST, TIMER_KINDS, Timer
from sandbox.domain.events import EVENTS, Message
from sandbox.domain.field_types import Percent, SurchargeBasis, TaxBasis
from sandbox.domain.instants import to_ms
from sandbox.domain.payments.outcomes import OUTCOMES, SETTLEMENTS
from sandbox.domain.payments.transactions import (
    STATUS_REASONS,
    STATUSES,
    TRANSACTION_TYPES,
    Attempt,
    Rates,
    Transaction,
)
from sandbox.store.documents import Unreadable, from_document


def check_timer(timer: Timer) -> None:
    """A timer that is about to be set."""
    if timer.kind not in TIMER_KINDS:
        raise Unreadable(f"kind: must be one of {', '.join(sorted(TIMER_KINDS))}")
    if timer.kind == "late_answer" and timer.detail not in OUTCOMES:
        raise Unreadable("detail: must be a known outcome")
    if timer.kind == BATCH_CLOSES:
        _check_schedule(timer.detail)


def _check_schedule(detail: str) -> None:
    """The schedule that a timer carries. Source: assumed B16."""
    try:
        found = from_document(BatchSchedule, from_json(detail))
        if not found.times or not all(re.match(TIME_PATTERN, one) for one in found.times):
            raise ValueError("times: must be local times, as 23:30")
        if found != batch_schedule(found.times, found.days, found.zone):
            raise ValueError("must name each time and day once, in their order")
    except ValueError as error:
        raise Unreadable(f"detail: {error}") from None


_RATE_TYPES: Final[Mapping[str, Any]] = {
    "tax_rate": Percent,
    "tax_basis": TaxBasis,
    "surcharge_rate": Percent,
    "surcharge_basis": SurchargeBasis,
}


def check_payment(tx: Transaction) -> None:
    """A payment: every word of ours is one of those there are."""
    _check_attempt(tx)
    for attempt in tx.history:
        try:
            _check_attempt(attempt)
        except Unreadable as error:
            raise Unreadable(f"history.{error}") from None
    _check_known("tip_type", tx.tip_type, ("fixed", "percentage"))
    _check_rates(tx.rates)
    if tx.settlement is not None:
        _check_known("settlement", tx.settlement, SETTLEMENTS)
    if tx.armed is not None:
        _check_known("armed", tx.armed[1], OUTCOMES)
    if not tx.history:
        raise Unreadable("history: has no attempt")
    _check_moment("origin.created_at", tx.origin.created_at)


def _check_attempt(one: Transaction | Attempt) -> None:
    _check_known("status", one.status, STATUSES)
    _check_known("status_reason", one.status_reason, STATUS_REASONS)
    _check_known("transaction_type", one.transaction_type, TRANSACTION_TYPES)
    if isinstance(one, Attempt):
        _check_moment("created_at", one.created_at)


def _check_rates(rates: Rates) -> None:
    """The rates of a payment, by the rules of the accounts, terminals and locations they are of."""
    for name, kind in _RATE_TYPES.items():
        value = getattr(rates, name)
        if value is not None:
            try:
                from_document(kind, value)
            except ValueError as error:
                raise Unreadable(f"rates.{name}: {error}") from None


def _check_known(name: str, word: str, known: Collection[str]) -> None:
    if word not in known:
        raise Unreadable(f"{name}: must be one of {', '.join(known)}")


def _check_moment(name: str, at: int) -> None:
    if not to_ms(EARLIEST) <= at <= to_ms(LATEST):
        raise Unreadable(f"{name}: must be from {EARLIEST.year} to {LATEST.year}")


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
