"""Worlds: creating, listing, renaming, resetting and deleting them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Final, Literal, Self

from msgspec.structs import replace
from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import from_json, to_json

from sandbox import library
from sandbox.control import servers
from sandbox.control.clock import ClockBody, ClockView
from sandbox.control.context import ControlFault, ControlRequest, exclusive_world, invalid
from sandbox.control.endpoints import CreateEndpoint, EndpointView, create_endpoint, list_endpoints
from sandbox.control.models import TOTAL, Body, Query, View, attribute
from sandbox.control.routing import PREFIX, WORLD, Written, delete, get, patch, post
from sandbox.control.scenarios import choose_scenario
from sandbox.control.switches import readings_apart
from sandbox.domain import readings, switches
from sandbox.domain.clock import ClockSetting
from sandbox.domain.field_types import WorldId, WorldName
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.text import nearest
from sandbox.domain.webhooks import ENDPOINTS_MAX
from sandbox.store import world_state
from sandbox.store.documents import from_document
from sandbox.store.files.port import StoreError
from sandbox.store.fixture import Fixture, FixtureError
from sandbox.store.world_documents import NotRestored
from sandbox.store.world_state import GeneratedData, WorldState
from sandbox.worlds.background import collect
from sandbox.worlds.clock import Clock
from sandbox.worlds.due_timers import catch_up
from sandbox.worlds.elsewhere import Elsewhere, KeptWorld, WorldLost
from sandbox.worlds.lifecycle import run_scenario
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import World

SHOWN_AT_ONCE: Final = 20
"""How many worlds of a list to encode at once: some milliseconds, or 50 for stored ones."""

_SeedNumber = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class InventBody(Body):
    """How many realistic merchants to generate, and how many terminals and locations for each."""

    merchants: world_state.MerchantCount
    terminals_per_merchant: world_state.PerMerchantCount = 1
    locations_per_merchant: world_state.PerMerchantCount = 1

    @model_validator(mode="after")
    def _is_not_too_much(self) -> Self:
        GeneratedData(**vars(self)).check()
        return self


def _freeze(clock: Any) -> Any:
    """Return the clock setting that an instant stands for: frozen there."""
    return {"now": parse_rfc3339(clock), "mode": "frozen"} if isinstance(clock, str) else clock


def _or_an_instant(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"type": "string", "format": "date-time"}, *schema["anyOf"]]


_ClockOrInstant = Annotated[
    ClockBody | None, BeforeValidator(_freeze), Field(json_schema_extra=_or_an_instant)
]


class CreateWorld(Body, example={"seed": 7, "clock": "2026-03-01T12:00:00Z"}):
    """How a new world starts. An instant as `clock` freezes it there (assumed D21).

    `endpoints` are registered before anything happens in the world.
    """

    id: WorldId | None = None
    name: WorldName | None = None
    seed: _SeedNumber | None = None
    fixture: str | None = None
    clock: _ClockOrInstant = None
    switches: dict[str, Any] | None = None
    readings: dict[str, str] | None = None
    scenario: Any = None
    invent: InventBody | None = None
    endpoints: Annotated[list[CreateEndpoint] | None, Field(max_length=ENDPOINTS_MAX)] = None


class WorldsQuery(Query):
    """Worlds with their cast and keys, or rows without them."""

    shape: Literal["row", "full"] = "full"


class RenameBody(Body, example={"name": "Release 7"}):
    """The new name of a world, for people."""

    name: WorldName


class KeyOfCast(View):
    """A key of the cast, with its plaintext."""

    id: str
    key: str


class WorldBase(View):
    """A world, with the ids of its cast."""

    id: str
    name: str = attribute("spec.name")
    seed: int = attribute("spec.seed")
    fixture: str = attribute("spec.fixture.name")
    scenario: str | None = attribute("scenario.scenario.name", None)
    readings: dict[str, str]
    clock: ClockView
    accounts: dict[str, str] = attribute("cast.accounts")
    terminals: dict[str, str] = attribute("cast.terminals")
    locations: dict[str, str] = attribute("cast.locations")


class WorldView(WorldBase):
    """A world, with the ids of its cast and the plaintext of their keys.

    `readings` are those that differ from the profile's.
    """

    keys: dict[str, KeyOfCast]


class CreatedWorld(WorldView):
    """A new world, with the endpoints that it begins with and their secrets."""

    endpoints: list[EndpointView]


class WorldRow(View):
    """A world in a list, without its keys.

    `payments` counts those that it has, and `requests` all that it ever received. `refused` counts
    the requests since the server started that were refused or got no answer. `server` is the name
    of the server that has the world; null if none has it, or if worlds are not shared.
    """

    id: str
    name: str = attribute("spec.name")
    clock: ClockView
    scenario: str | None = attribute("scenario.scenario.name", None)
    payments: int
    requests: int
    refused: int
    server: str | None


class Fixtures(View):
    """The names of fixtures."""

    fixtures: list[str]
    total: int = TOTAL


class Worlds(View):
    """Every world that is in use, whole or as rows."""

    worlds: list[WorldView | WorldRow]
    total: int


def view_world(world: World) -> WorldView:
    """Return the world as the control API shows it, with the cast and the plaintext of its keys."""
    cast = world.cast
    keys = {name: KeyOfCast(id=id, key=cast.plaintexts[name]) for name, id in cast.keys.items()}
    clock = world.clock.view()
    return WorldView.of(world, readings=readings_apart(world), clock=clock, keys=keys)


@post(f"{PREFIX}/worlds", "worlds.create", status=201, refuses=(409,))
async def create_world(request: ControlRequest, body: CreateWorld) -> CreatedWorld:
    """Create a world.

    Everything is checked before anything is made.
    """
    wanted = body.scenario
    scenario = None if wanted is None else await choose_scenario(request, wanted)
    spec = WorldSpec(
        id=own_id(request, body.id),
        name=body.name or "",
        seed=request.services.default_seed if body.seed is None else body.seed,
        fixture=_fixture(request, body.fixture),
        clock=ClockSetting(**vars(body.clock or ClockBody())),
        switches=switches.checked(body.switches or {}),
        readings=readings.checked(body.readings or {}),
        generated_data=GeneratedData(**vars(body.invent)) if body.invent else None,
    )
    worlds = request.services.worlds
    with _from_fixture(spec.fixture.name):
        # The answer waits until it is written.
        world = request.found_world = await build_world(request, spec)
    try:
        _add_endpoints(request, body.endpoints or [])
        if scenario is not None:
            run_scenario(world, scenario)
    except Exception:
        worlds.delete(world)
        if worlds.saver is not None:
            # Its id is free again.
            with suppress(StoreError, WorldLost):
                await worlds.saver.saved(world)
        raise
    await catch_up(world)
    return CreatedWorld.of(view_world(world), endpoints=list_endpoints(request).endpoints)


def _add_endpoints(request: ControlRequest, endpoints: list[CreateEndpoint]) -> None:
    """Register the endpoints of a new world. Raises ControlFault."""
    for place, endpoint in enumerate(endpoints):
        try:
            create_endpoint(request, endpoint)
        except ControlFault as error:
            error.message = f"endpoints.{place}: {error.message}"
            raise


async def build_world(request: ControlRequest, spec: WorldSpec) -> World:
    """Make a new world. Raises NotRestored, WorldTaken or TooManyWorlds."""
    worlds, team = request.services.worlds, request.who.team
    if (elsewhere := request.services.elsewhere) is None:
        return await worlds.create_aside(spec, team)
    async with elsewhere.reserve(spec.id, team) as id:
        return await worlds.create_aside(replace(spec, id=id), team)


def own_id(request: ControlRequest, name: str | None) -> str:
    """Return the id of a new world with this name; empty if it has none. Raises ControlFault."""
    id = "" if name is None else request.who.meant(name)
    if id and not request.who.can_reach(id):
        raise invalid(f"id: must be a plain name, or end with @{request.who.team}")
    return id


def _fixture(request: ControlRequest, name: str | None) -> Fixture:
    services = request.services
    if name is None or name == services.default_fixture.name:
        return services.default_fixture
    if name not in library.fixture_names():
        known = _fixture_names(request)
        why, there = f"fixture: there is no {name!r}", f"there are: {', '.join(known)}"
        near = nearest(name, known)
        raise ControlFault(400, "unknown_fixture", why, details=there, nearest=near)
    return library.fixture(name)


def _fixture_names(request: ControlRequest) -> list[str]:
    """Return the names of all fixtures: the bundled ones, and that of the server."""
    return sorted({*library.fixture_names(), request.services.default_fixture.name})


@contextmanager
def _from_fixture(name: str) -> Iterator[None]:
    """Raise ControlFault if the fixture turns out to be faulty."""
    try:
        yield
    except (FixtureError, NotRestored) as error:
        why = f"fixture {name!r} cannot be used"
        raise ControlFault(400, "faulty_fixture", why, details=str(error)) from None


@get(f"{PREFIX}/worlds", "worlds.list")
async def list_worlds(request: ControlRequest, query: WorldsQuery) -> Written[Worlds]:
    """List the worlds."""
    worlds, elsewhere = request.services.worlds, request.services.elsewhere
    worlds.drop_unused()
    name = None if elsewhere is None else elsewhere.name
    as_rows = query.shape == "row"
    here = request.who.worlds(worlds)
    views = (world_row(world, name) if as_rows else view_world(world) for world in here)
    # Encoded one by one: ten thousand views at once would stall the server.
    shown = await collect(map(_encode, views), every=SHOWN_AT_ONCE)
    if (others := servers.other_servers(request)) is not None:
        for said in await servers.ask_other_servers(request, Worlds):
            shown += await collect(map(_encode, said.worlds), every=SHOWN_AT_ONCE)
        stored = await servers.list_stored_worlds(request, others, {id for id, _ in shown})
        for one in stored:
            view = await _view_stored(request, others, one, as_rows=as_rows)
            shown += [] if view is None else [_encode(view)]
        shown.sort()
    listed = b",".join(written for _, written in shown)
    return Written([b'{"worlds":[', listed, b'],"total":%d}' % len(shown)])


def _encode(view: WorldView | WorldRow) -> tuple[str, bytes]:
    """Return the id of a world, and its encoded view."""
    return view.id, to_json(view)


async def _view_stored(
    request: ControlRequest, others: Elsewhere, kept: KeptWorld, *, as_rows: bool
) -> WorldView | WorldRow | None:
    """Show a world that no server has; None if it was deleted meanwhile."""
    await asyncio.sleep(0)
    state: WorldState = from_document(WorldState, from_json(kept.state))
    begins, worlds = state.begins, request.services.worlds
    # Its clock keeps running wherever the world is.
    clock = Clock(worlds.system_clock, lambda clock: None, state.clock).view()
    scenario = (state.scenario or {}).get("name")
    if as_rows:
        begun = {"name": begins.name, "clock": clock, "scenario": scenario}
        return WorldRow.of(kept, **begun, refused=0, server=None)
    if kept.has_own_fixture:
        await others.have_world(kept.id)
        return None if (here := worlds.get(kept.id)) is None else view_world(here)
    # Only its cast is needed, and not the data that was generated.
    begins = replace(begins, generated_data=None)
    spec = WorldSpec.of(begins, id=kept.id, fixture=library.fixture(begins.fixture))
    view = view_world(worlds.make(replace(spec, readings=state.readings)))
    return view.model_copy(update={"clock": clock, "scenario": scenario})


@get(WORLD, "worlds.read")
def read_world(request: ControlRequest) -> WorldView:
    """Read a world."""
    return view_world(request.world)


@delete(WORLD, "worlds.delete", refuses=(409,))
async def delete_world(request: ControlRequest) -> None:
    """Delete a world."""
    worlds = request.services.worlds
    if worlds.before_deleting is not None:
        await worlds.before_deleting(request.world.id)
    async with exclusive_world(request) as world:
        worlds.delete(world)


@post(f"{WORLD}/reset", "worlds.reset")
async def reset_world(request: ControlRequest) -> WorldView:
    """Reset a world to its fixture."""
    async with exclusive_world(request) as world:
        with _from_fixture(world.spec.fixture.name):
            await request.services.worlds.reset_aside(world)
        await catch_up(world)
        return view_world(world)


def set_name(world: World, name: str) -> None:
    """Give the world another name."""
    world.spec = replace(world.spec, name=name)
    world.put_state(begins=world.spec.beginning())


@patch(WORLD, "worlds.change")
def rename_world(request: ControlRequest, body: RenameBody) -> WorldView:
    """Rename a world."""
    set_name(request.world, body.name)
    return view_world(request.world)


def world_row(world: World, server: str | None = None) -> WorldRow:
    """Return a world as lists show it, and the server that has it."""
    counts = {
        "payments": len(world.store.all(Payment)),
        "requests": world.store.counters.requests,
        "refused": world.coverage.refused,
    }
    return WorldRow.of(world, clock=world.clock.view(), **counts, server=server)


@get(f"{PREFIX}/fixtures", "fixtures.list")
def list_fixtures(request: ControlRequest) -> Fixtures:
    """List the fixtures that a world can start from."""
    return Fixtures(fixtures=_fixture_names(request))
