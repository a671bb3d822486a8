"""Control endpoints that simulate permissions: what a key would be answered, and which keys could.

The steps of the platform's pipeline decide. Nothing is counted or changed.
"""

from typing import TYPE_CHECKING, Any, Final, TypedDict

from sandbox.control.rows import ControlFault, ControlRequest, must_be_known
from sandbox.domain import access
from sandbox.domain.access import AccessVerdict
from sandbox.domain.directory import Account, Location, Relation, Terminal
from sandbox.domain.keys import ApiKey, why_unusable
from sandbox.domain.text import nearest
from sandbox.platform.lens import Seen, look
from sandbox.platform.routes import OPERATIONS
from sandbox.platform.rows import Row
from sandbox.store.steps import OFTEN, Steps
from sandbox.worlds.journal import Decision, DecisionView
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.look_shapes import LensBody

ROWS: Final = {row.name: row for row in OPERATIONS if row.run is not None and row.need is not None}
"""The operations that need a permission, by name."""

_STATUS: Final = {AccessVerdict.HIDDEN: 404, AccessVerdict.DENIED: 401, AccessVerdict.GONE: 404}


class KeyName(TypedDict):
    """A key by id and name; `cast` is its name in the cast."""

    id: str
    name: str
    cast: str | None


class LensView(TypedDict):
    """The answer that a key would get, with each decision and its clause.

    One of `missing` would be enough; it is empty where no permission helps. `could` are the keys
    that may do it.
    """

    operation: str
    key: KeyName
    target: str | None
    status: int
    allowed: bool
    error: str | None
    decisions: list[DecisionView]
    missing: list[str]
    could: list[KeyName]


class LensRow(TypedDict):
    """The statuses of an operation on the key's own account, on one below it, and elsewhere."""

    operation: str
    own: int
    descendant: int
    outside: int
    why: str


class LensTable(TypedDict):
    """All operations as a key may use them; `unusable` says why it authenticates no more."""

    key: KeyName
    unusable: str | None
    rows: list[LensRow]


def key_of(world: World, text: str, *, is_in_path: bool = False) -> ApiKey:
    """The key with this id or name of the cast. Raises ControlFault if there is none."""
    cast = world.cast.keys
    key = world.store.get(ApiKey, cast[text][0] if text in cast else text)
    if key is None:
        raise ControlFault(
            404 if is_in_path else 400,
            "not_found" if is_in_path else "validation_error",
            f"key: the world has no key with the id or cast name {text[:80]!r}",
            nearest=nearest(text, cast),
        )
    return key


def key_name(world: World, key: ApiKey) -> KeyName:
    """How answers name a key."""
    cast = next((name for name, (id, _) in world.cast.keys.items() if id == key.id), None)
    return {"id": key.id, "name": key.name, "cast": cast}


async def simulate(request: ControlRequest) -> LensView:
    """What a key would be answered for an operation, why, and which keys could."""
    body: LensBody = request.body
    world = request.world
    must_be_known("operation", body.operation, ROWS)
    row, key = ROWS[body.operation], key_of(world, body.key)
    target = _target_of(world, row, body.target)
    could = await request.services.worlds.slices.run(who_could(world, row, target))
    return answer(world, row, key, target, could)


def answer(
    world: World, row: Row, key: ApiKey, target: str | None, could: list[KeyName]
) -> LensView:
    """What the key would be answered for the operation on the record with this id."""
    seen = look(world, key, row, target)
    return {
        "operation": row.name,
        "key": key_name(world, key),
        "target": target,
        "status": seen.status,
        "allowed": seen.is_allowed,
        "error": seen.error,
        "decisions": decisions_of(seen),
        "missing": list(seen.missing),
        "could": could,
    }


def decisions_of(seen: Seen) -> list[DecisionView]:
    """The decisions as the journal shows them."""
    return [_decision(one) for one in seen.decisions]


def _decision(decision: Decision) -> DecisionView:
    step, verdict, reason, clause = decision
    return {"step": step, "verdict": verdict, "reason": reason, "clause": clause}


def _target_of(world: World, row: Row, text: str | None) -> str | None:
    """The id of the target, which a name of the cast may stand for."""
    if row.target is None:
        return None
    if text is None:
        if row.target.where == "path":
            kind = row.target.kind.__name__
            raise ControlFault(
                400, "validation_error", f"target: {row.name} needs the id of a {kind}"
            )
        return None
    casts: dict[type, dict[str, Any]] = {
        Account: world.cast.accounts,
        Terminal: world.cast.terminals,
        Location: world.cast.locations,
        ApiKey: {name: id for name, (id, _) in world.cast.keys.items()},
    }
    return str(casts.get(row.target.kind, {}).get(text, text))


def who_could(world: World, row: Row, target: str | None) -> Steps[list[KeyName]]:
    """The keys that may do it, the oldest first."""
    found = []
    for number, key in enumerate(list(world.store.all(ApiKey).values())):
        if look(world, key, row, target).is_allowed:
            found.append(key_name(world, key))
        if not number % OFTEN:
            yield
    return found


def table(request: ControlRequest) -> LensTable:
    """All operations with the statuses that a key gets, by the position of the account."""
    key = key_of(request.world, request.params["key"], is_in_path=True)
    return table_of(request.world, key)


def table_of(world: World, key: ApiKey) -> LensTable:
    """All operations with the statuses that this key gets."""
    account = world.store.get(Account, key.account_id)
    unusable = why_unusable(key, world.clock.now())
    why = None if unusable is None else unusable[0]
    if why is None and (account is None or account.deleted_at is not None):
        why = "its account was deleted"
    return {
        "key": key_name(world, key),
        "unusable": why,
        "rows": [_row(row, key, is_usable=why is None) for row in ROWS.values()],
    }


def _row(row: Row, key: ApiKey, *, is_usable: bool) -> LensRow:
    assert row.need
    held = access.holds(key.grants, row.need)

    def status(relation: Relation) -> int:
        verdict = access.decide(held, relation).verdict
        return row.status if verdict is AccessVerdict.OK else _STATUS[verdict]

    own, below, outside = map(status, (Relation.OWN, Relation.DESCENDANT, Relation.OUTSIDE))
    if not is_usable:
        own = below = outside = 401
    return {
        "operation": row.name,
        "own": own,
        "descendant": below,
        "outside": outside,
        "why": f"the key holds {held}; the operation needs {row.need}"
        + (f". {row.about_besides}" if row.needs_besides else ""),
    }
