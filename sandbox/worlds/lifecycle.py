"""Filling, restoring and resetting a world."""

from collections.abc import Iterator

from msgspec.structs import replace

from sandbox.domain.clock import RUNNING, TAP_EXPIRES, Timer
from sandbox.domain.directory import Account
from sandbox.domain.instants import from_ms
from sandbox.domain.keys import ApiKey, expiry_of
from sandbox.domain.payments.transactions import BusyPayment, Payment
from sandbox.domain.webhooks import Endpoint
from sandbox.store.fixture import Cast, seed
from sandbox.store.generated_data import generate
from sandbox.store.ids import Ids
from sandbox.store.saved_world import SavedWorld
from sandbox.store.store import Store
from sandbox.webhooks.endpoints import declare, endpoint_of
from sandbox.worlds.restore import restore, seed_of
from sandbox.worlds.snapshot import parse_snapshot
from sandbox.worlds.spec import DEFAULT_WORLD
from sandbox.worlds.world import World


def fill(world: World, saved: SavedWorld | None = None) -> None:
    """Fill an empty world from its fixture, or from a saved world. Raises NotRestored."""
    world.has_begun = saved is None
    if saved is None:
        _begin(world)
    else:
        _restore(world, saved)
    world.coverage.begin(world.scenario)


def begin_anew(world: World, fresh: World) -> None:
    """Reset the world to what `fresh` holds.

    `fresh` is a new world of the same spec, which is not used afterwards. Data, keys and clock go
    back to the fixture; messages and journal are cleared. Switches, readings and endpoints stay,
    unless the fixture is a saved world with endpoints of its own (assumed D25).
    """
    state = replace(fresh.state, switches=world.state.switches, readings=world.state.readings)
    scenario = fresh.scenario
    endpoints: tuple[Endpoint, ...] = ()
    if world.spec.fixture.snapshot is None:
        endpoints = tuple(world.outbox.endpoints.values())
        clock = RUNNING.after(world.spec.clock, world.system_clock())
        state = replace(state, clock=clock)
    if scenario is None and world.scenario is not None:
        since = state.clock.time_at(world.system_clock())
        scenario = world.scenario.begin_again(since)
        state = replace(state, scenario=world.state.scenario, scenario_since=since)
    world.take_over(fresh, state, scenario)
    unit = world.store.begin()
    for endpoint in endpoints:
        unit.put(replace(endpoint, failing_since=None))
    unit.commit()
    world.clock.tell()
    world.outbox.resume()
    world.has_begun = True
    world.coverage.begin(world.scenario)


def end_busy_payments(world: World) -> None:
    """End the payments whose requests waited for the processor: their clients are gone."""
    busy = world.store.all(BusyPayment)
    if not busy:
        return
    unit = world.store.begin()
    for id in busy:
        payment = world.store.get(Payment, id)
        if payment is not None and world.store.timer(TAP_EXPIRES, id) is None:
            due = from_ms(payment.transaction.created_at)
            unit.schedule(Timer(kind=TAP_EXPIRES, subject=id, due=due))
        unit.remove(BusyPayment, id)
    unit.commit()


def _begin(world: World) -> None:
    """Fill the world from its fixture."""
    spec = world.spec
    if spec.fixture.snapshot is not None:
        _restore(world, parse_snapshot(spec.fixture.snapshot), is_beginning=True)
        if spec.switches:
            world.set_switches(spec.switches)
        if spec.readings:
            world.set_readings(spec.readings)
        end_busy_payments(world)
    else:
        world.cast = _seed(world, world.store, world.draws)
        declare(world.store, _endpoints(world))
    if spec.generated_data is not None:
        generate(
            world.store, spec.generated_data, world.draws, seed=spec.seed, now=world.clock.now()
        )
    if spec.fixture.snapshot is None:
        _schedule_expiries(world)


def _endpoints(world: World) -> Iterator[Endpoint]:
    """The webhook endpoints of the fixture, each known by its cast name."""
    for name, document in world.spec.fixture.endpoints.items():
        fields = dict(document)
        account, created_at = fields.pop("account", None), fields.pop("created_at")
        fields["account_id"] = world.cast.accounts[account] if account else None
        yield endpoint_of(name, fields, created_at=created_at, named_chars=world.draws.named_chars)


def _seed(world: World, store: Store, draws: Ids) -> Cast:
    fixed = draws.fixed_chars if world.id == DEFAULT_WORLD else None
    return seed(store, world.spec.fixture, draws, world.profile.key_format, fixed)


def _schedule_expiries(world: World) -> None:
    unit = world.store.begin()
    for key in unit.find(ApiKey, {})[0]:
        if (timer := expiry_of(key)).due > world.clock.now():
            unit.schedule(timer)
    unit.commit()


def _restore(world: World, saved: SavedWorld, *, is_beginning: bool = False) -> None:
    """Fill the world from the documents of an earlier run or of a saved world."""
    scratch = Store()
    # The ids of the cast are those of the seed that they were made with.
    draws = world.draws_of(seed_of(saved))
    cast = _seed(world, scratch, draws)
    fresh_keys = {key.id: key for key in scratch.begin().find(ApiKey, {})[0]}
    world.cast = cast
    restore(world, saved, fresh_keys, is_beginning=is_beginning)
    world.cast = cast.of_those(world.has_record)
    for account in world.store.all(Account).values():
        world.note_account(account)
