"""Transactions: search, detail, history and the reserved edit.

Source: spec 4.3-search; details assumed 1.7.
"""

from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, cast

from msgspec.structs import replace
from pydantic import Field, create_model

from sandbox.domain import faults
from sandbox.domain.access import need
from sandbox.domain.directory import PASSTHROUGH, relate_to_its_records
from sandbox.domain.faults import Refusal
from sandbox.domain.field_types import Amount, PositiveAmount, Text
from sandbox.domain.payments import edits
from sandbox.domain.payments.transactions import (
    STATUS_REASONS,
    STATUSES,
    TRANSACTION_TYPES,
    Attempt,
    Payment,
    Transaction,
)
from sandbox.domain.permissions import PAYMENT_WRITES
from sandbox.domain.profile import Profile
from sandbox.domain.text import OneOf
from sandbox.platform import lists, settlement
from sandbox.platform.context import OperationContext
from sandbox.platform.fields import IN_DIGITS, Body, Offset, PageQuery, Query, WholeNumber
from sandbox.platform.lists import all_known
from sandbox.platform.operation import ACCOUNT_IN_QUERY, Example, Row, Target, listing, operation
from sandbox.platform.payments import attempts, conclusions
from sandbox.platform.payments.bodies import BreakdownBody, example_of_sale, parts_of
from sandbox.platform.payments.points_of_sale import invalid
from sandbox.platform.routing import register
from sandbox.store.tables import Order

MOMENT_MS_MAX = 253_402_300_799_999
"""The end of the year 9999."""

Moment = Annotated[int, Field(ge=0, le=MOMENT_MS_MAX), IN_DIGITS]


class SearchTransactions(PageQuery):
    """Which transactions, and in which order. The profile names the dates.

    `repeatable` parameters may be sent several times; a transaction matches any of their values.
    """

    repeatable: ClassVar[frozenset[str]] = frozenset({"account_id", "status", "transaction_type"})

    account_id: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    status: Annotated[list[Annotated[str, OneOf(STATUSES)]], all_known(STATUSES)] = Field(
        default_factory=list
    )
    transaction_type: Annotated[
        list[Annotated[str, OneOf(TRANSACTION_TYPES)]], all_known(TRANSACTION_TYPES)
    ] = Field(default_factory=list)
    min_amount: WholeNumber | None = None
    max_amount: WholeNumber | None = None
    start_ms: Moment | None = None
    end_ms: Moment | None = None
    event_id: str | None = None
    batch_id: str | None = None
    location_id: str | None = None
    terminal_id: str | None = None
    tid: str | None = None
    mid: str | None = None
    processor_mid: str | None = None
    processor_tid: str | None = None
    owner_id: str | None = None
    card_brand: str | None = None
    card_number: Annotated[str, Field(pattern=r"^[0-9]{4}$|^[0-9]{6}\**[0-9]{0,4}$")] | None = None
    payment_method: str | None = None
    reader_identifier: str | None = None
    gateway_transaction_id: str | None = None
    transaction_id: str | None = None
    search_term: str | None = None
    sort_by: Literal["created_at", "total_amount"] = "created_at"
    sort_order: Literal["asc", "desc"] = "desc"


@cache
def search_query(profile: Profile) -> type[SearchTransactions]:
    """Return the search query for a profile, which names the date filters.

    Source: assumed 1.7-dates.
    """
    names = profile.date_filters
    return create_model(
        "SearchTransactions",
        __base__=SearchTransactions,
        start_ms=(Moment | None, Field(default=None, validation_alias=names.start)),
        end_ms=(Moment | None, Field(default=None, validation_alias=names.end)),
    )


class ListTransactions(Query):
    """The older list, which remains available. Source: spec 4.3-search-v1; assumed 1.7-v1."""

    mid: str | None = None
    tid: str | None = None
    location_id: str | None = None
    account_id: str | None = None
    event_id: str | None = None
    reader_identifier: str | None = None
    gateway_transaction_id: str | None = None
    # Source: spec 9.6; the maximum assumed D20.
    limit: Annotated[int, Field(ge=1, le=500), IN_DIGITS] = 100
    offset: Offset = 0


EditableStatus = Literal[
    "pending", "authorized", "captured", "refunded", "reversed", "declined", "error", "canceled"
]


class EditTransaction(Body):
    """The body that edits a passthrough transaction; null changes nothing (assumed 1.7-edit).

    Only a batch settles a payment, and no payment becomes pending again.
    """

    authorized_amount: PositiveAmount | None = None
    breakdown: BreakdownBody | None = None
    refunded: Amount | None = None
    reversed: Amount | None = None
    status: EditableStatus | None = None
    status_reason: Annotated[Text, OneOf(STATUS_REASONS), all_known(STATUS_REASONS)] | None = None


_READ: Final = need("payments:read")

_ONE: Final = Target("path", "transaction_id", Payment, relate=relate_to_its_records)


@operation(
    "transactions.search",
    "GET",
    "/v2/transactions",
    needs=_READ,
    target=replace(ACCOUNT_IN_QUERY, is_repeatable=True),
    query=search_query,
    response=listing("transactions", Transaction),
    source="spec 4.3-search",
)
def search(context: OperationContext, query: SearchTransactions) -> Any:
    """Search transactions.

    Filters compare the current record (assumed 1.7-values); an event_id matches every attempt
    of the payment, so a client can look up its result (assumed 2.6).
    Source: spec 4.3-search-scope, 4.3-search-account.
    """
    where = lists.conditions_of(context, {})
    if query.account_id:
        where["scope"] = query.account_id
    if terminals := {where.pop(name) for name in ("terminal_id", "tid") if name in where}:
        # No transaction belongs to two terminals.
        where["terminal_id"] = terminals if len(terminals) == 1 else ()
    order = Order(
        "" if query.sort_by == "created_at" else query.sort_by, query.sort_order == "desc"
    )
    return lists.page_of(context, Payment, "transactions", where, order=order)


@operation(
    "transactions.list",
    "GET",
    "/v1/transactions",
    needs=_READ,
    target=ACCOUNT_IN_QUERY,
    response=list[Transaction],
    source="spec 4.3-search-v1",
)
def list_all(context: OperationContext, query: ListTransactions) -> list[Payment]:
    """List transactions, the older way. Source: spec 4.3-search-v1; assumed 1.7-v1."""
    where = lists.conditions_of(context, {"tid": "terminal_id"})
    rows, _ = context.unit.find(Payment, where, limit=query.limit, offset=query.offset)
    return rows


register(
    __name__,
    Row(
        name="transactions.retired_search",
        method="POST",
        path="/v1/transactions/search",
        summary="Retired search, replaced by GET /v2/transactions",
        source="spec 4.3-search-retired",
    ),
)


@operation(
    "transactions.read",
    "GET",
    "/v1/transactions/{transaction_id}",
    needs=_READ,
    target=_ONE,
    source="spec 4.3-search-v1",
    response=Transaction,
)
def read(context: OperationContext, payment: Payment) -> Payment:
    """Read a transaction with its history."""
    return payment


@operation(
    "transactions.history",
    "GET",
    "/v1/transactions/{transaction_id}/history",
    needs=_READ,
    target=_ONE,
    source="assumed 1.7-history",
)
def history(context: OperationContext, payment: Payment) -> tuple[Attempt, ...]:
    """Read the attempts of a transaction. Source: assumed 1.7-history, 2.10."""
    return payment.history


def must_be_passthrough(context: OperationContext) -> None:
    """Raise Refusal if the processor is managed directly, before the body is checked.

    Source: spec 4.3-search-edit; the order assumed 1.7-edit-order.
    """
    payment = cast(Payment, context.record)
    if payment.transaction.processor != PASSTHROUGH:
        raise Refusal(
            faults.PERMISSION_DENIED,
            "this edit is reserved for passthrough processors",
            reason=f"the processor is {payment.transaction.processor}, which is managed directly",
            source="spec 4.3-search-edit",
            step="rule",
        )


@operation(
    "transactions.edit",
    "PUT",
    "/v1/transactions/{transaction_id}",
    needs=need(*PAYMENT_WRITES),
    target=Target("path", "transaction_id", Payment),
    needs_besides=tuple(edits.PERMISSIONS.items()),
    may=must_be_passthrough,
    response=Transaction,
    events=(
        "transaction.authorize",
        "transaction.sale",
        "transaction.capture",
        "transaction.refund",
        "transaction.reverse",
        "transaction.cancel",
        "batch.opened",
    ),
    refuses=(faults.INVALID_TRANSACTION_STATE,),
    source="spec 4.3-search-edit",
    example=Example(
        by="partner",
        body={"status": "captured"},
        first=Example(
            operation="payments.create", by="partner", body=example_of_sale("passthrough_merchant")
        ),
    ),
)
def edit(context: OperationContext, payment: Payment, body: EditTransaction) -> Payment:
    """Reserved: report the outcome of a passthrough transaction.

    The processor reports it afterwards. Source: assumed F8.
    """
    # By a reading it shows refunded after a part of it, and more can be refunded.
    can_be_refunded = (
        payment.status == "refunded"
        and payment.ledger.refundable > 0
        and body.status in (None, "refunded")
    )
    is_final = payment.status not in edits.EDITABLE and not can_be_refunded
    if is_final or settlement.is_closed(context, payment.batch_id):
        why = f"its status is {payment.status}" if is_final else "its batch was closed"
        raise Refusal(
            faults.INVALID_TRANSACTION_STATE,
            f"Its status is {payment.status}.",
            reason=f"no outcome can be reported for the payment: {why}",
            source="assumed F8",
            step="rule",
        )
    wanted = edits.Edit(**dict(body) | {"breakdown": parts_of(context, body.breakdown)})
    for permission in edits.needed(payment, wanted):
        if permission not in context.known_caller.grants:
            raise Refusal(
                faults.PERMISSION_DENIED,
                f"requires {permission}",
                reason=f"the edit reports what {permission} allows, which the key does not hold",
                source="assumed D37",
                step="rule",
            )
    for step in edits.steps_of(payment, wanted):
        payment = _take(context, payment, step)
    return payment


def _take(context: OperationContext, payment: Payment, step: edits.Edit) -> Payment:
    """Carry out one step of an edit. While the outcome is open, it is not an attempt."""
    try:
        after = edits.edited(payment, step, context.world.readings)
    except ValueError as error:
        raise invalid(str(error), "assumed F8") from None
    if after == payment:
        return payment
    if after.status == "pending":
        context.unit.put(after)
        settlement.count(context, payment, after)
        return after
    captures = after.ledger.captured > 0 and after.status != "reversed"
    refunds = after.ledger.refunded > payment.ledger.refunded
    new_id = None
    if (captures and payment.batch_id is None) or refunds:
        new_id = settlement.batch_for_entry(context, payment).id
    conclusion = edits.conclude(
        payment,
        after,
        event_id=attempts.new_event_id(context, payment.account_id),
        at=context.now_ms,
        capture_batch_id=(payment.batch_id or new_id) if captures else None,
        refund_batch_id=new_id if refunds else None,
    )
    return conclusions.save(context, conclusion, payment).record
