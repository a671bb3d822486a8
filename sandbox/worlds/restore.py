"""Restoring a world from the documents of a state file or a snapshot.

Documents that people can edit are not trusted: every field is checked, and references must match.
The world must not be in use yet.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import structs
from pydantic_core import from_json

from sandbox.domain.batches import Batch, BatchSchedule, batch_schedule
from sandbox.domain.clock import BATCH_CLOSES, LATE_ANSWER, ClockSetting
from sandbox.domain.directory import Account, Credential, Location, Terminal
from sandbox.domain.events import EVENTS, body_of
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.edits import broken
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.records import Record
from sandbox.domain.switches import defaults, parted
from sandbox.domain.webhooks import ENDPOINTS_MAX, Delivery
from sandbox.scenarios.fault_injection import SPOILED_MAX
from sandbox.scenarios.queue import QUEUE_MAX
from sandbox.store.documents import Unreadable, from_document
from sandbox.store.files.port import (
    FIXTURE,
    MESSAGES,
    RECORDS,
    TIMERS,
    WORLD,
    Document,
    fields_of,
)
from sandbox.store.fixture import Fixture
from sandbox.store.saved_world import (
    NotRestored,
    Place,
    SavedWorld,
    counters_of,
    load,
    replace_all,
    state_of,
)
from sandbox.store.store import Store
from sandbox.store.tables import NAMES
from sandbox.store.world_state import OF_THE_SERVER, Counters, WorldState
from sandbox.worlds.clock import continued
from sandbox.worlds.scenarios import run_stored_scenario
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import World

ENDPOINTS: Final = "endpoints"

FixtureOf = Callable[[str, Any], Fixture]
"""Gives the fixture of that name; with the document if the file holds one, else None."""


def spec_of(saved: SavedWorld, fixture_of: FixtureOf, *, id: str) -> WorldSpec:
    """How the world of these documents began. Raises NotRestored."""
    own = saved.tables.get(FIXTURE) or ()
    begins = state_of(saved).begins
    with Place(WORLD, id):
        return WorldSpec(
            id=id,
            name=begins.name,
            seed=begins.seed,
            fixture=fixture_of(begins.fixture, fields_of(own[0]) if own else None),
            clock=begins.clock,
            generated_data=begins.generated_data,
            keys_are_known=begins.keys != OF_THE_SERVER,
        )


def seed_of(saved: SavedWorld) -> int:
    """The seed that ids were made with. Raises NotRestored."""
    return state_of(saved).begins.seed


def restore(
    world: World,
    saved: SavedWorld,
    fresh_keys: Mapping[str, ApiKey],
    *,
    is_beginning: bool = False,
) -> None:
    """Fill the empty world. Raises NotRestored.

    `fresh_keys` are the keys of the cast as this world would have them. A new world has its own
    clock if it was given one, its own draws if it has another seed, and no requests yet.
    """
    state, counters, tables = state_of(saved), counters_of(saved), saved.tables
    if saved.is_from_file and state.id != world.id:
        raise NotRestored(f"{WORLD}, {state.id[:80]}: id: must be that of the world")
    _must_be_few(saved, "queue", len(state.queue), QUEUE_MAX)
    _must_be_few(saved, "spoiled", len(state.spoiled), SPOILED_MAX)
    _must_be_few(saved, ENDPOINTS, len(tables.get(ENDPOINTS, ())), ENDPOINTS_MAX)
    load(world.store, saved)
    if not saved.is_from_file:
        _give_keys_of_its_own(world, fresh_keys, keeps_others=state.id == world.id)
    _check(world.store, saved)
    if not saved.is_trusted:
        _check_messages(world, tables.get(MESSAGES, ()))
        _check_timers(world)
    with Place(WORLD, state.id):
        _restore_state(world, state, counters, is_beginning=is_beginning)


def _restore_state(
    world: World, state: WorldState, counters: Counters, *, is_beginning: bool
) -> None:
    """Continue with this state. Raises ScenarioError, and ValueError for impossible counts."""
    own = world.state
    rules, counters.rules = counters.rules, []
    if is_beginning:
        counters.requests = 0
        if world.spec.seed != state.begins.seed:
            counters.drawn = 0
    # Who edits a snapshot may name a reading by its switch.
    switches, chosen = parted(state.switches)
    has_own_clock = is_beginning and world.spec.clock != ClockSetting()
    world.store.counters = counters
    world.draws = world.draws_of(world.spec.seed)
    world.journal.restart(counters)
    world.store.put(
        structs.replace(
            state,
            id=own.id,
            begins=own.begins,
            clock=own.clock if has_own_clock else continued(state.clock, world.system_clock),
            switches={**defaults(), **switches},
            readings=chosen | dict(state.readings),
        )
    )
    # Who puts a scenario there by hand counts nothing.
    run_stored_scenario(world, rules)


# --- records ----------------------------------------------------------------------------------


def _give_keys_of_its_own(
    world: World, fresh_keys: Mapping[str, ApiKey], *, keeps_others: bool
) -> None:
    """The keys of the cast are this world's; in another world no other key leads to two worlds."""
    saved = list(world.store.all(ApiKey).values())
    own = [
        _with_material(key, fresh_keys.get(key.id))
        for key in saved
        if keeps_others or key.id in fresh_keys
    ]
    if own != saved:
        replace_all(world.store, ApiKey, own)


def _with_material(key: ApiKey, fresh: ApiKey | None) -> ApiKey:
    """The key with the lookup and secret of the other one, if there is one."""
    if fresh is None:
        return key
    material = ("lookup", "salt", "digest", "key_last4", "readable_key")
    return structs.replace(key, **{name: getattr(fresh, name) for name in material})


References = tuple[type[Record], str, Callable[[Any], Iterable[str]], type[Record]]
"""A field of records, the ids that it holds, and the kind of record that these are ids of."""

_REFERENCES: Final[Sequence[References]] = (
    (Account, "parent_account_ids", lambda account: account.parent_account_ids, Account),
    *(
        (kind, "account_id", lambda record: [record.account_id], Account)
        for kind in (Terminal, Location, Credential, ApiKey, Batch)
    ),
    (Batch, "terminal_id", lambda batch: [batch.terminal_id], Terminal),
)
_OF_PAYMENTS: Final[Sequence[References]] = (
    (Payment, "account_id", lambda payment: [payment.account_id], Account),
    (Payment, "terminal_id", lambda payment: [payment.transaction.tid], Terminal),
    (Payment, "batch_id", lambda payment: [payment.batch_id] if payment.batch_id else [], Batch),
)


def _check(store: Store, saved: SavedWorld) -> None:
    """Check that every reference has a target, and that the money adds up."""
    _check_references(store, _REFERENCES)
    if saved.is_trusted:
        return
    _check_references(store, _OF_PAYMENTS)
    for id, payment in store.all(Payment).items():
        for clause, about in broken(payment):
            raise NotRestored(f"transactions, {id}: {about} (assumed {clause})")


def _check_references(store: Store, rows: Sequence[References]) -> None:
    for kind, field, get_ids, target in rows:
        known, what = store.all(target), target.__name__.lower()
        for id, record in store.all(kind).items():
            if not all(one in known for one in get_ids(record)):
                raise NotRestored(f"{NAMES[kind]}, {id}: {field}: there is no such {what}")


def _must_be_few(saved: SavedWorld, what: str, count: int, most: int) -> None:
    """Raises NotRestored. A state file may hold more, from a version without this limit."""
    if count > most and not saved.is_from_file:
        raise NotRestored(f"{what}: has {count}, and a world takes at most {most}")


# --- what people can edit: every check raises ValueError, and never repeats a value ---------------


def _check_timers(world: World) -> None:
    """Check that every timer can be carried out."""
    for timer in world.store.timers:
        with Place(TIMERS, timer.id):
            if timer.kind == LATE_ANSWER and timer.detail.partition(" ")[0] not in OUTCOMES:
                raise Unreadable("detail: must be a known outcome")
            if timer.kind == BATCH_CLOSES:
                _check_schedule(timer.detail)


def _check_schedule(detail: str) -> None:
    """Check the schedule that a timer carries. Source: assumed B16."""
    try:
        found = from_document(BatchSchedule, from_json(detail))
        if found != batch_schedule(found.times, found.days, found.zone):
            raise ValueError("must name each time and day once, in their order")
    except ValueError as error:
        raise Unreadable(f"detail: {error}") from None


def _check_messages(world: World, documents: Sequence[Document]) -> None:
    """Check that every message can be read and sent, and every delivery is one of a message."""
    ids: set[str] = set()
    for place, document in enumerate(documents):
        with Place(MESSAGES, document.id):
            message = world.store.messages()[place]
            if message.id in ids:
                raise Unreadable("id: must be that of the document, once")
            if message.event_type not in EVENTS:
                raise Unreadable("event_type: must be a known event")
        with Place(RECORDS, document.id):
            # It can be written.
            body_of(message)
        ids.add(document.id)
    for delivery in world.store.all(Delivery).values():
        if world.store.message(delivery.message_id) is None:
            raise NotRestored(f"deliveries, {delivery.id}: message_id: there is no such message")
