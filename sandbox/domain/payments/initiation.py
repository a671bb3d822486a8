"""The initiation of a payment: the new record, and the effect of the processor's answer on it.

Applies the rows I1 to I10 of `transitions`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.payments.amounts import Amounts, Ledger
from sandbox.domain.payments.outcomes import (
    AFTER_PROMPT,
    APPROVED,
    HELD,
    PARTIAL,
    Operation,
    Outcome,
    Verdict,
)
from sandbox.domain.payments.pricing import Price
from sandbox.domain.payments.transactions import Origin, Transaction, with_attempt
from sandbox.domain.payments.transitions import (
    AS_ANSWERED,
    Conclusion,
    Transition,
    gateway_id,
    host_answer,
    transitions_from,
)


def created(
    origin: Origin,
    price: Price,
    event_id: str,
    *,
    armed: tuple[Operation, str, int] | None = None,
    settlement: str | None = None,
) -> Transaction:
    """The record at its creation: pending, in no batch. Source: spec 6.3-transaction.create.

    It leaves out a surcharge that is still to be confirmed (assumed D12).
    """
    amounts = price.amounts.without_surcharge() if price.needs_prompt else price.amounts
    tx = Transaction(
        origin=origin,
        event_id=event_id,
        transaction_type=origin.operation.value,
        status="pending",
        status_reason="pending",
        amounts=amounts,
        rates=price.rates,
        surcharge_applied=amounts.surcharge > 0,
        tip_type=price.tip_type,
        tip_capture_mode="sale" if amounts.tip else None,
        armed=armed,
        settlement=settlement,
    )
    return with_attempt(tx, amounts.total, origin.created_at)


class Start(Struct, frozen=True, kw_only=True, gc=False):
    """The facts that decide the row of an initiation.

    `outcome` is None if no processor answered. `approved_amount` is the issuer's maximum;
    `shows_approved` is whether a partial approval shows that amount as its total.
    """

    tx: Transaction
    price: Price
    outcome: Outcome | None
    is_passthrough: bool = False
    is_misconfigured: bool = False
    approved_amount: int | None = None
    shows_approved: bool = False

    @property
    def approved_part(self) -> int | None:
        """The amount of a partial approval; None if everything was approved."""
        if self.outcome is not PARTIAL:
            return None
        return part_of(self.tx.amounts.total, self.approved_amount)


def part_of(total: int, approved_amount: int | None) -> int | None:
    """The part of the total that is approved; None if that is all of it.

    Half by default, rounded down (assumed 2.7), and never zero.
    """
    part = approved_amount or total // 2
    return part if 0 < part < total else None


def answered_late(tx: Transaction, outcome: Outcome) -> Start:
    """An initiation whose answer comes after its request. Source: assumed D24.

    The surcharge can no longer be confirmed, so it is not charged.
    """
    amounts = tx.amounts.without_surcharge() if not tx.surcharge_applied else tx.amounts
    return Start(
        tx=tx,
        price=Price(amounts=amounts, rates=tx.rates, tip_type=tx.tip_type, needs_prompt=False),
        outcome=outcome,
    )


def _has_verdict(verdict: Verdict) -> Callable[[Start], bool]:
    return lambda start: start.outcome is not None and start.outcome.verdict is verdict


def _asks_the_payer(start: Start) -> bool:
    assert start.outcome
    return start.price.needs_prompt and start.outcome is not PARTIAL


CONDITIONS: Final[Mapping[str, Callable[[Start], bool]]] = {
    "": lambda start: True,
    "misconfigured": lambda start: start.is_misconfigured,
    "passthrough": lambda start: start.is_passthrough,
    "left pending": _has_verdict(Verdict.PENDING),
    "canceled at the reader": _has_verdict(Verdict.CANCELED),
    "declined": _has_verdict(Verdict.DECLINED),
    "timed out with a hold": lambda start: start.outcome is HELD,
    "host failure": _has_verdict(Verdict.ERROR),
    "approved in part": lambda start: start.approved_part is not None,
    "surcharge to be confirmed": _asks_the_payer,
}
"""The words under `when` in the rows of an initiation."""


def transition_for(start: Start) -> Transition:
    """The row that this initiation takes."""
    if start.outcome is APPROVED and not (
        start.price.needs_prompt or start.is_passthrough or start.is_misconfigured
    ):
        # Most initiations: no condition holds.
        return _APPROVED[start.tx.origin.operation]
    for row, applies in _ROWS[start.tx.origin.operation]:
        if applies(start):
            return row
    raise AssertionError(f"no row for {start.tx.origin.operation}")


_ROWS: Final = {
    operation: [(row, CONDITIONS[row.when]) for row in transitions_from(operation)]
    for operation in (Operation.SALE, Operation.AUTH)
}


_APPROVED: Final = {
    operation: next(row for row, _ in rows if not row.when) for operation, rows in _ROWS.items()
}


def resolves_prompt(start: Start) -> bool:
    """Whether the prompt is shown and answered within the request. Source: assumed 5.2-prompt."""
    return (
        start.outcome is not None
        and start.outcome.key in AFTER_PROMPT
        and start.price.needs_prompt
        and start.tx.origin.operation is Operation.SALE
    )


def conclude(
    start: Start, taken: Transition, *, at: int, batch_id: str | None = None
) -> Conclusion:
    """The payment after the processor's answer; `at` is in Unix milliseconds.

    `taken` is the row of `transition_for`; `batch_id` is the batch of a capture entry. A
    payment that stays pending adds nothing to the history: it is one attempt with its creation
    (assumed D11, D17).
    """
    tx, outcome = start.tx, start.outcome
    if taken.is_told_later:
        # The outcome is reported later, through an edit (spec 4.3-search-edit).
        return Conclusion(taken=taken, record=tx, shown=tx)
    reason = taken.reason
    if reason == AS_ANSWERED:
        assert outcome
        reason = outcome.status_reason
    with_id = outcome is not None and outcome.has_gateway_id
    host_id = gateway_id(tx.origin.transaction_id) if with_id else None
    answer = host_answer(outcome, tx.event_id)
    amounts, ledger, is_partial = _money(start, taken)
    after = replace(
        tx,
        status=taken.next_status,
        status_reason=reason,
        amounts=amounts,
        ledger=ledger,
        surcharge_applied=tx.surcharge_applied and amounts.surcharge > 0,
        gateway_transaction_id=host_id,
        answer=answer,
        batch_id=batch_id,
        is_partial=is_partial,
    )
    if taken.event is None:
        return Conclusion(taken=taken, record=after, shown=after)
    after = with_attempt(after, amounts.total, at, batch_id=batch_id)
    return Conclusion(taken=taken, record=after, shown=after, events=((taken.event, after),))


def _money(start: Start, taken: Transition) -> tuple[Amounts, Ledger, bool]:
    """Amounts, ledger, and whether the approval is partial, as the row says."""
    tx = start.tx
    if taken.money == "proposed":
        return start.price.amounts, Ledger(authorized=tx.amounts.total), False
    if taken.money == "unchanged":
        return tx.amounts, tx.ledger, False
    part = start.approved_part
    approved = tx.amounts.total if part is None else part
    captured = approved if taken.money == "captured" else 0
    ledger = Ledger(authorized=approved, captured=captured)
    if part is not None and start.shows_approved:
        # Source: assumed D35-partial-approval.
        return tx.amounts.scaled_to(part), ledger, False
    return tx.amounts, ledger, part is not None


def prompt_and_resolve(start: Start, at: int) -> Conclusion:
    """The prompt is shown, and then declined or left to expire. Source: assumed 5.2-prompt.

    Three events in all: the creation, the sale that waits, the cancellation.
    """
    assert start.outcome
    asking = replace(start, outcome=APPROVED)
    shown = conclude(asking, transition_for(asking), at=at)
    waiting = shown.record
    back = waiting.amounts.without_surcharge()
    canceled = replace(
        waiting,
        status="canceled",
        status_reason=start.outcome.status_reason,
        amounts=back,
        answer=None,
    )
    canceled = with_attempt(canceled, back.total, at)
    events = (*shown.events, ("transaction.cancel", canceled))
    return Conclusion(taken=transition_for(start), record=canceled, shown=canceled, events=events)
