"""Control endpoints on worlds, their clocks and switches."""

from typing import TYPE_CHECKING, Any

from sandbox.control import scenarios
from sandbox.control.rows import Ask, ControlFault, invalid
from sandbox.domain.instants import to_wire
from sandbox.domain.words import nearest
from sandbox.store.fixtures import Fixture, FixtureError
from sandbox.world import switches
from sandbox.world.agenda import fire_due, walk
from sandbox.world.clock import ClockSetting
from sandbox.world.kept import NotRestored
from sandbox.world.registry import Protected, TooManyWorlds, WorldTaken
from sandbox.world.spec import WorldSpec

if TYPE_CHECKING:
    from sandbox.control.shapes import Advance, ClockBody, CreateWorld


def health(ask: Ask) -> dict[str, Any]:
    """That the server answers, its version, and where it keeps state."""
    return {"status": "ok", "version": ask.services.version, "store": ask.services.store}


def create(ask: Ask) -> dict[str, Any]:
    """A new world, filled from its fixture. Everything is checked before anything is made."""
    body: CreateWorld = ask.body
    scenario = None if body.scenario is None else scenarios.chosen(ask, body.scenario)
    spec = WorldSpec(
        id=body.id or "",
        name=body.name or "",
        seed=ask.services.default_seed if body.seed is None else body.seed,
        fixture=_fixture(ask, body.fixture),
        clock=body.clock.setting() if body.clock else ClockSetting(),
        switches=_switches(body.switches or {}),
        invention=body.invent.invention() if body.invent else None,
    )
    try:
        world = ask.services.worlds.create(spec)
    except WorldTaken as error:
        raise ControlFault(409, "world_taken", str(error)) from None
    except TooManyWorlds as error:
        raise ControlFault(409, "too_many_worlds", str(error)) from None
    except NotRestored as error:
        raise _faulty(spec.fixture.name, error) from None
    if scenario is not None:
        try:
            scenarios.start(world, scenario)
        except ControlFault:
            ask.services.worlds.delete(world)
            raise
    fire_due(world)
    return world.view()


def _fixture(ask: Ask, name: str | None) -> Fixture:
    services = ask.services
    if name is None or name == services.default_fixture.name:
        return services.default_fixture
    known = services.fixture_names()
    if name not in known:
        raise ControlFault(
            400,
            "unknown_fixture",
            f"fixture: there is no {name!r}",
            details=f"there are: {', '.join(known)}",
            nearest=nearest(name, known),
        )
    try:
        return services.fixtures(name)
    except FixtureError as error:
        raise _faulty(name, error) from None


def _faulty(fixture: str, error: Exception) -> ControlFault:
    return ControlFault(
        400, "faulty_fixture", f"fixture {fixture!r} cannot be used", details=str(error)
    )


def _switches(wanted: dict[str, Any]) -> dict[str, Any]:
    try:
        return switches.checked(wanted)
    except switches.UnknownSwitch as error:
        unknown = next((name for name in wanted if name not in switches.SWITCHES), None)
        raise ControlFault(
            400,
            "unknown_switch",
            f"switches: {error}",
            nearest=unknown and nearest(unknown, switches.SWITCHES),
        ) from None


def list_all(ask: Ask) -> dict[str, Any]:
    """Every world that is in use."""
    ask.services.worlds.drop_unused()
    views = [world.view() for world in ask.services.worlds]
    return {"worlds": views, "total": len(views)}


def read(ask: Ask) -> dict[str, Any]:
    """One world."""
    return ask.world.view()


def delete(ask: Ask) -> None:
    """Forget a world."""
    try:
        ask.services.worlds.delete(ask.world)
    except Protected as error:
        raise ControlFault(409, "protected", str(error)) from None


def reset(ask: Ask) -> dict[str, Any]:
    """Bring a world back to its fixture, with the same keys."""
    try:
        ask.services.worlds.reset(ask.world)
    except NotRestored as error:
        raise _faulty(ask.world.spec.fixture.name, error) from None
    fire_due(ask.world)
    return ask.world.view()


def save(ask: Ask) -> bytes:
    """The whole world as one document. Source: assumed D25."""
    from sandbox.world.snapshots import snapshot

    return snapshot(ask.world)


def load(ask: Ask) -> dict[str, Any]:
    """A saved world in place of this one, whose id and keys of the cast stay (assumed D25)."""
    from sandbox.world.restoring import spec_of
    from sandbox.world.secret_documents import refuse_secrets
    from sandbox.world.snapshots import read_snapshot

    try:
        kept = read_snapshot(ask.body)
        if not kept.is_trusted:
            refuse_secrets(kept, ask.services.worlds.profile.key_format)
        spec = spec_of(kept, ask.services.fixture_of, id=ask.world.id)
        world = ask.services.worlds.restore(spec, kept)
    except (NotRestored, FixtureError) as error:
        raise ControlFault(
            400, "not_restored", f"snapshot: {error}", details="nothing was changed"
        ) from None
    # From here on its clock is watched, whether or not anybody asks for something.
    fire_due(world)
    return world.view()


def read_clock(ask: Ask) -> dict[str, Any]:
    """The clock of a world."""
    return dict(ask.world.clock.view())


async def set_clock(ask: Ask) -> dict[str, Any]:
    """Set the clock of a world; what is not given stays.

    Setting it ahead lets happen what falls due on the way, each thing at its moment (assumed D23).
    """
    body: ClockBody = ask.body
    world = ask.world
    if body.now is not None and body.now > world.clock.now():
        await walk(world, body.now)
    world.clock.set(body.setting())
    world.watched = None
    fire_due(world)
    return read_clock(ask)


async def advance_clock(ask: Ask) -> dict[str, Any]:
    """Move the clock ahead, from one due time to the next; what happened on the way, in order."""
    body: Advance = ask.body
    world = ask.world
    try:
        end = body.end(world.clock.now())
    except ValueError as error:
        raise invalid(str(error)) from None
    fired = await walk(world, end)
    return {
        "now": to_wire(world.clock.now()),
        "fired": [
            {"at": to_wire(timer.due), "kind": timer.kind, "subject": timer.subject}
            for timer in fired
        ],
    }


def read_switches(ask: Ask) -> dict[str, Any]:
    """The switches of a world, as they stand."""
    return ask.world.switches


def set_switches(ask: Ask) -> dict[str, Any]:
    """Set switches of a world; those not named stay."""
    ask.world.set_switches(_switches(ask.body))
    return ask.world.switches
