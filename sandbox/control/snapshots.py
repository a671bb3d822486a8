"""Snapshots, copies and marks of a world."""

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from sandbox import library
from sandbox.control.context import ControlFault, ControlRequest, conflict, exclusive_world
from sandbox.control.models import TOTAL, Body, Document, View, shows
from sandbox.control.routing import WORLD, Written, delete, get, post, put
from sandbox.control.worlds import WorldView, build_world, own_id, set_name, view_world
from sandbox.domain.field_types import WorldId, WorldName
from sandbox.store.fixture import FixtureError
from sandbox.store.world_documents import NotRestored, SavedWorld
from sandbox.worlds.background import run_in_thread
from sandbox.worlds.due_timers import catch_up
from sandbox.worlds.snapshot import copy_documents, moment_of, read_snapshot, write_snapshot
from sandbox.worlds.world import Mark, World


class ForkBody(Body, example={"name": "A copy"}):
    """The id and the name of a copy; by default the next free id, and the name of the world."""

    id: WorldId | None = None
    name: WorldName | None = None


class MarkBody(Body, example={"name": "before the refund"}):
    """The name of a mark."""

    name: WorldName = ""


@get(f"{WORLD}/snapshot", "snapshot.read")
async def save_snapshot(request: ControlRequest) -> Written[Document]:
    """Save a whole world as one document.

    Source: assumed D25.
    """
    async with exclusive_world(request) as world:
        return Written(await run_in_thread(write_snapshot, moment_of(world)))


@put(f"{WORLD}/snapshot", "snapshot.restore")
async def restore_snapshot(request: ControlRequest, body: bytes) -> WorldView:
    """Replace a world with a saved one.

    Its id and the keys of its cast stay. Source: assumed D25.
    """
    read = partial(read_snapshot, body, request.services.worlds.profile.key_format)
    async with exclusive_world(request) as world:
        return await _replace(request, world, read, "snapshot: ")


async def _replace(
    request: ControlRequest, world: World, read: Callable[[], SavedWorld], about: str
) -> WorldView:
    """Replace this world with the one that is read in a thread. Raises ControlFault."""
    try:
        saved = await run_in_thread(read)
        spec = library.spec_of(saved, id=world.id)
        restored = await request.services.worlds.restore_aside(spec, saved)
    except (NotRestored, FixtureError) as error:
        why = f"{about}{error}"
        raise ControlFault(400, "not_restored", why, details="nothing was changed") from None
    restored.marks, restored.mark_numbers = world.marks, world.mark_numbers
    # Start its timers now, without waiting for a request.
    await catch_up(restored)
    return view_world(restored)


@shows(Mark, without=("moment",))
class MarkView(View):
    """A saved state of a world to return to, with its time and its size."""


class MarksOfWorld(View):
    """The marks of a world, oldest first."""

    marks: list[MarkView]
    total: int = TOTAL


@post(f"{WORLD}/fork", "worlds.fork", status=201, refuses=(409,))
async def fork_world(request: ControlRequest, body: ForkBody) -> WorldView:
    """Copy a world.

    Source: assumed D25.
    """
    worlds = request.services.worlds
    async with exclusive_world(request) as world:
        moment = moment_of(world)
        spec = replace(world.spec, id=own_id(request, body.id), name=body.name or world.spec.name)
    begun = await build_world(request, spec)
    try:
        saved = await run_in_thread(copy_documents, moment)
        copy = await worlds.restore_aside(library.spec_of(saved, id=begun.id), saved)
        set_name(copy, spec.name)
    except NotRestored as error:
        worlds.delete(begun)
        raise conflict("not_copied", f"the world cannot be copied: {error}") from None
    # The answer waits until the copy is written.
    request.found_world = copy
    await catch_up(copy)
    return view_world(copy)


# --- marks ------------------------------------------------------------------------------------


@post(f"{WORLD}/marks", "marks.add", status=201)
async def add_mark(request: ControlRequest, body: MarkBody) -> MarkView:
    """Mark a world as it is now.

    A world keeps its ten newest marks.
    """
    async with exclusive_world(request) as world:
        now, moment = world.now(), moment_of(world)
        size = sum(map(len, await run_in_thread(write_snapshot, moment)))
        world.marks.append(Mark(f"mark_{next(world.mark_numbers)}", body.name, now, size, moment))
        return MarkView.of(world.marks[-1])


@get(f"{WORLD}/marks", "marks.list")
def list_marks(request: ControlRequest) -> MarksOfWorld:
    """List the marks of a world."""
    return MarksOfWorld(marks=list(map(MarkView.of, request.world.marks)))


def _find_mark(request: ControlRequest) -> Mark:
    marks = {one.id: one for one in request.world.marks}
    return request.require(marks.get(request.id), "mark", more=", or no longer has it")


@post(f"{WORLD}/marks/{{id}}/return", "marks.return")
async def return_to_mark(request: ControlRequest) -> WorldView:
    """Return a world to a mark.

    The marks stay; the journal starts again.
    """
    async with exclusive_world(request) as world:
        read = partial(copy_documents, _find_mark(request).moment)
        return await _replace(request, world, read, "the world cannot return: ")


@delete(f"{WORLD}/marks/{{id}}", "marks.delete")
def delete_mark(request: ControlRequest) -> None:
    """Remove a mark."""
    request.world.marks.remove(_find_mark(request))
