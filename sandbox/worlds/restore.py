"""Restoring a world from the documents of a state file or a snapshot.

Documents that people can edit are not trusted: every field is checked, and references must match.
The world must not be in use yet.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final

from sandbox.domain.events import body_of
from sandbox.domain.instants import from_ms, parse_rfc3339
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.invariants import ABOUT, broken
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.records import account_id_of
from sandbox.domain.timers import TAP_EXPIRES, Timer
from sandbox.domain.webhooks.deliveries import Delivery
from sandbox.domain.webhooks.endpoints import ENDPOINTS_MAX, Endpoint
from sandbox.scenarios.loading import parse_scenario
from sandbox.scenarios.queue import QUEUE_MAX, Queued
from sandbox.store.documents import from_document
from sandbox.store.files.port import MESSAGES, RECORDS, TAKEN_IDS, Document, Parsed, fields_of
from sandbox.store.fixture import Fixture
from sandbox.store.generated_data import GeneratedData
from sandbox.store.memory.table import Rows
from sandbox.store.port import DuplicateValue
from sandbox.store.steps import OFTEN, Steps
from sandbox.worlds.clock import ClockSetting
from sandbox.worlds.restore_checks import (
    check_delivery,
    check_endpoint,
    check_message,
    check_payment,
    check_state,
    check_timer,
)
from sandbox.worlds.saved_world import (
    DELIVERIES,
    ENDPOINTS,
    FIXTURE,
    KEY_USAGE,
    OF_THE_SERVER,
    SCENARIO,
    TIMERS,
    WORLD,
    NotRestored,
    SavedWorld,
)
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import World

SAID_MAX: Final = 400
"""Length limit of an error message: a field may hold a whole book."""

API_KEYS: Final = "api_keys"

FixtureOf = Callable[[str, Any], Fixture]
"""Gives the fixture of that name; with the document if the file holds one, else None."""


def spec_of(saved: SavedWorld, fixture_of: FixtureOf, *, id: str) -> WorldSpec:
    """How the world of these documents began. Raises NotRestored."""
    own = saved.tables.get(FIXTURE) or ()
    with _Place(WORLD, id):
        state = _state(saved)
        begins = state.get("begins", {})
        clock = begins.get("clock", {})
        now, generated_data = clock.get("now"), begins.get("invention")
        return WorldSpec(
            id=id,
            name=str(state.get("name", "")),
            seed=int(state.get("seed", 1)),
            fixture=fixture_of(str(state["fixture"]), fields_of(own[0]) if own else None),
            clock=ClockSetting(
                now=parse_rfc3339(now) if now else None,
                mode=clock.get("mode"),
                rate=clock.get("rate"),
            ),
            generated_data=GeneratedData(**generated_data) if generated_data else None,
            keys_are_known=state.get("keys") != OF_THE_SERVER,
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
    state, tables = _state(saved), saved.tables
    yield from _keep_records(world, saved)
    if not saved.is_from_file:
        _give_keys_of_its_own(world, fresh_keys, keeps_others=state.get("id") == world.id)
    yield from _check(world)
    world.store.restore_messages(tables.get(MESSAGES, ()), saved.read)
    if not saved.is_trusted:
        yield from _check_messages(world, tables.get(MESSAGES, ()))
    for document in tables.get(TIMERS, ()):
        with _Place(TIMERS, document.id):
            timer = from_document(Timer, fields_of(document))
            check_timer(timer, world.store.timers)
            world.store.timers.restore(timer, document.number)
        yield
    # The number of draws is not trusted: ids that already exist are drawn again.
    taken: Collection[str] = ()
    if not saved.is_trusted or TAKEN_IDS in tables:
        taken = yield from _ids(world, tables)
    with _Place(WORLD, world.id):
        _restore_state(world, state, saved)
        if not is_beginning or world.spec.clock == ClockSetting():
            world.clock.restore(state["clock"])
        if not is_beginning or world.spec.seed == state.get("seed", 1):
            world.draws.go_on(int(state.get("drawn", 0)))
        if taken:
            world.draws.taken = taken
        if not is_beginning:
            world.journal.numbered = int(state.get("requests", 0))
    yield from _restore_webhooks(world, state, saved)


def _restore_webhooks(world: World, state: Mapping[str, Any], saved: SavedWorld) -> Steps[None]:
    tables = saved.tables
    endpoints = [_record(Endpoint, ENDPOINTS, one) for one in tables.get(ENDPOINTS, ())]
    _must_be_few(saved, ENDPOINTS, len(endpoints), ENDPOINTS_MAX)
    deliveries = []
    for one in tables.get(DELIVERIES, ()):
        deliveries.append(_record(Delivery, DELIVERIES, one))
        yield
    if not saved.is_trusted:
        yield from _check_webhooks(endpoints, deliveries, tables)
    world.outbox.restore(endpoints, deliveries, state.get("meant_for", {}))


_CHECKS: Final[Mapping[str, Callable[[Any], None]]] = {
    "transactions": check_payment,
}
"""Checks of a record beyond its types."""


def _keep_records(world: World, saved: SavedWorld) -> Steps[None]:
    for table, rows in world.store.tables():
        for document in saved.tables.get(table, ()):
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


def _state(saved: SavedWorld) -> Mapping[str, Any]:
    state = saved.state()
    with _Place(WORLD, str(state.get("id", ""))):
        check_state(state)
    return state


def seed_of(saved: SavedWorld) -> int:
    """The seed that ids were made with. Raises NotRestored."""
    with _Place(WORLD, ""):
        return int(_state(saved).get("seed", 1))


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


def _restore_state(world: World, state: Mapping[str, Any], saved: SavedWorld) -> None:
    world.set_switches(state.get("switches", {}))
    world.terminal_outcomes.update(state.get("terminal_outcomes", {}))
    for document in saved.tables.get(KEY_USAGE, ()):
        at = parse_rfc3339(fields_of(document)["last_used_at"])
        world.last_used_at[document.id] = at
    queue = [_queued(entry) for entry in state.get("queue", [])]
    _must_be_few(saved, "queue", len(queue), QUEUE_MAX)
    world.queue.restore(queue)
    for document in saved.tables.get(SCENARIO, ()):
        with _Place(SCENARIO, document.id):
            scenario = parse_scenario(dict(fields_of(document)))
            running = world.run_scenario(scenario)
        # Who puts a scenario there by hand counts nothing.
        if counts := state.get("counts"):
            running.restore(counts)


def _queued(entry: Mapping[str, Any]) -> Queued:
    operation = entry.get("operation")
    return Queued(**{**entry, "operation": Operation(operation) if operation else None})


def _must_be_few(saved: SavedWorld, what: str, count: int, most: int) -> None:
    """Raises NotRestored. A state file may hold more, from a version without this limit."""
    if count > most and not saved.is_from_file:
        raise NotRestored(f"{what}: has {count}, and a world takes at most {most}")


def _record(kind: type, table: str, document: Document | Parsed) -> Any:
    with _Place(table, document.id):
        return from_document(kind, fields_of(document))


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


def _check_webhooks(
    endpoints: Sequence[Endpoint],
    deliveries: Sequence[Delivery],
    tables: Mapping[str, Sequence[Document | Parsed]],
) -> Steps[None]:
    for endpoint, document in zip(endpoints, tables.get(ENDPOINTS, ()), strict=True):
        with _Place(ENDPOINTS, document.id):
            check_endpoint(endpoint, document.id)
    message_ids = {one.id for one in tables.get(MESSAGES, ())}
    for delivery, document in zip(deliveries, tables.get(DELIVERIES, ()), strict=True):
        with _Place(DELIVERIES, document.id):
            check_delivery(delivery, document.id, message_ids)
        yield


def end_what_was_under_way(world: World, saved: SavedWorld) -> None:
    """End a payment whose request was waiting for the processor: its client is gone."""
    for id in _state(saved).get("busy", []):
        number = world.store.timers.number_of(TAP_EXPIRES, id, "")
        tx = world.store.begin().get(Transaction, id)
        if number is None and tx is not None:
            due = from_ms(tx.origin.created_at)
            unit = world.store.begin()
            unit.schedule(Timer(kind=TAP_EXPIRES, subject=id, due=due))
            unit.commit()
