"""Restoring a world from the documents of a state file or a snapshot.

Documents that people can edit are not trusted: every field is checked, and references must match.
The world must not be in use yet.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final

from sandbox.domain.clock import ClockSetting
from sandbox.domain.events import body_of
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.invariants import ABOUT, broken
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.records import account_id_of
from sandbox.domain.switches import defaults
from sandbox.domain.timers import Timer
from sandbox.domain.webhooks.deliveries import Delivery
from sandbox.domain.webhooks.endpoints import ENDPOINTS_MAX
from sandbox.scenarios.queue import QUEUE_MAX
from sandbox.store.documents import from_document
from sandbox.store.files.port import (
    FIXTURE,
    MESSAGES,
    RECORDS,
    TAKEN_IDS,
    TIMERS,
    WORLD,
    Document,
    Parsed,
    fields_of,
)
from sandbox.store.fixture import Fixture
from sandbox.store.memory.table import Rows
from sandbox.store.port import DuplicateValue
from sandbox.store.steps import OFTEN, Steps
from sandbox.store.world_state import OF_THE_SERVER, Counters, WorldState
from sandbox.worlds.restore_checks import check_message, check_payment, check_timer
from sandbox.worlds.saved_world import NotRestored, SavedWorld
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import World

SAID_MAX: Final = 400
"""Length limit of an error message: a field may hold a whole book."""

API_KEYS: Final = "api_keys"
ENDPOINTS: Final = "endpoints"

FixtureOf = Callable[[str, Any], Fixture]
"""Gives the fixture of that name; with the document if the file holds one, else None."""


def spec_of(saved: SavedWorld, fixture_of: FixtureOf, *, id: str) -> WorldSpec:
    """How the world of these documents began. Raises NotRestored."""
    own = saved.tables.get(FIXTURE) or ()
    begins = saved.state().begins
    with _Place(WORLD, id):
        return WorldSpec(
            id=id,
            name=begins.name,
            seed=begins.seed,
            fixture=fixture_of(begins.fixture, fields_of(own[0]) if own else None),
            clock=begins.clock,
            generated_data=begins.generated_data,
            keys_are_known=begins.keys != OF_THE_SERVER,
        )


def restore(
    world: World,
    saved: SavedWorld,
    fresh_keys: Mapping[str, ApiKey],
    *,
    is_beginning: bool = False,
) -> Steps[None]:
    """Fill the empty world. Raises NotRestored.

    `fresh_keys` are the keys of the cast as this world would have them. A new world has its own
    clock if it was given one, its own draws if it has another seed, and no requests yet.
    """
    state, counters, tables = saved.state(), saved.counters(), saved.tables
    _must_be_few(saved, "queue", len(state.queue), QUEUE_MAX)
    _must_be_few(saved, ENDPOINTS, len(tables.get(ENDPOINTS, ())), ENDPOINTS_MAX)
    yield from _keep_records(world, saved)
    if not saved.is_from_file:
        _give_keys_of_its_own(world, fresh_keys, keeps_others=state.id == world.id)
    yield from _check(world)
    world.store.restore_messages(tables.get(MESSAGES, ()), saved.read)
    if not saved.is_trusted:
        yield from _check_messages(world, tables.get(MESSAGES, ()))
        yield from _check_deliveries(world)
    for document in tables.get(TIMERS, ()):
        with _Place(TIMERS, document.id):
            timer = from_document(Timer, fields_of(document))
            check_timer(timer)
            world.store.timers.restore(timer, document.number)
        yield
    # The number of draws is not trusted: ids that already exist are drawn again.
    world.store.ids_may_repeat = not saved.is_trusted or TAKEN_IDS in tables
    taken = (yield from _ids(world, tables)) if world.store.ids_may_repeat else ()
    with _Place(WORLD, state.id):
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
    has_own_clock = is_beginning and world.spec.clock != ClockSetting()
    world.store.restore_counters(counters)
    world.draws = world.draws_of(world.spec.seed)
    world.journal.restart(counters)
    world.put_state(
        replace(
            state,
            id=own.id,
            begins=own.begins,
            clock=own.clock if has_own_clock else world.continued(state.clock),
            switches={**defaults(), **state.switches},
        )
    )
    # Who puts a scenario there by hand counts nothing.
    world.run_stored_scenario(rules)


_CHECKS: Final[Mapping[str, Callable[[Any], None]]] = {
    "transactions": check_payment,
}
"""Checks of a record beyond its types."""


def _keep_records(world: World, saved: SavedWorld) -> Steps[None]:
    for table, rows in world.store.tables():
        # The state of the world is changed before it is stored.
        for document in saved.tables.get(table, ()) if table != WORLD else ():
            with _Place(table, document.id):
                rows.keep(document, partial(saved.read, table))
                if not saved.is_trusted and (check := _CHECKS.get(table)) is not None:
                    check(rows.get(document.id))
            yield


def _ids(world: World, tables: Mapping[str, Sequence[Document | Parsed]]) -> Steps[Collection[str]]:
    """The ids of all records and messages."""
    found: set[str] = set()
    of_messages = (one.id for one in tables.get(MESSAGES, ()))
    for id in chain(of_messages, *(rows.number_of for _, rows in world.store.tables())):
        found.add(id)
        if not len(found) % OFTEN:
            yield
    return found


class _Place:
    """Adds the place to every error inside the block."""

    def __init__(self, table: str, id: str) -> None:
        self._place = f"{table}, {id[:80]}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # A field may be of any type until it was checked, and a number of any size.
        expected = (
            *(ValueError, DuplicateValue, LookupError, TypeError, AttributeError),
            ArithmeticError,
        )
        if isinstance(error, expected) and not isinstance(error, NotRestored):
            raise NotRestored(f"{self._place}: {_message_of(error)}") from None


def _message_of(error: BaseException) -> str:
    message = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
    return message if len(message) <= SAID_MAX else message[:SAID_MAX] + "…"


# --- records ----------------------------------------------------------------------------------


def _give_keys_of_its_own(
    world: World, fresh_keys: Mapping[str, ApiKey], *, keeps_others: bool
) -> None:
    """The keys of the cast are this world's; in another world no other key leads to two worlds."""
    rows = next(rows for table, rows in world.store.tables() if table == API_KEYS)
    saved = [key for _, key in sorted(_records(rows), key=lambda one: rows.number_of[one[0]])]
    own = [
        _with_material(key, fresh_keys.get(key.id))
        for key in saved
        if keeps_others or key.id in fresh_keys
    ]
    if own == saved:
        return
    rows.forget()
    for key in own:
        with _Place(API_KEYS, key.id):
            rows.put(key.id, key, rows.unique_values(key.id, key))


def _with_material(key: ApiKey, fresh: ApiKey | None) -> ApiKey:
    """The key with the lookup and secret of the other one, if there is one."""
    if fresh is None:
        return key
    return replace(
        key,
        lookup=fresh.lookup,
        salt=fresh.salt,
        digest=fresh.digest,
        key_last4=fresh.key_last4,
        readable_key=fresh.readable_key,
    )


_BELONGING: Final = ("terminals", "locations", "credentials", API_KEYS, "batches")


def _check(world: World) -> Steps[None]:
    """Check that every reference has a target, and that the money adds up."""
    tables = dict(world.store.tables())
    accounts, terminals = tables["accounts"].number_of, tables["terminals"].number_of
    for id, account in _records(tables["accounts"]):
        if not accounts.keys() >= set(account.parent_account_ids):
            raise NotRestored(f"accounts, {id}: parent_account_ids: there is no such account")
        yield
    for table in _BELONGING:
        for id, record in _records(tables[table]):
            if account_id_of(record) not in accounts:
                raise NotRestored(f"{table}, {id}: account_id: there is no such account")
            yield
    for id, batch in _records(tables["batches"]):
        if batch.terminal_id not in terminals:
            raise NotRestored(f"batches, {id}: terminal_id: there is no such terminal")
        yield
    yield from _check_payments(tables)


def _check_payments(tables: Mapping[str, Rows]) -> Steps[None]:
    """Unread records came from our own file, so they are trusted."""
    known = {name: tables[name].number_of for name in ("accounts", "terminals", "batches")}
    for tx in tables["transactions"].by_number.values():
        place = f"transactions, {tx.transaction_id}"
        if tx.account_id not in known["accounts"]:
            raise NotRestored(f"{place}: account_id: there is no such account")
        if tx.origin.site.terminal_id not in known["terminals"]:
            raise NotRestored(f"{place}: terminal_id: there is no such terminal")
        if tx.batch_id is not None and tx.batch_id not in known["batches"]:
            raise NotRestored(f"{place}: batch_id: there is no such batch")
        if clauses := broken(tx):
            raise NotRestored(f"{place}: {ABOUT[clauses[0]]} (assumed {clauses[0]})")
        yield


def _records(rows: Rows) -> Iterator[tuple[str, Any]]:
    """The records of a table with their ids. Raises NotRestored if one cannot be read."""
    for id, number in rows.number_of.items():
        with _Place(rows.table.name, id):
            record = rows.by_number[number]
        yield id, record


# --- the rest ---------------------------------------------------------------------------------


def _must_be_few(saved: SavedWorld, what: str, count: int, most: int) -> None:
    """Raises NotRestored. A state file may hold more, from a version without this limit."""
    if count > most and not saved.is_from_file:
        raise NotRestored(f"{what}: has {count}, and a world takes at most {most}")


def _check_messages(world: World, documents: Sequence[Document | Parsed]) -> Steps[None]:
    """Check that every message can be read and sent."""
    ids: set[str] = set()
    for place, document in enumerate(documents):
        with _Place(MESSAGES, document.id):
            message = world.store.messages()[place]
            check_message(message, document.id, ids)
        with _Place(RECORDS, document.id):
            if isinstance(record := message.content(), Transaction):
                check_payment(record)
            # It can be written.
            body_of(message)
        ids.add(document.id)
        yield


def _check_deliveries(world: World) -> Steps[None]:
    """Check that every delivery is one of a message."""
    for delivery in world.store.all(Delivery).values():
        if world.store.message(delivery.message_id) is None:
            raise NotRestored(f"deliveries, {delivery.id}: message_id: there is no such message")
        yield
