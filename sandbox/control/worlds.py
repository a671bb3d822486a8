"""Control endpoints on worlds, their clocks and switches."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NewType, NotRequired, TypedDict

from msgspec.structs import replace

from sandbox.control import scenarios
from sandbox.control.carried import unavailable
from sandbox.control.gathering import (
    clock_of,
    kept_elsewhere,
    others_of,
    said_elsewhere,
    sketch_of,
    state_of,
)
from sandbox.control.long import alone, written_list
from sandbox.control.readings import own_readings, readings_apart
from sandbox.control.rows import ControlFault, ControlRequest, Document, Written, invalid
from sandbox.control.world_rows import WorldRow, row_of, row_of_kept
from sandbox.domain import switches
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import to_wire
from sandbox.domain.text import nearest
from sandbox.store.files.port import Unavailable
from sandbox.store.fixture import Fixture, FixtureError
from sandbox.store.saved_world import NotRestored
from sandbox.store.steps import Steps
from sandbox.worlds.clock import ClockView
from sandbox.worlds.due_timers import advance_to, catch_up
from sandbox.worlds.elsewhere import Elsewhere, KeptWorld
from sandbox.worlds.limits import Protected, TooManyWorlds, WorldTaken
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.look_shapes import WorldsQuery
    from sandbox.control.shapes import Advance, ClockBody, CreateWorld


class Health(TypedDict):
    """That the server answers; `store` is `memory`, or the name of the state file.

    `server` is the name of a server that shares worlds with others.
    """

    status: Literal["ok"]
    version: str
    store: str
    server: NotRequired[str]


class KeyOfCast(TypedDict):
    """A key of the cast, with its plaintext."""

    id: str
    key: str


class WorldView(TypedDict):
    """A world, with the ids of its cast and the plaintext of their keys.

    `readings` are those that differ from the profile's.
    """

    id: str
    name: str
    seed: int
    fixture: str
    scenario: str | None
    readings: dict[str, str]
    clock: ClockView
    accounts: dict[str, str]
    terminals: dict[str, str]
    locations: dict[str, str]
    keys: dict[str, KeyOfCast]


class Worlds(TypedDict):
    """Every world that is in use, whole or as rows."""

    worlds: list[WorldView | WorldRow]
    total: int


class FiredTimer(TypedDict):
    """Something that fell due while a clock was advanced."""

    at: str
    kind: str
    subject: str


class Advanced(TypedDict):
    """The new time of a clock, and the events on the way."""

    now: str
    fired: list[FiredTimer]


SwitchValues = NewType("SwitchValues", dict[str, Any])
"""The values of all switches, by name."""


def view(world: World) -> WorldView:
    """The world as the control API shows it, with the cast and the plaintext of its keys."""
    return {
        "id": world.spec.id,
        "name": world.spec.name,
        "seed": world.spec.seed,
        "fixture": world.spec.fixture.name,
        "scenario": None if world.scenario is None else world.scenario.scenario.name,
        "readings": readings_apart(world),
        "clock": world.clock.view(),
        "accounts": world.cast.accounts,
        "terminals": world.cast.terminals,
        "locations": world.cast.locations,
        "keys": {name: {"id": id, "key": key} for name, (id, key) in world.cast.keys.items()},
    }


def health(request: ControlRequest) -> Health:
    """That the server answers, its version, and its store.

    One that shares worlds is not healthy while it has no contact with the others, nor once it
    leaves them.
    """
    services = request.services
    shown: Health = {"status": "ok", "version": services.version, "store": services.store}
    if (elsewhere := services.elsewhere) is not None:
        if not elsewhere.is_current:
            raise unavailable(Unavailable("this server has no contact with the others, or leaves"))
        shown["server"] = elsewhere.name
    return shown


async def create(request: ControlRequest) -> WorldView:
    """A new world, filled from its fixture. Everything is checked before anything is made."""
    body: CreateWorld = request.body
    scenario = None if body.scenario is None else scenarios.chosen(request, body.scenario)
    spec = WorldSpec(
        id=own_id(request, body.id),
        name=body.name or "",
        seed=request.services.default_seed if body.seed is None else body.seed,
        fixture=_fixture(request, body.fixture),
        clock=body.clock.setting() if body.clock else ClockSetting(),
        switches=_switches(body.switches or {}),
        readings=own_readings(body.readings or {}),
        generated_data=body.invent.generated_data() if body.invent else None,
    )
    worlds = request.services.worlds
    try:
        world = await made(request, spec)
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
            await worlds.slices.run(worlds.deleting(world))
            raise
    # The answer waits until it is written.
    request.found = world
    await catch_up(world, worlds.slices)
    return view(world)


async def made(request: ControlRequest, spec: WorldSpec) -> World:
    """The new world. Raises WorldTaken, TooManyWorlds or NotRestored."""
    worlds, team = request.services.worlds, request.who.team
    if (elsewhere := request.services.elsewhere) is None:
        return await worlds.slices.run(worlds.creating(spec, team), is_large=True)
    async with elsewhere.reserved(spec.id, team) as id:
        spec = replace(spec, id=id)
        return await worlds.slices.run(worlds.creating(spec, team), is_large=True)


def own_id(request: ControlRequest, name: str | None) -> str:
    """The id of a new world with this name; empty if it has none. Raises ControlFault."""
    if name is None:
        return ""
    id = request.who.meant(name)
    if not request.who.reaches(id):
        raise invalid(f"id: must be a plain name, or end with @{request.who.team}")
    return id


def _fixture(request: ControlRequest, name: str | None) -> Fixture:
    services = request.services
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


async def list_all(request: ControlRequest) -> Written[Worlds]:
    """Every world that is in use and within reach."""
    worlds = request.services.worlds
    await worlds.slices.run(worlds.dropping_unused())
    listed = request.who.worlds(worlds)
    query: WorldsQuery = request.query
    elsewhere = request.services.elsewhere
    name = None if elsewhere is None else elsewhere.name
    views: Iterable[WorldView | WorldRow] = (
        row_of(world, name) if query.shape == "row" else view(world) for world in listed
    )
    if (others := others_of(request)) is not None:
        all_views = await _with_others(request, others, list(views))
        whole = Worlds(worlds=[], total=len(all_views))
        return await worlds.slices.run(written_list(whole, "worlds", all_views))
    answer = Worlds(worlds=[], total=len(listed))
    return await worlds.slices.run(written_list(answer, "worlds", views))


async def _with_others(
    request: ControlRequest, others: Elsewhere, own: list[WorldView | WorldRow]
) -> list[WorldView | WorldRow]:
    """These worlds and those that other servers have, or none has; by id."""
    query: WorldsQuery = request.query
    for said in await said_elsewhere(request, others):
        own += said["worlds"]
    beside = await kept_elsewhere(request, others, {one["id"] for one in own})
    worlds = request.services.worlds
    own += await worlds.slices.run(_views_of(request, beside, as_rows=query.shape == "row"))
    shown = {one["id"] for one in own}
    for one in beside:
        if one.id not in shown:
            # It began from a file that only its own documents hold.
            await others.have_world(one.id)
            if (here := worlds.get(one.id)) is not None:
                own.append(view(here))
    return sorted(own, key=lambda one: one["id"])


def _views_of(
    request: ControlRequest, kept: list[KeptWorld], *, as_rows: bool
) -> Steps[list[WorldView | WorldRow]]:
    """Worlds that no server has, one in each step; without those whose fixture is not at hand."""
    views: list[WorldView | WorldRow] = []
    for one in kept:
        if as_rows:
            views.append(row_of_kept(request, one))
        else:
            try:
                sketch = yield from sketch_of(request, one)
            except FixtureError:
                continue
            views.append(view(sketch) | {"clock": clock_of(request, state_of(one)).view()})
        yield
    return views


def read(request: ControlRequest) -> WorldView:
    """One world."""
    return view(request.world)


async def delete(request: ControlRequest) -> None:
    """Forget a world."""
    worlds = request.services.worlds
    if worlds.before_deleting is not None:
        await worlds.before_deleting(request.world.id)
    async with alone(request) as world:
        try:
            await worlds.slices.run(worlds.deleting(world))
        except Protected as error:
            raise ControlFault(409, "protected", str(error)) from None


async def reset(request: ControlRequest) -> WorldView:
    """Bring a world back to its fixture, with the same keys."""
    worlds = request.services.worlds
    async with alone(request) as world:
        try:
            await worlds.slices.run(worlds.resetting(world), is_large=True)
        except NotRestored as error:
            raise _faulty(world.spec.fixture.name, error) from None
        await catch_up(world, worlds.slices)
        return view(world)


async def save(request: ControlRequest) -> Written[Document]:
    """The whole world as one document. Source: assumed D25."""
    from sandbox.worlds.snapshot import snapshot

    async with alone(request) as world:
        slices = request.services.worlds.slices
        return Written(await slices.run(snapshot(world), is_large=True))


async def load(request: ControlRequest) -> WorldView:
    """A saved world in place of this one, whose id and keys of the cast stay (assumed D25)."""
    slices = request.services.worlds.slices
    async with alone(request) as world:
        try:
            restored = await slices.run(_loaded(request, world.id), is_large=True)
        except (NotRestored, FixtureError) as error:
            raise ControlFault(
                400, "not_restored", f"snapshot: {error}", details="nothing was changed"
            ) from None
        restored.marks = world.marks
        # From here on its clock is watched, whether or not anybody asks for something.
        await catch_up(restored, slices)
        return view(restored)


def _loaded(request: ControlRequest, id: str) -> Steps[World]:
    from sandbox.worlds.restore import spec_of
    from sandbox.worlds.secret_documents import refuse_secrets
    from sandbox.worlds.snapshot import read_snapshot

    saved = yield from read_snapshot(request.body)
    if not saved.is_trusted:
        yield from refuse_secrets(saved, request.services.worlds.profile.key_format)
    spec = spec_of(saved, request.services.fixture_of, id=id)
    return (yield from request.services.worlds.restoring(spec, saved))


def read_clock(request: ControlRequest) -> ClockView:
    """The clock of a world."""
    return request.world.clock.view()


async def set_clock(request: ControlRequest) -> ClockView:
    """Set the given values of a world's clock.

    When it moves ahead, everything due on the way happens at its own time (assumed D23).
    """
    body: ClockBody = request.body
    world = request.world
    if body.now is not None and body.now > world.clock.now():
        await advance_to(world, body.now, request.services.worlds.slices)
    world.clock.set(body.setting())
    world.watched = None
    await catch_up(world, request.services.worlds.slices)
    return read_clock(request)


async def advance_clock(request: ControlRequest) -> Advanced:
    """Advance the clock from one due time to the next; returns the events in order."""
    body: Advance = request.body
    world = request.world
    try:
        soonest = world.store.next_timer()
        end = body.end(world.clock.now(), None if soonest is None else soonest.due)
    except ValueError as error:
        raise invalid(str(error)) from None
    fired = await advance_to(world, end, request.services.worlds.slices)
    return {
        "now": to_wire(world.clock.now()),
        "fired": [
            {"at": to_wire(timer.due), "kind": timer.kind, "subject": timer.subject}
            for timer in fired
        ],
    }


def read_switches(request: ControlRequest) -> SwitchValues:
    """The current switches of a world."""
    return SwitchValues(dict(request.world.switches))


def set_switches(request: ControlRequest) -> SwitchValues:
    """Set switches of a world; those not named stay."""
    request.world.set_switches(_switches(request.body))
    return read_switches(request)
