"""Search, detail, history and the reserved edit. Source: spec 4.3-search; details assumed 1.7."""

from typing import TYPE_CHECKING, Any, cast

from sandbox.domain.batches import Batch
from sandbox.domain.directory import PASSTHROUGH
from sandbox.domain.faults import (
    INVALID_TRANSACTION_STATE,
    PERMISSION_DENIED,
    VALIDATION_ERROR,
    Refusal,
)
from sandbox.domain.payments import edits
from sandbox.domain.payments.transaction_view import history_of
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.readings import STATUS_AFTER_PARTIAL_REFUND
from sandbox.domain.records import Page
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.payments import attempts, persist
from sandbox.platform.scopes import one_or_many, scopes_of
from sandbox.store.queries import Order

if TYPE_CHECKING:
    from sandbox.platform.transactions.bodies import (
        EditTransaction,
        ListTransactions,
        SearchTransactions,
    )

_EXACT = (
    "event_id",
    "batch_id",
    "location_id",
    "mid",
    "processor_mid",
    "processor_tid",
    "owner_id",
    "card_brand",
    "payment_method",
    "reader_identifier",
    "gateway_transaction_id",
    "transaction_id",
)
"""Parameters that are the names of indexes."""

_FILTERS = ("min_amount", "max_amount", "card_number", "search_term")
"""Parameters that are the names of filters."""


def search(context: OperationContext) -> Page:
    """Transactions of the accounts that the query names, or of the caller's hierarchy.

    Filters compare the current record (assumed 1.7-values); an event_id matches every attempt
    of the payment, so a client can look up its result (assumed 2.6).
    Source: spec 4.3-search-scope, 4.3-search-account.
    """
    query: SearchTransactions = context.query
    scopes = list(dict.fromkeys(query.account_id)) or scopes_of(context)
    where = _scoped(scopes, query)
    for name in (*_EXACT, *_FILTERS):
        if (value := getattr(query, name)) is not None:
            where[name] = value
    terminal_ids = {one for one in (query.terminal_id, query.tid) if one is not None}
    if len(terminal_ids) == 1:
        where["terminal_id"] = terminal_ids.pop()
    elif terminal_ids:
        where["terminal_id"] = ()  # two different terminals: nothing is of both
    order = Order(
        "" if query.sort_by == "created_at" else query.sort_by, query.sort_order == "desc"
    )
    rows, total = context.unit.find(
        Transaction,
        where,
        limit=query.limit,
        offset=query.offset,
        between=(query.start_ms, query.end_ms),
        order=order,
    )
    return Page(
        plural="transactions", rows=rows, total=total, limit=query.limit, offset=query.offset
    )


def _scoped(scopes: list[str], query: "SearchTransactions") -> dict[str, Any]:
    """The conditions on account, status and type."""
    where: dict[str, Any] = {"scope": one_or_many(scopes)}
    for name in ("status", "transaction_type"):
        if wanted := getattr(query, name):
            where[name] = wanted
    return where


def list_all(context: OperationContext) -> list[Transaction]:
    """The older list, a bare array. Source: spec 4.3-search-v1; assumed 1.7-v1."""
    query: ListTransactions = context.query
    where: dict[str, Any] = {"scope": one_or_many(scopes_of(context))}
    for name in _EXACT:
        if (value := getattr(query, name, None)) is not None:
            where[name] = value
    if query.tid is not None:
        where["terminal_id"] = query.tid
    rows, _ = context.unit.find(Transaction, where, limit=query.limit, offset=query.offset)
    return rows


def history(context: OperationContext) -> bytes:
    """Every attempt, oldest first. Source: assumed 1.7-history, 2.10."""
    return history_of(cast(Transaction, context.record))


# --- edit -------------------------------------------------------------------------------------


def must_be_passthrough(context: OperationContext) -> None:
    """Before the body is looked at: raises Refusal where the processor is managed directly.

    Source: spec 4.3-search-edit; the order assumed 1.7-edit-order.
    """
    tx = cast(Transaction, context.record)
    if tx.origin.site.processor != PASSTHROUGH:
        raise Refusal(
            PERMISSION_DENIED,
            "this edit is reserved for passthrough processors",
            reason=f"the processor is {tx.origin.site.processor}, which is managed directly",
            source="spec 4.3-search-edit",
            step="rule",
        )


def edit(context: OperationContext) -> Transaction:
    """The processor's outcome of a passthrough payment, reported afterwards. Source: assumed F8."""
    body: EditTransaction = context.body
    tx = cast(Transaction, context.record)
    if tx.status not in edits.EDITABLE or persist.is_closed(context, tx.batch_id):
        raise Refusal(
            INVALID_TRANSACTION_STATE,
            f"Its status is {tx.status}.",
            source="assumed F8",
            step="rule",
        )
    wanted = edits.Edit(
        authorized_amount=body.authorized_amount,
        breakdown=body.breakdown.parts() if body.breakdown else None,
        refunded=body.refunded,
        reversed=body.reversed,
        status=body.status,
        status_reason=body.status_reason,
    )
    _must_be_allowed(context, edits.needed(tx, wanted))
    after, joined = tx, None
    for step in edits.steps_of(tx, wanted):
        after, joined = _take(context, after, step, joined)
    return after


def _must_be_allowed(context: OperationContext, needed: tuple[str, ...]) -> None:
    """Raises Refusal unless the key may do what the edit reports as done. Source: assumed D37."""
    for permission in needed:
        if permission not in context.known_caller.grants:
            raise Refusal(
                PERMISSION_DENIED,
                f"requires {permission}",
                reason=f"the edit reports what {permission} allows, which the key does not hold",
                source="assumed D37",
                step="rule",
            )


def _take(
    context: OperationContext, tx: Transaction, step: edits.Edit, joined: Batch | None
) -> tuple[Transaction, Batch | None]:
    """Carry out one step of an edit. An outcome that is still open is no attempt.

    `joined` is the batch that an earlier step of the same edit joined.
    """
    shows = context.world.readings[STATUS_AFTER_PARTIAL_REFUND.id]
    try:
        after = edits.edited(tx, step, partial_refund_shows=shows)
    except ValueError as error:
        raise Refusal(VALIDATION_ERROR, str(error), source="assumed F8", step="rule") from None
    if after == tx:
        return tx, joined
    if after.status == "pending":
        context.unit.put(after)
        persist.count(context, tx, after)
        return after, joined
    captures = after.ledger.captured > 0 and after.status != "reversed"
    refunds = after.ledger.refunded > tx.ledger.refunded
    batch = None
    if (captures and tx.batch_id is None) or refunds:
        # The store finds what is committed; this edit has not been yet.
        known = context.unit.get(Batch, joined.id) if joined else None
        batch = known or persist.batch_for_entry(context, tx)
    conclusion = edits.conclude(
        tx,
        after,
        event_id=attempts.event_id_for(context, tx.account_id, None),
        at=context.now_ms,
        capture_batch_id=_capture_batch(tx, captures, batch.id if batch else None),
        refund_batch_id=batch.id if batch and refunds else None,
    )
    persist.save(context, conclusion, tx, batch)
    return conclusion.shown, batch or joined


def _capture_batch(tx: Transaction, captures: bool, new: str | None) -> str | None:
    return (tx.batch_id or new) if captures else None
