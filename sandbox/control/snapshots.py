"""Snapshots, copies and marks of a world."""

from msgspec.structs import replace

from sandbox import library
from sandbox.control.context import ControlFault, ControlRequest, conflict, exclusive_world
from sandbox.control.models import TOTAL, Body, Document, View, shows
from sandbox.control.routing import WORLD, Written, delete, get, post, put
from sandbox.control.worlds import WorldView, build_world, own_id, set_name, view_world
from sandbox.domain.field_types import WorldId, WorldName
from sandbox.store.fixture import FixtureError
from sandbox.store.world_documents import NotRestored
from sandbox.worlds.background import run_in_thread
from sandbox.worlds.due_timers import catch_up
from sandbox.worlds.snapshot import read_snapshot, refuse_secrets, write_aside
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
        return Written(await write_aside(world))


@put(f"{WORLD}/snapshot", "snapshot.restore")
async def restore_snapshot(request: ControlRequest, body: bytes) -> WorldView:
    """Replace a world with a saved one.

    Its id and the keys of its cast stay. Source: assumed D25.
    """
    async with exclusive_world(request) as world:
        return await _replace(request, world, body, "snapshot: ")


async def _replace(
    request: ControlRequest, world: World, content: bytes, about: str, *, is_trusted: bool = False
) -> WorldView:
    """Replace this world with a saved one. Raises ControlFault."""
    worlds = request.services.worlds
    try:
        saved = await run_in_thread(read_snapshot, content, is_trusted)
        if not is_trusted:
            await run_in_thread(refuse_secrets, saved, worlds.profile.key_format)
        spec = library.spec_of(saved, id=world.id)
        restored = await worlds.restore_aside(spec, saved)
    except (NotRestored, FixtureError) as error:
        why = f"{about}{error}"
        raise ControlFault(400, "not_restored", why, details="nothing was changed") from None
    restored.marks, restored.mark_numbers = world.marks, world.mark_numbers
    # Start its timers now, without waiting for a request.
    await catch_up(restored)
    return view_world(restored)


@shows(Mark, without=("parts",))
class MarkView(View):
    """A saved state of a world to return to, with its time and its size."""

    bytes: int


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
        parts = await write_aside(world)
        spec = replace(world.spec, id=own_id(request, body.id), name=body.name or world.spec.name)
    begun = await build_world(request, spec)
    try:
        saved = await run_in_thread(read_snapshot, b"".join(parts), True)
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


def _view_mark(mark: Mark) -> MarkView:
    return MarkView.of(mark, bytes=sum(map(len, mark.parts)))


@post(f"{WORLD}/marks", "marks.add", status=201)
async def add_mark(request: ControlRequest, body: MarkBody) -> MarkView:
    """Mark a world as it is now.

    A world keeps its ten newest marks.
    """
    async with exclusive_world(request) as world:
        now, parts = world.now(), await write_aside(world)
        world.marks.append(Mark(f"mark_{next(world.mark_numbers)}", body.name, now, parts))
        return _view_mark(world.marks[-1])


@get(f"{WORLD}/marks", "marks.list")
def list_marks(request: ControlRequest) -> MarksOfWorld:
    """List the marks of a world."""
    return MarksOfWorld(marks=list(map(_view_mark, request.world.marks)))


def _find_mark(request: ControlRequest) -> Mark:
    marks = {one.id: one for one in request.world.marks}
    return request.require(marks.get(request.id), "mark", more=", or no longer has it")


@post(f"{WORLD}/marks/{{id}}/return", "marks.return")
async def return_to_mark(request: ControlRequest) -> WorldView:
    """Return a world to a mark.

    The marks stay; the journal starts again.
    """
    async with exclusive_world(request) as world:
        content = b"".join(_find_mark(request).parts)
        return await _replace(request, world, content, "the world cannot return: ", is_trusted=True)


@delete(f"{WORLD}/marks/{{id}}", "marks.delete")
def delete_mark(request: ControlRequest) -> None:
    """Remove a mark."""
    request.world.marks.remove(_find_mark(request))
