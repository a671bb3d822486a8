"""Restoring a world from the documents of a state file or a snapshot.

Documents that people can edit are not trusted: every field is checked, and references must match.
The world must not be in use yet.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import structs

from sandbox.domain.batches import Batch
from sandbox.domain.clock import ClockSetting
from sandbox.domain.directory import Account, Credential, Location, Terminal
from sandbox.domain.events import body_of
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.edits import ABOUT, broken
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.readings import default_of
from sandbox.domain.records import Record, account_id_of
from sandbox.domain.switches import defaults, parted
from sandbox.domain.webhooks import ENDPOINTS_MAX, Delivery
from sandbox.scenarios.fault_injection import SPOILED_MAX
from sandbox.scenarios.queue import QUEUE_MAX
from sandbox.store.files.port import (
    FIXTURE,
    MESSAGES,
    RECORDS,
    TIMERS,
    WORLD,
    Document,
    Parsed,
    fields_of,
)
from sandbox.store.fixture import Fixture
from sandbox.store.saved_world import (
    Checks,
    NotRestored,
    Place,
    SavedWorld,
    counters_of,
    ids_of,
    load,
    replace_all,
    state_of,
)
from sandbox.store.store import Store
from sandbox.store.tables import NAMES
from sandbox.store.world_state import OF_THE_SERVER, Counters, WorldState
from sandbox.worlds.clock import continued
from sandbox.worlds.restore_checks import check_message, check_payment, check_timer
from sandbox.worlds.scenarios import run_stored_scenario
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import World

ENDPOINTS: Final = "endpoints"

_CHECKS: Final[Checks] = {"transactions": check_payment, TIMERS: check_timer}

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
    load(world.store, saved, _CHECKS)
    if not saved.is_from_file:
        _give_keys_of_its_own(world, fresh_keys, keeps_others=state.id == world.id)
    _check(world.store, saved)
    if not saved.is_trusted:
        _check_messages(world, tables.get(MESSAGES, ()))
        _check_deliveries(world)
    # The number of draws is not trusted: ids that already exist are drawn again.
    taken = ids_of(world.store) if world.store.ids_may_repeat else ()
    with Place(WORLD, state.id):
        _restore_state(world, state, counters, is_beginning=is_beginning)
    world.draws.taken = taken


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
    switches, former = parted(state.switches)
    # Files from before hold every switch; one at its default chose nothing (assumed D35).
    chosen = {id: value for id, value in former.items() if value != default_of(id)}
    has_own_clock = is_beginning and world.spec.clock != ClockSetting()
    world.store.restore_counters(counters)
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
    return structs.replace(
        key,
        lookup=fresh.lookup,
        salt=fresh.salt,
        digest=fresh.digest,
        key_last4=fresh.key_last4,
        readable_key=fresh.readable_key,
    )


_BELONGING: Final[tuple[type[Record], ...]] = (Terminal, Location, Credential, ApiKey, Batch)


def _check(store: Store, saved: SavedWorld) -> None:
    """Check that every reference has a target, and that the money adds up."""
    accounts, terminals = store.all(Account), store.all(Terminal)
    for id, account in accounts.items():
        if not all(parent in accounts for parent in account.parent_account_ids):
            raise NotRestored(f"accounts, {id}: parent_account_ids: there is no such account")
    for kind in _BELONGING:
        for id, record in store.all(kind).items():
            if account_id_of(record) not in accounts:
                table = NAMES[kind]
                raise NotRestored(f"{table}, {id}: account_id: there is no such account")
    for id, batch in store.all(Batch).items():
        if batch.terminal_id not in terminals:
            raise NotRestored(f"batches, {id}: terminal_id: there is no such terminal")
    if not saved.is_trusted:
        _check_payments(store)


def _check_payments(store: Store) -> None:
    accounts, terminals, batches = store.all(Account), store.all(Terminal), store.all(Batch)
    for tx in store.all(Transaction).values():
        place = f"transactions, {tx.transaction_id}"
        if tx.account_id not in accounts:
            raise NotRestored(f"{place}: account_id: there is no such account")
        if tx.origin.site.terminal_id not in terminals:
            raise NotRestored(f"{place}: terminal_id: there is no such terminal")
        if tx.batch_id is not None and tx.batch_id not in batches:
            raise NotRestored(f"{place}: batch_id: there is no such batch")
        if clauses := broken(tx):
            raise NotRestored(f"{place}: {ABOUT[clauses[0]]} (assumed {clauses[0]})")


# --- the rest ---------------------------------------------------------------------------------


def _must_be_few(saved: SavedWorld, what: str, count: int, most: int) -> None:
    """Raises NotRestored. A state file may hold more, from a version without this limit."""
    if count > most and not saved.is_from_file:
        raise NotRestored(f"{what}: has {count}, and a world takes at most {most}")


def _check_messages(world: World, documents: Sequence[Document | Parsed]) -> None:
    """Check that every message can be read and sent."""
    ids: set[str] = set()
    for place, document in enumerate(documents):
        with Place(MESSAGES, document.id):
            message = world.store.messages()[place]
            check_message(message, document.id, ids)
        with Place(RECORDS, document.id):
            if isinstance(message.record, Transaction):
                check_payment(message.record)
            # It can be written.
            body_of(message)
        ids.add(document.id)


def _check_deliveries(world: World) -> None:
    """Check that every delivery is one of a message."""
    for delivery in world.store.all(Delivery).values():
        if world.store.message(delivery.message_id) is None:
            raise NotRestored(f"deliveries, {delivery.id}: message_id: there is no such message")
