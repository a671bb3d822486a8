"""Filling, restoring and resetting a world.

A world is filled in steps before it is used, because a large one takes seconds.
"""

from typing import TYPE_CHECKING

from sandbox.domain.keys import ApiKey, expiry_of
from sandbox.store.building import build_index
from sandbox.store.generated_data import generate
from sandbox.store.memory.store import MemoryStore
from sandbox.store.preparing import ROWS_AT_ONCE_MAX
from sandbox.store.seeding import Cast, seed
from sandbox.store.steps import OFTEN, Container, Steps
from sandbox.worlds.ids import Ids
from sandbox.worlds.spec import DEFAULT_WORLD
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.worlds.saved_world import SavedWorld


def fill(world: World, saved: "SavedWorld | None" = None) -> Steps[None]:
    """Fill an empty world from its fixture, or from a saved world.

    The world is not used before the last step. Raises NotRestored.
    """
    world.has_begun = saved is None
    if saved is None:
        yield from _begin(world)
    else:
        yield from _restore(world, saved)
    yield from _prepare(world)
    if world.is_saved:
        yield from _have_changes_noted(world, saved)
    if saved is not None:
        from sandbox.worlds.restore import end_what_was_under_way

        # This is a change too, and must be noted.
        end_what_was_under_way(world, saved)
    world.coverage.begin(world.store.messages(), world.scenario)


def begin_anew(world: World, fresh: World) -> list[Container]:
    """Reset the world to what `fresh` holds; returns the containers to let go of.

    `fresh` is a new world of the same spec, which is not used afterwards. Data, keys and clock go
    back to the fixture; messages and journal are cleared. Switches and endpoints stay, unless the
    fixture is a saved world with endpoints of its own (assumed D25).
    """
    left = world.empty()
    world.take_over(fresh)
    if world.spec.fixture.snapshot is not None:
        _go_on_as(world, fresh)
    world.has_begun = True
    world.coverage.begin(world.store.messages(), world.scenario)
    if world.recorder is not None:
        world.recorder.begin_anew()
        world.note_change()
    return left


def _go_on_as(world: World, fresh: World) -> None:
    """Continue as the saved world does from which the fresh one began."""
    world.clock.go_on_as(fresh.clock)
    world.queue = fresh.queue
    if fresh.scenario is not None:
        world.run_scenario(fresh.scenario.scenario).restore(fresh.scenario.counts())
    world.outbox.take_over(fresh.outbox)
    world.outbox.resume()


def _begin(world: World) -> Steps[None]:
    """Fill the world from its fixture."""
    spec = world.spec
    if spec.fixture.snapshot is not None:
        from sandbox.worlds.restore import end_what_was_under_way
        from sandbox.worlds.snapshot import parse_snapshot

        saved = yield from parse_snapshot(spec.fixture.snapshot)
        yield from _restore(world, saved, is_beginning=True)
        world.switches.update(spec.switches)
        end_what_was_under_way(world, saved)
    else:
        world.cast = yield from _seed(world, world.store, world.draws)
    if spec.generated_data is not None:
        yield from generate(
            world.store, spec.generated_data, world.draws, seed=spec.seed, now=world.clock.now()
        )
    if spec.fixture.snapshot is None:
        yield from _schedule_expiries(world)


def _seed(world: World, store: MemoryStore, draws: Ids) -> Steps[Cast]:
    fixed = draws.fixed_chars if world.id == DEFAULT_WORLD else None
    return seed(store, world.spec.fixture, draws, world.profile.key_format, fixed)


def _schedule_expiries(world: World) -> Steps[None]:
    unit = world.store.begin()
    for taken, key in enumerate(unit.find(ApiKey, {})[0]):
        if (timer := expiry_of(key)).due > world.clock.now():
            unit.schedule(timer)
        if not taken % OFTEN:
            yield
    unit.commit()


def _restore(world: World, saved: "SavedWorld", *, is_beginning: bool = False) -> Steps[None]:
    """Fill the world from the documents of an earlier run or of a saved world."""
    # Most worlds are neither restored nor saved, and start without this import.
    from sandbox.worlds.restore import restore, seed_of

    scratch = MemoryStore()
    # The ids of the cast are those of the seed that they were made with.
    draws = world.draws_of(seed_of(saved))
    cast = yield from _seed(world, scratch, draws)
    fresh_keys = {key.id: key for key in scratch.begin().find(ApiKey, {})[0]}
    world.cast = cast
    yield from restore(world, saved, fresh_keys, is_beginning=is_beginning)
    world.cast = cast.of_those(world.has_record)
    yield from world.note_records()


def _prepare(world: World) -> Steps[None]:
    """Build the indexes of large tables that changes query, because changes cannot wait for them.

    Records that were never read are left out: reading all of them takes longer than waiting.
    """
    for _, rows in world.store.tables():
        if len(rows.number_of) > ROWS_AT_ONCE_MAX and not rows.by_number.documents:
            for name in rows.table.for_changes:
                yield from build_index(rows, name)


def _have_changes_noted(world: World, saved: "SavedWorld | None") -> Steps[None]:
    """Record every change from here on, and everything if the world is new to the file."""
    from sandbox.worlds.recorder import Recorder

    recorder = Recorder(world)
    world.recorder = recorder
    for table, document in saved.placed() if saved is not None else ():
        recorder.place(table, document.id, document.number)
        yield
    world.store.on_commit = world.note_commit
    if saved is None or not saved.is_from_file:
        recorder.begin_anew()
    else:
        recorder.restored(saved.state_text())
