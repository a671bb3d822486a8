"""Control endpoint on the moves of a payment: what can be done now, and what cannot, and why.

The rules are those of the operations themselves: each move is asked with its least body, and its
limits are found by asking with other amounts.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypedDict

from msgspec.structs import replace

from sandbox.control.lens import key_of
from sandbox.control.payment_lists import payment_of
from sandbox.control.rows import ControlRequest
from sandbox.domain.faults import Refusal
from sandbox.domain.instants import to_wire
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.action_plans import ActionRequest, plan
from sandbox.domain.payments.amounts import AMOUNT_MAX
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.payments.transitions import BY_ITSELF, EDIT, SETTLE, TRANSITIONS
from sandbox.platform.lens import look
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.payments.actions import row_if_approved
from sandbox.platform.routes import OPERATIONS
from sandbox.platform.rows import Row
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.look_shapes import MovesQuery

_DECLINE: Final = ActionRequest(operation=Operation.CONFIRM, confirms=False)

MOVES: Final[dict[str, tuple[ActionRequest, dict[str, Any]]]] = {
    "payments.confirm": (ActionRequest(operation=Operation.CONFIRM), {"confirm": True}),
    "payments.confirm declined": (_DECLINE, {"confirm": False}),
    "payments.capture": (ActionRequest(operation=Operation.CAPTURE), {}),
    "payments.increment": (ActionRequest(operation=Operation.INCREMENT, amount=1), {"amount": 1}),
    "payments.adjust": (
        ActionRequest(operation=Operation.ADJUST, amount=0),
        {"type": "fixed", "amount": 0},
    ),
    "payments.reverse": (ActionRequest(operation=Operation.REVERSE), {}),
    "payments.refund": (ActionRequest(operation=Operation.REFUND), {}),
}
"""The moves of a payment: each with its least request, and the body that says the same.

The first word of a move is its operation.
"""

_ROWS: Final[dict[str, Row]] = {row.name: row for row in OPERATIONS if row.name in MOVES}

_WITHOUT_NATURAL_AMOUNT: Final = (Operation.INCREMENT, Operation.ADJUST)
"""The operations that need an amount from the client."""


class Move(TypedDict):
    """An operation on a payment: whether it can be done now, by which row, and why not.

    `next_status` is the status to which it leads. `min` and `max` are
    the least and the greatest amount in minor units, and `amount` is the one that a body without an
    amount stands for; null where it cannot be done, or takes no amount. `example` is a body that
    fits.
    """

    operation: str
    possible: bool
    next_status: str | None
    row: str | None
    says: str
    error: str | None
    status: int
    amount: int | None
    min: int | None
    max: int | None
    path: str
    example: dict[str, Any]
    clause: str


class ByItself(TypedDict):
    """A change that needs no request; `due` is null where no moment is set for it."""

    trigger: str
    row: str
    next_status: str
    due: str | None


class Moves(TypedDict):
    """What can be done with a payment now, and what changes it without a request."""

    state: str
    moves: list[Move]
    by_itself: list[ByItself]


def moves(request: ControlRequest) -> Moves:
    """What can be done with a payment now, and what cannot and why; with `key`, by that key."""
    query: MovesQuery = request.query
    key = None if query.key is None else key_of(request.world, query.key)
    return moves_of(request.world, payment_of(request), key)


def moves_of(world: World, tx: Transaction, key: ApiKey | None) -> Moves:
    """What can be done with this payment, by the key if one is given."""
    context = OperationContext(
        world=world, unit=world.store.begin(), now=world.clock.now(), request_id=None
    )
    return {
        "state": tx.status,
        "moves": [
            _move(world, context, tx, name, key)
            for name, (action, _) in MOVES.items()
            if action.confirms or tx.status == "surcharge_pending"
        ],
        "by_itself": _by_itself(world, tx),
    }


def _move(
    world: World, context: OperationContext, tx: Transaction, name: str, key: ApiKey | None
) -> Move:
    action, body = MOVES[name]
    row = _ROWS[name.partition(" ")[0]]
    shown: Move = {
        "operation": row.name,
        "possible": False,
        "next_status": None,
        "row": None,
        "says": "",
        "error": None,
        "status": row.status,
        "amount": None,
        "min": None,
        "max": None,
        "path": row.path.replace("{id}", tx.transaction_id),
        "example": body,
        "clause": row.source,
    }
    seen = None if key is None else look(world, key, row, tx.transaction_id)
    if seen is not None and not seen.is_allowed:
        _, _, why, clause = seen.decisions[-1]
        return {**shown, "says": why, "error": seen.error, "status": seen.status, "clause": clause}
    try:
        taken = row_if_approved(context, tx, action)
    except Refusal as refusal:
        return {
            **shown,
            "row": _row_of(refusal),
            "says": refusal.reason,
            "error": refusal.fault.code,
            "status": refusal.fault.status,
            "clause": refusal.source,
        }
    least, most = _limits(context, tx, action) if action.confirms else (None, None)
    natural = None
    if action.operation in _WITHOUT_NATURAL_AMOUNT:
        body = {**body, "amount": least}
    elif action.confirms:
        natural = plan(tx, action).amount
    status = tx.status if taken.next_status == "same" else taken.next_status
    return {
        **shown,
        "possible": True,
        "next_status": status,
        "row": taken.id,
        "says": f"{taken.id}: {action.operation} leads to {status}",
        "amount": natural,
        "min": least,
        "max": most,
        "example": body,
        "clause": taken.source,
    }


def _row_of(refusal: Refusal) -> str | None:
    """The row of the state machine that refuses, whose id its source ends with."""
    id = (refusal.source or "").rpartition(" ")[2]
    return id if any(row.id == id for row in TRANSITIONS) else None


def _limits(context: OperationContext, tx: Transaction, action: ActionRequest) -> tuple[int, int]:
    """The least and the greatest amount, around the one that an omitted amount stands for."""

    def fits(amount: int) -> bool:
        try:
            row_if_approved(context, tx, replace(action, amount=amount))
        except Refusal:
            return False
        return True

    known = plan(tx, action).amount
    least = 0 if action.operation is Operation.ADJUST else 1
    return _last(fits, known, least), _last(fits, known, AMOUNT_MAX)


def _last(fits: Callable[[int], bool], known: int, end: int) -> int:
    """The amount nearest to `end` that fits, where all between it and `known` fit."""
    if fits(end):
        return end
    good, bad = known, end
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _by_itself(world: World, tx: Transaction) -> list[ByItself]:
    """The rows without a request that its state has, if something is to set them off."""
    found: list[ByItself] = []
    for row in BY_ITSELF:
        if tx.status not in row.states or row.trigger == EDIT:
            continue
        timer = world.store.timer(row.trigger, tx.transaction_id)
        if timer is None and not (row.trigger == SETTLE and tx.batch_id is not None):
            continue
        found.append(
            {
                "trigger": row.trigger,
                "row": row.id,
                "next_status": row.next_status,
                "due": None if timer is None else to_wire(timer.due),
            }
        )
    return found
