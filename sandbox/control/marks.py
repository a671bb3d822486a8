"""Control endpoints that copy a world, and that mark moments of it to return to."""

from typing import TYPE_CHECKING, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from sandbox.control.long import alone
from sandbox.control.rows import ControlFault, ControlRequest
from sandbox.control.worlds import WorldView, made, own_id, view
from sandbox.domain.instants import to_wire
from sandbox.store.saved_world import NotRestored
from sandbox.store.steps import Steps
from sandbox.worlds.due_timers import catch_up
from sandbox.worlds.limits import TooManyWorlds, WorldTaken
from sandbox.worlds.marks import Mark
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.acting_shapes import ForkBody, MarkBody, RenameBody


class MarkView(TypedDict):
    """A moment of a world to return to: its time there, and how large it is."""

    id: str
    name: str
    now: str
    bytes: int


class MarksOfWorld(TypedDict):
    """The marks of a world, oldest first."""

    marks: list[MarkView]
    total: int


class _Copy(Struct, frozen=True, gc=False):
    """Where a copy of a world goes, and under what name."""

    id: str
    name: str | None = None


def _parts(world: World) -> Steps[list[bytes]]:
    from sandbox.worlds.snapshot import snapshot

    return snapshot(world)


def _put(request: ControlRequest, parts: list[bytes], to: _Copy) -> Steps[World]:
    """The world of a snapshot, in place of the one with that id. Raises NotRestored."""
    from sandbox.worlds.restore import spec_of
    from sandbox.worlds.snapshot import read_snapshot

    saved = yield from read_snapshot(b"".join(parts))
    spec = spec_of(saved, request.services.fixture_of, id=to.id)
    if to.name is not None:
        spec = replace(spec, name=to.name)
    world = yield from request.services.worlds.restoring(spec, saved)
    if to.name is not None:
        rename(world, to.name)
    return world


def rename(world: World, name: str) -> None:
    """Give the world another name."""
    world.spec = replace(world.spec, name=name)
    world.put_state(begins=world.spec.beginning())


def change(request: ControlRequest) -> WorldView:
    """Give a world another name."""
    body: RenameBody = request.body
    rename(request.world, body.name)
    return view(request.world)


async def fork(request: ControlRequest) -> WorldView:
    """A copy of a world, with the same data and keys of its own. Source: assumed D25."""
    body: ForkBody = request.body
    worlds = request.services.worlds
    slices = worlds.slices
    async with alone(request) as world:
        parts = await slices.run(_parts(world), is_large=True)
        spec = replace(world.spec, id=own_id(request, body.id), name=body.name or world.spec.name)
    try:
        begun = await made(request, spec)
    except WorldTaken as error:
        raise ControlFault(409, "world_taken", str(error)) from None
    except TooManyWorlds as error:
        raise ControlFault(409, "too_many_worlds", str(error)) from None
    try:
        copy = await slices.run(_put(request, parts, _Copy(begun.id, spec.name)), is_large=True)
    except NotRestored as error:
        await slices.run(worlds.deleting(begun))
        raise ControlFault(409, "not_copied", f"the world cannot be copied: {error}") from None
    # The answer waits until it is written.
    request.found = copy
    await catch_up(copy, slices)
    return view(copy)


# --- marks ------------------------------------------------------------------------------------


def _mark(mark: Mark) -> MarkView:
    return {
        "id": mark.id,
        "name": mark.name,
        "now": to_wire(mark.now),
        "bytes": sum(map(len, mark.parts)),
    }


async def add(request: ControlRequest) -> MarkView:
    """Mark the world as it is now; the oldest of ten marks makes room."""
    body: MarkBody = request.body
    async with alone(request) as world:
        now = world.now()
        slices = request.services.worlds.slices
        parts = await slices.run(_parts(world), is_large=True)
        return _mark(world.marks.add(body.name, now, parts))


def list_all(request: ControlRequest) -> MarksOfWorld:
    """The marks of a world, oldest first."""
    marks = [_mark(one) for one in request.world.marks.entries]
    return {"marks": marks, "total": len(marks)}


def _found(request: ControlRequest) -> Mark:
    for mark in request.world.marks.entries:
        if mark.id == request.params["id"]:
            return mark
    raise ControlFault(404, "not_found", "the world has no mark with this id, or no longer has it")


async def return_to(request: ControlRequest) -> WorldView:
    """The world as it was at the mark. The marks stay; the journal begins anew."""
    slices = request.services.worlds.slices
    async with alone(request) as world:
        mark = _found(request)
        try:
            restored = await slices.run(_put(request, mark.parts, _Copy(world.id)), is_large=True)
        except NotRestored as error:
            raise ControlFault(
                400, "not_restored", f"the world cannot return: {error}", details="nothing changed"
            ) from None
        restored.marks = world.marks
        await catch_up(restored, slices)
        return view(restored)


def remove(request: ControlRequest) -> None:
    """Forget a mark."""
    request.world.marks.remove(_found(request))
