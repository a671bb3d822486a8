"""Filling, restoring and resetting a world, and running a scenario in it.

Documents that people can edit are not trusted: every field is checked, and references must have
targets. Only a world that is not in use yet can be restored.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from msgspec.structs import replace
from pydantic_core import from_json

from sandbox.domain import clock
from sandbox.domain.batches import Batch, BatchSchedule, batch_schedule
from sandbox.domain.clock import ClockSetting, Timer
from sandbox.domain.directory import Account, Credential, Location, Terminal
from sandbox.domain.events import EVENTS, Message, body_of
from sandbox.domain.instants import from_ms
from sandbox.domain.keys import ApiKey, expiry_of
from sandbox.domain.payments.edits import broken
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import BusyPayment, Payment
from sandbox.domain.records import Record
from sandbox.domain.secrets import find_misplaced
from sandbox.domain.switches import defaults, parted
from sandbox.domain.text import UnknownWord
from sandbox.domain.webhooks import BY_HAND, ENDPOINTS_MAX, Delivery, Endpoint
from sandbox.scenarios.matcher import Resolve, Running
from sandbox.scenarios.parser import ScenarioError, parse_scenario
from sandbox.scenarios.queue import QUEUE_MAX, WEBHOOK_FAULTS_MAX, rule_of
from sandbox.scenarios.scenario import Scenario
from sandbox.store.documents import Unreadable, from_document
from sandbox.store.files.port import COUNTERS, MESSAGES, RECORDS, TIMERS, WORLD
from sandbox.store.fixture import Cast, seed
from sandbox.store.generated_data import generate
from sandbox.store.ids import Ids
from sandbox.store.records import Records
from sandbox.store.store import Store
from sandbox.store.tables import NAMES, set_of
from sandbox.store.world_documents import NotRestored, SavedWorld, load, only, place
from sandbox.store.world_state import Counters, WorldState
from sandbox.webhooks.outbox import TooManyEndpoints, declare
from sandbox.worlds.clock import continue_clock
from sandbox.worlds.snapshot import parse_snapshot
from sandbox.worlds.spec import DEFAULT_WORLD
from sandbox.worlds.world import World


def run_scenario(world: World, scenario: Scenario) -> Running:
    """Run the scenario in place of the previous one.

    Raises ScenarioError if it names something that the world lacks; then nothing changed.
    """
    document = scenario.model_dump(mode="json", exclude_unset=True)
    if found := find_misplaced(document, world.profile.key_format):
        raise ScenarioError(str(found))
    running = _running(world, scenario, world.now(), world.find_named)
    _must_have_bodies(world, scenario)
    _declare_endpoints(world, scenario)
    if scenario.readings:
        world.set_readings(scenario.readings)
    world.put_state(scenario=document, scenario_since=running.since)
    world.coverage.ran(scenario.name)
    return world.count_rules(running)


def _running(world: World, scenario: Scenario, since: datetime, resolve: Resolve) -> Running:
    return Running(scenario, resolve, lambda name: world.draws.fraction(name), since)


_ID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _find_named_before(world: World, kind: str, name: str) -> str:
    """Return the id of a record like `find_named`, also if a reset has removed the record."""
    try:
        return world.find_named(kind, name)
    except UnknownWord:
        if _ID.fullmatch(name) is None:
            raise
        return name


def _must_have_bodies(world: World, scenario: Scenario) -> None:
    """Raise ScenarioError for a fault in bodies of answers that have none in this world."""
    for number, rule in enumerate(scenario.rule, start=1):
        why_not = world.why_not(rule.then.fault, rule.when.operations)
        if why_not is not None:
            named = f" {rule.name!r}" if rule.name else ""
            raise ScenarioError(f"rule {number}{named}, then.fault: {why_not}")


def _declare_endpoints(world: World, scenario: Scenario) -> None:
    """Register the endpoints of the scenario, which outlive it. Raises ScenarioError."""
    now, endpoints = world.now(), dict[str, Mapping[str, Any]]()
    for number, one in enumerate(scenario.endpoint, start=1):
        account_id = one.account
        if account_id is not None:
            try:
                account_id = world.find_named("account", account_id)
            except UnknownWord as error:
                where = f"endpoint {number} {one.name!r}, account"
                raise ScenarioError(f"{where}: {error}", error.nearest) from None
        endpoints[one.name] = {**one.fields(account_id), "created_at": now}
    try:
        declare(world, endpoints)
    except TooManyEndpoints as error:
        raise ScenarioError(f"endpoint: {error}") from None


# --- restoring from the documents of a state file or a snapshot ---------------------------------

ENDPOINTS: Final = "endpoints"


def _restore(world: World, saved: SavedWorld, *, is_beginning: bool = False) -> None:
    """Fill an empty world from the documents of an earlier run or of a saved world.

    A new world (`is_beginning`) has its own clock if its spec sets one, its own draws if its seed
    differs, and no requests yet. Raises NotRestored.
    """
    state, counters = only(saved, WORLD, WorldState), only(saved, COUNTERS, Counters)
    tables = saved.tables
    scratch = Store()
    begins = state.begins
    cast_seed = begins.seed if begins.cast_seed is None else begins.cast_seed
    world.cast = cast = _seed(world, scratch, world.draws_of(cast_seed))
    if saved.is_from_file and state.id != world.id:
        raise NotRestored(f"{WORLD}, {state.id[:80]}: id: must be that of the world")
    for what, held, most in (
        ("queue", state.queue, QUEUE_MAX),
        ("webhook_faults", state.webhook_faults, WEBHOOK_FAULTS_MAX),
        (ENDPOINTS, tables.get(ENDPOINTS, ()), ENDPOINTS_MAX),
    ):
        # A state file may have more, from a version without this limit.
        if len(held) > most and not saved.is_from_file:
            raise NotRestored(f"{what}: has {len(held)}, and a world can have at most {most}")
    load(world.store, saved)
    if not saved.is_from_file:
        _give_own_keys(world.store.table(ApiKey), scratch, keeps_others=state.id == world.id)
    _check(world.store, saved)
    if not saved.is_trusted:
        _check_messages(world)
        _check_timers(world)
        _check_webhook_faults(state)
    with place(WORLD, state.id):
        _restore_state(world, state, counters, is_beginning=is_beginning)
    world.cast = cast.of_those(world.has_record)


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
    # An edited snapshot may name a reading by its switch.
    switches, chosen = parted(state.switches)
    has_own_clock = is_beginning and world.spec.clock != ClockSetting()
    world.store.counters = counters
    world.draws = world.draws_of(world.spec.seed)
    world.journal.restart(counters)
    world.store.put(
        replace(
            state,
            id=own.id,
            begins=own.begins,
            clock=own.clock if has_own_clock else continue_clock(state.clock, world.system_clock),
            switches={**defaults(), **switches},
            readings=chosen | dict(state.readings),
        )
    )
    if state.scenario is not None:
        since = state.scenario_since or world.now()
        find = world.find_named if is_beginning else partial(_find_named_before, world)
        running = _running(world, parse_scenario(dict(state.scenario)), since, find)
        # A scenario that was added to the file by hand has no counts.
        if rules:
            running.go_on_from(rules)
        world.count_rules(running)


# --- records ----------------------------------------------------------------------------------


_MATERIAL: Final = ("lookup", "salt", "digest", "key_last4", "readable_key")


def _give_own_keys(keys: Records, scratch: Store, *, keeps_others: bool) -> None:
    """Give the keys of the cast the key material that they have in `scratch`.

    Without `keeps_others` all other keys are removed, so that none leads to two worlds.
    """
    saved = keys.by_id
    keys.forget()
    for id, key in saved.items():
        if (fresh := scratch.get(ApiKey, id)) is not None:
            key = replace(key, **{name: getattr(fresh, name) for name in _MATERIAL})
        elif not keeps_others:
            continue
        with place(keys.table.name, id):
            keys.add(id, key)


References = tuple[type[Record], str, type[Record]]
"""A kind of records, a field with an id, several or none, and the kind of its targets."""

_REFERENCES: Final[Sequence[References]] = (
    (Account, "parent_account_ids", Account),
    *((kind, "account_id", Account) for kind in (Terminal, Location, Credential, ApiKey, Batch)),
    (Batch, "terminal_id", Terminal),
)
_OF_PAYMENTS: Final[Sequence[References]] = (
    (Payment, "account_id", Account),
    (Payment, "terminal_id", Terminal),
    (Payment, "batch_id", Batch),
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
    for kind, field, target in rows:
        known, what = store.all(target), target.__name__.lower()
        for id, record in store.all(kind).items():
            named = getattr(record, field)
            if named is not None and not set_of(named) <= known.keys():
                raise NotRestored(f"{NAMES[kind]}, {id}: {field}: there is no such {what}")


# --- documents that people can edit: checks raise ValueError, and never repeat a value ------------


def _check_timers(world: World) -> None:
    """Check that every timer can be fired."""
    for timer in world.store.timers.by_due():
        with place(TIMERS, timer.id):
            if timer.kind == clock.LATE_ANSWER and timer.detail.partition(" ")[0] not in OUTCOMES:
                raise Unreadable("detail: must be a known outcome")
            if timer.kind == clock.BATCH_CLOSES:  # Source: assumed B16
                try:
                    found = from_document(BatchSchedule, from_json(timer.detail))
                    if found != batch_schedule(found.times, found.days, found.zone):
                        raise ValueError("must name each time and day once, in order")
                except ValueError as error:
                    raise Unreadable(f"detail: {error}") from None


def _check_webhook_faults(state: WorldState) -> None:
    """Check that every fault for a delivery can be used. What it names may be gone."""
    for entry in state.webhook_faults:
        with place(WORLD, state.id):
            try:
                rule_of(entry)
            except ScenarioError as error:
                raise Unreadable(f"webhook_faults, {entry.id}: {error}") from None


def _check_messages(world: World) -> None:
    """Check that every message can be sent, and that every delivery has a message."""
    for message in world.store.messages():
        with place(MESSAGES, message.id):
            if message.event_type not in EVENTS:
                raise Unreadable("event_type: must be a known event")
        with place(RECORDS, message.id):
            # Raises ValueError if the body cannot be rendered.
            body_of(message)
    for delivery in world.store.all(Delivery).values():
        if world.store.get(Message, delivery.message_id) is None:
            raise NotRestored(f"deliveries, {delivery.id}: message_id: there is no such message")


# --- beginning and resetting --------------------------------------------------------------------


def fill(world: World, saved: SavedWorld | None = None) -> None:
    """Fill an empty world from its fixture or from a saved world. Raises NotRestored."""
    if saved is None:
        _begin(world)
    else:
        _restore(world, saved)
    world.coverage.begin(world.scenario)


def begin_anew(world: World, fresh: World) -> None:
    """Reset the world to the content of `fresh`, a new world of the same spec.

    `fresh` must not be used afterwards. Data, keys and clock go back to the fixture; messages and
    journal are cleared. Switches, readings and endpoints stay, but the endpoints of a saved world
    replace them (assumed D25).
    """
    state = replace(fresh.state, switches=world.state.switches, readings=world.state.readings)
    scenario = fresh.scenario
    endpoints: tuple[Endpoint, ...] = ()
    is_saved = world.spec.fixture.snapshot is not None
    if not (is_saved and fresh.outbox.endpoints):
        endpoints = tuple(world.outbox.endpoints.values())
    if not is_saved:
        begun = clock.RUNNING.after(world.spec.clock, world.system_clock())
        state = replace(state, clock=begun)
    if scenario is None and world.scenario is not None:
        since = state.clock.time_at(world.system_clock())
        find = partial(_find_named_before, world)
        scenario = _running(world, world.scenario.scenario, since, find)
        state = replace(state, scenario=world.state.scenario, scenario_since=since)
    world.take_over(fresh, state, scenario)
    with world.store.begin() as unit:
        for endpoint in endpoints:
            # Failures are forgotten, but not what an operator decided (assumed D25).
            reason = endpoint.disabled_reason if endpoint.disabled_reason == BY_HAND else None
            unit.put(replace(endpoint, disabled_reason=reason, failing_since=None))
    world.clock.on_set()
    world.outbox.resume()
    world.coverage.begin(world.scenario)


def end_busy_payments(world: World) -> None:
    """End payments whose requests waited for the processor, because their clients are gone."""
    with world.store.begin() as unit:
        for id in world.store.all(BusyPayment):
            payment = world.store.get(Payment, id)
            if payment is not None and world.store.timer(clock.TAP_EXPIRES, id) is None:
                due = from_ms(payment.transaction.created_at)
                unit.schedule(Timer(kind=clock.TAP_EXPIRES, subject=id, due=due))
            unit.remove(BusyPayment, id)


def _begin(world: World) -> None:
    """Fill the world from its fixture."""
    spec = world.spec
    if spec.fixture.snapshot is not None:
        _restore(world, parse_snapshot(spec.fixture.snapshot), is_beginning=True)
        world.set_switches(spec.switches)
        world.set_readings(spec.readings)
        end_busy_payments(world)
    else:
        world.cast = _seed(world, world.store, world.draws)
        # The ids of endpoints are their cast names.
        endpoints = {
            name: world.cast.resolve(document) for name, document in spec.fixture.endpoints.items()
        }
        declare(world, endpoints)
        schedule_expiries(world)
    if spec.generated_data is not None:
        generate(
            world.store, spec.generated_data, world.draws, seed=spec.seed, now=world.clock.now()
        )


def _seed(world: World, store: Store, draws: Ids) -> Cast:
    fixture, key_format = world.spec.fixture, world.profile.key_format
    return seed(store, fixture, draws, key_format, has_fixed_keys=world.id == DEFAULT_WORLD)


def schedule_expiries(world: World, until: datetime | None = None) -> None:
    """Schedule the expiries of keys that lie ahead, or only those until an instant.

    A key has no state of being expired, so it can be used until then. Source: spec 3.1-expiry.
    """
    now = world.now()
    with world.store.begin() as unit:
        for key in unit.find(ApiKey, {})[0]:
            timer = expiry_of(key)
            is_ahead = timer.due > now and (until is None or timer.due <= until)
            if is_ahead and key.deleted_at is None:
                unit.schedule(timer)
