"""The initiation of a payment: the effect of the processor's answer on a new record.

Applies the rows I1 to I10 of `transitions`.
"""

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.payments import outcomes, transitions
from sandbox.domain.payments.amounts import Amounts, Ledger
from sandbox.domain.payments.outcomes import APPROVED, PARTIAL, Operation, Outcome
from sandbox.domain.payments.pricing import Price
from sandbox.domain.payments.transactions import Payment, change, with_attempt
from sandbox.domain.payments.transitions import Conclusion, Transition


class Start(Struct, frozen=True, kw_only=True, gc=False):
    """The facts that decide the row of an initiation.

    `outcome` is None if no processor answers, at a passthrough terminal. `approved_amount` is the
    issuer's maximum; `should_show_approved` is whether a partial approval shows that amount as its
    total.
    """

    payment: Payment
    price: Price
    outcome: Outcome | None
    is_misconfigured: bool = False
    approved_amount: int | None = None
    should_show_approved: bool = False

    @property
    def approved_part(self) -> int | None:
        """The amount of a partial approval; None if everything was approved."""
        if self.outcome is not PARTIAL:
            return None
        return part_of(self.payment.transaction.total_amount, self.approved_amount)


def part_of(total: int, approved_amount: int | None) -> int | None:
    """Return the part of the total that is approved; None if that is all of it.

    Half by default, rounded down (assumed 2.7), and never zero.
    """
    part = approved_amount or total // 2
    return part if 0 < part < total else None


def answered_late(payment: Payment, outcome: Outcome) -> Start:
    """Return an initiation that is answered after its request ended. Source: assumed D24.

    Its price is the one that it has: a surcharge that was only proposed is not charged.
    """
    return Start(payment=payment, price=Price(amounts=payment.amounts), outcome=outcome)


def _conditions(start: Start) -> dict[str, bool]:
    """Return the conditions under `when` in the rows of an initiation, and whether they hold."""
    outcome = start.outcome
    verdict = None if outcome is None else outcome.verdict
    return {
        "": True,
        "misconfigured": start.is_misconfigured,
        "passthrough": outcome is None,
        "left pending": verdict == "pending",
        "canceled at the reader": verdict == "canceled",
        "declined": verdict == "declined",
        "timed out with a hold": outcome is outcomes.HELD,
        "host failure": verdict == "error",
        "approved in part": start.approved_part is not None,
        "surcharge to be confirmed": start.price.needs_prompt and outcome is not PARTIAL,
    }


def transition_for(start: Start) -> Transition:
    """Return the row that this initiation takes."""
    holds = _conditions(start)
    rows = transitions.transitions_from(start.payment.operation)
    return next(row for row in rows if holds[row.when])


def should_resolve_prompt(start: Start) -> bool:
    """Whether the prompt is shown and answered within the request. Source: assumed 5.2-prompt."""
    return (
        start.outcome is not None
        and start.outcome.key in outcomes.AFTER_PROMPT
        and start.price.needs_prompt
        and start.payment.operation is Operation.SALE
    )


def conclude(
    start: Start, taken: Transition, *, at: int, batch_id: str | None = None
) -> Conclusion:
    """Return the payment after the processor's answer; `at` is in Unix milliseconds.

    `taken` is the row of `transition_for`; `batch_id` is the batch of a capture entry. A payment
    that stays pending adds nothing to the history: it is still the attempt that created it (assumed
    D11, D17).
    """
    payment, outcome = start.payment, start.outcome
    if taken.when == "passthrough":
        # The outcome is reported later, through an edit (spec 4.3-search-edit).
        return Conclusion.announcing(taken, payment)
    reason = taken.reason
    if reason == transitions.AS_ANSWERED:
        assert outcome
        reason = outcome.status_reason
    with_id = outcome is not None and outcome.has_gateway_id
    amounts, ledger, is_partial = _money(start, taken)
    after = change(
        payment,
        amounts=amounts,
        ledger=ledger,
        is_partial=is_partial,
        status=taken.next_status,
        status_reason=reason,
        gateway_transaction_id=transitions.gateway_id(payment.id) if with_id else None,
        answer=transitions.host_answer(outcome, payment.transaction.event_id),
        batch_id=batch_id,
    )
    if taken.event is not None:
        after = with_attempt(after, after.transaction.total_amount, at, batch_id=batch_id)
    return Conclusion.announcing(taken, after)


def _money(start: Start, taken: Transition) -> tuple[Amounts | None, Ledger | None, bool | None]:
    """Return the row's effect: amounts, ledger, and whether the approval is partial.

    What the row leaves unchanged is None.
    """
    total = start.payment.transaction.total_amount
    if taken.money == "proposed":
        return start.price.amounts, Ledger(authorized=total), None
    if taken.money == "unchanged":
        return None, None, None
    part = start.approved_part
    approved = total if part is None else part
    ledger = Ledger(authorized=approved, captured=approved if taken.money == "captured" else 0)
    if part is not None and start.should_show_approved:
        # Source: assumed D35-partial-approval.
        return start.payment.amounts.scaled_to(part), ledger, None
    return None, ledger, part is not None


def prompt_and_resolve(start: Start, at: int) -> Conclusion:
    """Show the prompt, which is then declined or expires.

    There are three events: the creation, the waiting sale, the cancellation. Source: assumed
    5.2-prompt.
    """
    assert start.outcome
    asking = replace(start, outcome=APPROVED)
    shown = conclude(asking, transition_for(asking), at=at)
    taken = replace(transition_for(start), reason=start.outcome.status_reason)
    event_id = shown.record.transaction.event_id
    canceled = transitions.release(shown.record, taken, event_id=event_id, at=at)
    return replace(canceled, events=(*shown.events, *canceled.events))
