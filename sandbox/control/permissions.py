"""Permission checks, and the actions that are available on a payment.

They are decided by the steps of the platform's pipeline and the rules of the operations. Nothing is
counted or changed: each action is tried with its smallest body, and its limits are found by trying
other amounts.
"""

from bisect import bisect
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from sandbox.control.clock import view_timer
from sandbox.control.context import NOUNS, ControlRequest, cast_names, invalid, must_be_known
from sandbox.control.journal import DecisionView, view_decision
from sandbox.control.models import Body, Query, Time, View, Words, shows
from sandbox.control.routing import WORLD, get, post
from sandbox.domain import access
from sandbox.domain.directory import Account, Relation
from sandbox.domain.faults import Refusal
from sandbox.domain.keys import ApiKey, why_unusable
from sandbox.domain.payments.action_plans import ActionRequest, plan
from sandbox.domain.payments.action_records import payment_of
from sandbox.domain.payments.amounts import AMOUNT_MAX
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.payments.transitions import BY_ITSELF, SAME, SETTLE, TRANSITIONS
from sandbox.platform.access import Seen, find_cell, look
from sandbox.platform.context import OperationContext
from sandbox.platform.operation import Row
from sandbox.platform.payments.actions import row_if_approved
from sandbox.platform.routes import OPERATIONS
from sandbox.worlds.background import select
from sandbox.worlds.world import World


class LensBody(
    Body, example={"key": "merchant_read_only", "operation": "accounts.read", "target": "merchant"}
):
    """Which key, for which operation, on which record: ids, or names of the cast."""

    key: Words
    operation: Words
    target: Words | None = None


PERMITTED: Final = {
    row.name: row for row in OPERATIONS if row.run is not None and row.need is not None
}
"""The operations that need a permission, by name."""

_STATUS: Final = {"hidden": 404, "denied": 401, "gone": 404}


class KeyName(View):
    """A key by id and name; `cast` is its name in the cast."""

    id: str
    name: str
    cast: str | None


@shows(Seen)
class LensView(View):
    """The answer that a key would get, with each decision and its clause.

    Any one of `missing` would be enough; it is empty if no permission helps. `could` are the keys
    that may do it.
    """

    operation: str
    key: KeyName
    target: str | None
    allowed: bool
    decisions: list[DecisionView]
    could: list[KeyName]


class LensRow(View):
    """The statuses of an operation on the key's own account, on one below it, and elsewhere."""

    operation: str
    own: int
    descendant: int
    outside: int
    why: str


class LensTable(View):
    """What a key may do, by operation; `unusable` says why it cannot authenticate."""

    key: KeyName
    unusable: str | None
    rows: list[LensRow]


def key_name(world: World, key: ApiKey) -> KeyName:
    """Return a key as answers name it."""
    return KeyName.of(key, cast=cast_names(world, "key").get(key.id))


@post(f"{WORLD}/lens", "lens.simulate")
async def simulate_permission(request: ControlRequest, body: LensBody) -> LensView:
    """Find out the answer that a key would get, without a request."""
    world = request.world
    must_be_known("operation", body.operation, PERMITTED)
    row, key = PERMITTED[body.operation], request.get_named(ApiKey, body.key)
    target = _target_of(world, row, body.target)
    could = await find_permitted_keys(world, row, target)
    return view_permission(world, row, key, target, could)


def view_permission(
    world: World, row: Row, key: ApiKey, target: str | None, could: list[KeyName]
) -> LensView:
    """Return the answer that the key would get for the operation on the record with this id."""
    seen = look(world, key, row, target)
    return LensView.of(
        seen,
        operation=row.name,
        key=key_name(world, key),
        target=target,
        allowed=seen.error is None,
        decisions=list(map(view_decision, seen.decisions)),
        could=could,
    )


def _target_of(world: World, row: Row, text: str | None) -> str | None:
    """Return the id of the target, given as an id or a name of the cast."""
    if row.target is None:
        return None
    if text is None and row.target.where == "path":
        raise invalid(f"target: {row.name} needs the id of the {row.target.noun}")
    noun = NOUNS.get(row.target.kind)
    return world.cast.ids_of(noun).get(text, text) if noun and text else text


async def find_permitted_keys(world: World, row: Row, target: str | None) -> list[KeyName]:
    """Find the keys that may use the operation on the target, the oldest first."""
    keys = list(world.store.all(ApiKey).values())
    found = await select(keys, lambda key: look(world, key, row, target).error is None)
    return [key_name(world, key) for key in found]


@get(f"{WORLD}/lens/{{key}}", "lens.table")
def list_permissions(request: ControlRequest) -> LensTable:
    """List all operations with the statuses that a key gets."""
    key = request.get_named(ApiKey, request.params["key"], is_in_path=True)
    return view_permissions(request.world, key)


def view_permissions(world: World, key: ApiKey) -> LensTable:
    """Return all operations with the statuses that this key gets."""
    account = world.store.get(Account, key.account_id)
    why, _ = why_unusable(key, account, world.clock.now()) or (None, "")
    usable_by = account if why is None else None
    return LensTable(
        key=key_name(world, key),
        unusable=why,
        rows=[_permission_row(world, row, key, usable_by) for row in PERMITTED.values()],
    )


def _permission_row(world: World, row: Row, key: ApiKey, account: Account | None) -> LensRow:
    """Return what a key of the account gets from an operation; without one, it cannot be used."""
    assert row.need
    held = access.holds(key.grants, row.need)
    by_verdict = {"ok": row.status_under(world.readings), **_STATUS}
    relations: tuple[Relation, ...] = ("own", "descendant", "outside")
    statuses = dict.fromkeys(relations, 401)
    if account is not None:
        for one in relations:
            statuses[one] = by_verdict[find_cell(world, account, row, held, one).verdict]
    return LensRow(
        operation=row.name,
        **statuses,
        why=f"the key holds {held}; the operation needs {row.need}"
        + (f". {row.about_besides}" if row.needs_besides else ""),
    )


class MovesQuery(Query):
    """The acting key, an id or a name of the cast; without one, only payment rules count."""

    key: Words | None = None


ACTIONS: Final[dict[str, tuple[Operation, dict[str, Any]]]] = {
    "payments.confirm": (Operation.CONFIRM, {"confirm": True}),
    "payments.confirm declined": (Operation.CONFIRM, {"confirm": False}),
    "payments.capture": (Operation.CAPTURE, {}),
    "payments.increment": (Operation.INCREMENT, {"amount": 1}),
    "payments.adjust": (Operation.ADJUST, {"type": "fixed", "amount": 0}),
    "payments.reverse": (Operation.REVERSE, {}),
    "payments.refund": (Operation.REFUND, {}),
}
"""The actions on a payment, each with its smallest body.

The first word of a name is the operation.
"""

_WITHOUT_NATURAL_AMOUNT: Final = (Operation.INCREMENT, Operation.ADJUST)
"""The operations that need an amount from the client."""


class Move(View):
    """An action on a payment: whether it is possible now, by which row, or why not.

    `next_status` is the status that it leads to. `min` and `max` are the smallest and the largest
    amount in minor units, and `amount` is the default of a body without one; all are null if the
    action is impossible or takes no amount. `example` is a valid body.
    """

    operation: str
    possible: bool = False
    next_status: str | None = None
    row: str | None = None
    says: str
    error: str | None = None
    status: int
    amount: int | None = None
    min: int | None = None
    max: int | None = None
    path: str
    example: dict[str, Any]
    clause: str


class ByItself(View):
    """A change that needs no request; `due` is null if no time is set for it."""

    trigger: str
    row: str
    next_status: str
    due: Time | None


class Moves(View):
    """What can be done with a payment now, and what changes it without a request."""

    state: str
    moves: list[Move]
    by_itself: list[ByItself]


@get(f"{WORLD}/payments/{{id}}/moves", "payments.moves")
def list_available_actions(request: ControlRequest, query: MovesQuery) -> Moves:
    """List the actions that a payment allows now, and why it refuses the others.

    With `key`, list what that key can do.
    """
    key = None if query.key is None else request.get_named(ApiKey, query.key)
    return view_actions(request.world, request.get_record(Payment, "payment"), key)


def view_actions(world: World, payment: Payment, key: ApiKey | None) -> Moves:
    """List what can be done with this payment, by the key if one is given.

    An action on the record of a capture acts on its payment (assumed D35-action).
    """
    payment = world.store.get(Payment, payment_of(payment)) or payment
    context = OperationContext.of_world(world)
    return Moves(
        state=payment.status,
        moves=[
            _view_move(context, payment, name, key)
            for name, (_, body) in ACTIONS.items()
            if body.get("confirm", True) or payment.status == "surcharge_pending"
        ],
        by_itself=list(_by_itself(world, payment)),
    )


def _view_move(context: OperationContext, payment: Payment, name: str, key: ApiKey | None) -> Move:
    world, (operation, body) = context.world, ACTIONS[name]
    confirms = body.get("confirm", True)
    action = ActionRequest(
        operation=operation,
        amount=body.get("amount"),
        is_confirmed=confirms,
        limit=world.readings["above_the_hold"],
        is_new_total=world.readings["increment_amount"] == "new_total",
    )
    if action.is_new_total and operation is Operation.INCREMENT and action.amount is not None:
        action = replace(action, amount=payment.ledger.held + action.amount)
    row = PERMITTED[name.partition(" ")[0]]
    path = row.path.replace("{id}", payment.id)
    shown: dict[str, Any] = {"operation": row.name, "path": path, "example": body}
    if key is not None and (seen := look(world, key, row, payment.id)).error is not None:
        _, _, why, shown["clause"] = seen.decisions[-1]
        return Move.of(seen, **shown, says=why)
    try:
        taken = row_if_approved(context, payment, action)
    except Refusal as refusal:
        fault, shown["clause"] = refusal.fault, refusal.source
        # The source ends with the id of the row of the state machine that refuses, if one does.
        ids = (one.id for one in TRANSITIONS if refusal.source.endswith(f" {one.id}"))
        row_id = next(ids, None)
        return Move.of(fault, **shown, error=fault.code, row=row_id, says=refusal.reason)
    least, most = _limits(context, payment, action) if confirms else (None, None)
    natural = plan(payment, action).amount if confirms else None
    if operation in _WITHOUT_NATURAL_AMOUNT:
        body, natural = {**body, "amount": least}, None
    next_status = payment.status if taken.next_status == SAME else taken.next_status
    shown |= {"example": body, "clause": taken.source}
    return Move(
        **shown,
        status=row.status,
        possible=True,
        next_status=next_status,
        row=taken.id,
        says=f"{taken.id}: {operation} leads to {next_status}",
        amount=natural,
        min=least,
        max=most,
    )


def _limits(context: OperationContext, payment: Payment, action: ActionRequest) -> tuple[int, int]:
    """Return the smallest and the largest amount that the action may have.

    The search starts from the default amount.
    """

    def is_refused(amount: int) -> bool:
        try:
            row_if_approved(context, payment, replace(action, amount=amount))
        except Refusal:
            return True
        return False

    known = plan(payment, action).amount
    lower = range(known - 1, -1 if action.operation is Operation.ADJUST else 0, -1)
    higher = range(known + 1, AMOUNT_MAX + 1)
    less, more = bisect(lower, 0, key=is_refused), bisect(higher, 0, key=is_refused)
    return known - less, known + more


def _by_itself(world: World, payment: Payment) -> Iterator[ByItself]:
    """Yield the changes of its state that need no request, if something will trigger them."""
    soonest = {timer.kind: timer for timer in reversed(world.store.timers.about(payment.id))}
    for row in BY_ITSELF:
        timer = soonest.get(row.trigger)
        then = timer and view_timer(world, timer).then
        settles = row.trigger == SETTLE and payment.batch_id is not None
        if payment.status in row.states and (then or settles):
            next_status = then.status if then else row.next_status
            due = timer and timer.due
            yield ByItself.of(row, row=row.id, next_status=next_status, due=due)
