"""Rows of payments and of the actions on them.

Source: spec 4.4-paths-payments, 4.4-paths-actions, 4.4-paths-refunds; details assumed 1.8. Every
action is served under /v1 and /v3 alike (spec 9.4).
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from sandbox.domain.access import need
from sandbox.domain.directory import Location, Terminal
from sandbox.domain.faults import DUPLICATE_EVENT, Fault
from sandbox.domain.payments.cards import READER_FIELD
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transaction_view import TransactionView
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.payments.transitions import TRANSITIONS
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.payments import actions, bodies, initiation
from sandbox.platform.rows import Row, Shape, Target

_WHERE: Final = Target(
    where="body",
    name="terminal_id",
    kind=Terminal,
    others=(
        Target(
            where="body",
            name="location_id",
            kind=Location,
            # As clients write it, in the reader's data or beside it: assumed D27.
            aliases=(("locationID",), (READER_FIELD, "locationID")),
        ),
        Target(where="body", name="account_id"),
    ),
)
_PAYMENT: Final = Target(where="path", name="id", kind=Transaction)


def _refusals(operation: Operation) -> tuple[Fault, ...]:
    """The refusals of the operation's rows, and of a repeated event_id (assumed F38)."""
    found = [row.fault for row in TRANSITIONS if row.trigger == operation and row.fault is not None]
    return tuple(dict.fromkeys((DUPLICATE_EVENT, *found)))


def _start(
    name: str,
    path: str,
    summary: str,
    run: Callable[[OperationContext], Any],
    events: tuple[str, ...],
) -> Row:
    return Row(
        name=name,
        method="POST",
        path=path,
        summary=summary,
        source="spec 4.4-paths-payments",
        need=need("payments:tap-ios", "payments:tap-android"),
        narrow=initiation.need_to_tap,
        target=_WHERE,
        run=run,
        body=lambda _: bodies.StartPayment,
        response=TransactionView,
        events=("transaction.create", "batch.opened", *events, "transaction.cancel"),
        stops_at_block=True,
        attempts=Operation.SALE,
        refuses=(DUPLICATE_EVENT,),
    )


def _action(
    operation: Operation,
    name: str,
    segment: str,
    summary: str,
    permission: str,
    run: Callable[[OperationContext], Any],
    body: Shape,
    *events: str,
) -> Iterator[Row]:
    """The action under both versions; the newer one has the plain name."""
    for version, suffix in (("v3", ""), ("v1", "_v1")):
        yield Row(
            name=f"payments.{name}{suffix}",
            method="POST",
            path=f"/{version}/payments/{{id}}/{segment}",
            summary=summary,
            source="spec 4.4-paths-actions",
            need=need(permission),
            target=_PAYMENT,
            run=run,
            body=body,
            response=TransactionView,
            events=events,
            stops_at_block=True,
            attempts=operation,
            refuses=_refusals(operation),
        )


ROWS: Final[tuple[Row, ...]] = (
    _start(
        "payments.create",
        "/v3/payment",
        "Take a payment",
        initiation.pay,
        ("transaction.sale", "transaction.authorize"),
    ),
    _start(
        "payments.preauth",
        "/v3/preauth",
        "Authorize a payment, to be captured later",
        initiation.preauthorize,
        ("transaction.authorize",),
    ),
    *_action(
        Operation.CAPTURE,
        "capture",
        "capture",
        "Capture an authorization",
        "payments:capture",
        actions.capture,
        lambda _: bodies.Capture,
        "batch.opened",
        "transaction.capture",
    ),
    *_action(
        Operation.INCREMENT,
        "increment",
        "auth",
        "Add to an authorization",
        "payments:incremental-auth",
        actions.increment,
        lambda _: bodies.Increment,
        "transaction.increment",
    ),
    *_action(
        Operation.REVERSE,
        "reverse",
        "reverse",
        "Reverse a payment before settlement",
        "payments:void",
        actions.reverse,
        lambda _: bodies.Reverse,
        "transaction.reverse",
        "transaction.cancel",
    ),
    *_action(
        Operation.ADJUST,
        "adjust",
        "adjust",
        "Adjust the tip of a captured payment",
        "payments:tipadjust",
        actions.adjust,
        lambda _: bodies.Adjust,
        "transaction.tip_adjust",
    ),
    *_action(
        Operation.REFUND,
        "refund",
        "refund",
        "Refund a payment",
        "payments:refund",
        actions.refund,
        lambda _: bodies.Refund,
        "batch.opened",
        "transaction.refund",
    ),
    *_action(
        Operation.CONFIRM,
        "confirm",
        "confirm",
        "Tell the cardholder's answer to a surcharge",
        "payments:confirm",
        actions.confirm,
        lambda _: bodies.Confirm,
        "batch.opened",
        "transaction.sale",
        "transaction.cancel",
    ),
    Row(
        name="refunds.create",
        method="POST",
        path="/v3/refund",
        summary="Refund a payment, named in the body",
        source="spec 4.4-paths-refunds",
        need=need("payments:refund"),
        target=Target(where="body", name="transaction_id", kind=Transaction, is_required=True),
        run=actions.refund,
        body=lambda _: bodies.StandaloneRefund,
        response=TransactionView,
        events=("batch.opened", "transaction.refund"),
        stops_at_block=True,
        attempts=Operation.REFUND,
        refuses=_refusals(Operation.REFUND),
    ),
)
