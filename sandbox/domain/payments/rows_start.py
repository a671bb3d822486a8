"""How a payment begins, as rows. Source: assumed I1 to I10."""

from typing import Final

from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.rows import AS_ANSWERED, Transition

_SALE, _AUTH = Operation.SALE, Operation.AUTH

INITIATION: Final[tuple[Transition, ...]] = (
    *(
        row
        for operation, event in ((_SALE, "transaction.sale"), (_AUTH, "transaction.authorize"))
        for row in (
            Transition(
                id="I10",
                trigger=operation,
                when="misconfigured",
                head="error",
                shown_status="error",
                reason="invalid_terminal",
                ledger="all 0",
                event=event,
            ),
            Transition(
                id="I7",
                trigger=operation,
                when="passthrough or kept pending",
                head="pending",
                shown_status="pending",
                reason="pending",
                ledger="all 0",
            ),
            Transition(
                id="I6",
                trigger=operation,
                when="canceled at the reader",
                answer="failed",
                head="canceled",
                shown_status="canceled",
                reason=AS_ANSWERED,
                ledger="all 0",
                event="transaction.cancel",
            ),
            Transition(
                id="I4",
                trigger=operation,
                when="declined",
                answer="failed",
                head="declined",
                shown_status="declined",
                reason=AS_ANSWERED,
                ledger="all 0",
                event=event,
            ),
            Transition(
                id="I5",
                trigger=operation,
                when="host failure",
                answer="failed",
                head="error",
                shown_status="error",
                reason=AS_ANSWERED,
                ledger="all 0",
                event=event,
            ),
        )
    ),
    Transition(
        id="I3",
        trigger=_SALE,
        when="approved in part",
        answer="approved",
        head="captured",
        shown_status="captured",
        reason="partial_approval",
        ledger="A = C = the approved part",
        event="transaction.sale",
        batch_entry="capture",
    ),
    Transition(
        id="I2",
        trigger=_SALE,
        when="surcharge to be confirmed",
        answer="approved",
        head="surcharge_pending",
        shown_status="surcharge_pending",
        ledger="A = total without surcharge; C = 0",
        event="transaction.sale",
    ),
    Transition(
        id="I1",
        trigger=_SALE,
        answer="approved",
        head="captured",
        shown_status="captured",
        ledger="A = C = total",
        event="transaction.sale",
        batch_entry="capture",
    ),
    Transition(
        id="I9",
        trigger=_AUTH,
        when="approved in part",
        answer="approved",
        head="authorized",
        shown_status="authorized",
        reason="partial_approval",
        ledger="A = the approved part",
        event="transaction.authorize",
    ),
    Transition(
        id="I8",
        trigger=_AUTH,
        answer="approved",
        head="authorized",
        shown_status="authorized",
        ledger="A = total",
        event="transaction.authorize",
    ),
)
