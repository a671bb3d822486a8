"""Control endpoint on the payments of a world: all accounts', searched and in pages."""

from typing import TYPE_CHECKING, Any, Final, TypedDict

from sandbox.control.finding import account_of, page_of, terminal_of, words_of
from sandbox.control.long import written_list
from sandbox.control.rows import ControlFault, ControlRequest, Written, must_be_known
from sandbox.domain.instants import from_ms, to_ms, to_wire
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.transaction_view import TransactionView, view
from sandbox.domain.payments.transactions import (
    STATUS_REASONS,
    STATUSES,
    TRANSACTION_TYPES,
    Transaction,
)
from sandbox.store.port import NEWEST_FIRST, OLDEST_FIRST, Order
from sandbox.store.tables import EVERYTHING, LAST_DIGITS, in_scope

if TYPE_CHECKING:
    from sandbox.control.look_shapes import PaymentsQuery

_BRANDS: Final = sorted({card.brand for card in CARDS.values()})

_ORDERS: Final = {
    "newest": NEWEST_FIRST,
    "oldest": OLDEST_FIRST,
    "largest": Order("total_amount"),
    "smallest": Order("total_amount", is_descending=False),
}


class PaymentRow(TypedDict):
    """A payment in a list. Amounts are minor units."""

    id: str
    created_at: str
    updated_at: str
    type: str
    status: str
    status_reason: str
    currency: str
    total: int
    tip: int
    refunded: int
    reversed: int
    brand: str
    last4: str
    account_id: str
    merchant: str | None
    terminal_id: str
    batch_id: str | None


class PaymentsPage(TypedDict):
    """Payments: rows, or whole ones. `next` is the `before` of the next page, null on the last."""

    payments: list[PaymentRow | TransactionView]
    total: int
    next: int | None


def row_of(tx: Transaction) -> PaymentRow:
    """A payment as lists show it."""
    origin = tx.origin
    return {
        "id": tx.transaction_id,
        "created_at": to_wire(from_ms(origin.created_at)),
        "updated_at": to_wire(from_ms(tx.history[-1].created_at)),
        "type": tx.transaction_type,
        "status": tx.status,
        "status_reason": tx.status_reason,
        "currency": origin.site.currency,
        "total": tx.amounts.total,
        "tip": tx.amounts.tip,
        "refunded": tx.ledger.refunded,
        "reversed": tx.ledger.reversed_in_all,
        "brand": origin.card.brand,
        "last4": origin.card.masked[-LAST_DIGITS:],
        "account_id": tx.account_id,
        "merchant": origin.site.merchant_name,
        "terminal_id": origin.site.terminal_id,
        "batch_id": tx.batch_id,
    }


def payment_of(request: ControlRequest) -> Transaction:
    """The payment that the path names. Raises ControlFault if there is none."""
    found = request.world.store.get(Transaction, request.params["id"])
    if found is None:
        raise ControlFault(404, "not_found", "the world has no payment with this id")
    return found


async def search(request: ControlRequest) -> Written[PaymentsPage]:
    """The payments of a world that match, whoever made them."""
    query: PaymentsQuery = request.query
    rows, total, following = await page_of(
        request,
        Transaction,
        _where(request, query),
        limit=query.limit,
        before=query.before,
        between=(
            None if query.since is None else to_ms(query.since),
            None if query.until is None else to_ms(query.until),
        ),
        order=_ORDERS[query.order],
    )
    answer = PaymentsPage(payments=[], total=total, next=following)
    views = map(row_of if query.shape == "row" else view, rows)
    return await request.services.worlds.slices.run(written_list(answer, "payments", views))


def _where(request: ControlRequest, query: "PaymentsQuery") -> dict[str, Any]:
    """The conditions as indexes and filters of the store have them."""
    scope = EVERYTHING if query.account is None else account_of(request.world, query.account).id
    where: dict[str, Any] = {}
    for name, text, known in (
        ("status", query.status, STATUSES),
        ("transaction_type", query.type, TRANSACTION_TYPES),
    ):
        field = "type" if name == "transaction_type" else name
        if words := words_of(field, text, known):
            where[f"scope_{name}"] = [in_scope(scope, word) for word in words]
    if not where:
        where["scope"] = scope
    if reasons := words_of("status_reason", query.status_reason, STATUS_REASONS):
        where["status_reason"] = reasons
    if query.terminal is not None:
        where["terminal_id"] = terminal_of(request.world, query.terminal).terminal_id
    must_be_known("card_brand", query.card_brand, _BRANDS)
    for name, value in (
        ("batch_id", query.batch),
        ("card_brand", query.card_brand),
        ("min_amount", query.amount_min),
        ("max_amount", query.amount_max),
        ("search_term", query.q),
    ):
        if value is not None:
            where[name] = value
    return where
