"""Rows of worlds, their clocks, switches and snapshots."""

from typing import TYPE_CHECKING, Final

from sandbox.control.rows import PREFIX, WORLD, ControlRow
from sandbox.platform.lazy import LazyFunctions, LazyModule

if TYPE_CHECKING:
    from sandbox.control import (
        acting_shapes,
        look_shapes,
        readings,
        servers,
        shapes,
        team_tokens,
        worlds,
    )
else:
    readings = LazyFunctions("sandbox.control.readings")
    servers = LazyFunctions("sandbox.control.servers")
    team_tokens = LazyFunctions("sandbox.control.team_tokens")
    worlds = LazyFunctions("sandbox.control.worlds")
    acting_shapes = LazyModule("sandbox.control.acting_shapes")
    look_shapes = LazyModule("sandbox.control.look_shapes")
    shapes = LazyModule("sandbox.control.shapes")


ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="health",
        method="GET",
        path=f"{PREFIX}/health",
        summary="Check that the server answers",
        run=worlds.health,
        is_open=True,
    ),
    ControlRow(
        name="servers.list",
        method="GET",
        path=f"{PREFIX}/servers",
        summary="List the servers that share worlds",
        run=servers.list_all,
        is_for_operator=True,
    ),
    ControlRow(
        name="tokens.create",
        method="POST",
        path=f"{PREFIX}/tokens",
        summary="Issue a token to a team",
        run=team_tokens.create,
        body=lambda: acting_shapes.TokenBody,
        status=201,
        is_for_default=True,
        is_for_operator=True,
        refuses=(409,),
    ),
    ControlRow(
        name="tokens.list",
        method="GET",
        path=f"{PREFIX}/tokens",
        summary="List the tokens of all teams",
        run=team_tokens.list_all,
        is_for_default=True,
        is_for_operator=True,
    ),
    ControlRow(
        name="tokens.delete",
        method="DELETE",
        path=f"{PREFIX}/tokens/{{id}}",
        summary="Make a token of a team worthless",
        run=team_tokens.delete,
        status=204,
        is_for_default=True,
        is_for_operator=True,
    ),
    ControlRow(
        name="worlds.create",
        method="POST",
        path=f"{PREFIX}/worlds",
        summary="Create a world",
        run=worlds.create,
        body=lambda: shapes.CreateWorld,
        status=201,
        refuses=(409,),
    ),
    ControlRow(
        name="worlds.list",
        method="GET",
        path=f"{PREFIX}/worlds",
        summary="List the worlds",
        run=worlds.list_all,
        query=lambda: look_shapes.WorldsQuery,
    ),
    ControlRow(
        name="worlds.read",
        method="GET",
        path=WORLD,
        summary="Read a world",
        run=worlds.read,
    ),
    ControlRow(
        name="worlds.delete",
        method="DELETE",
        path=WORLD,
        summary="Delete a world",
        run=worlds.delete,
        status=204,
        refuses=(409,),
    ),
    ControlRow(
        name="worlds.reset",
        method="POST",
        path=f"{WORLD}/reset",
        summary="Reset a world to its fixture",
        run=worlds.reset,
    ),
    ControlRow(
        name="snapshot.read",
        method="GET",
        path=f"{WORLD}/snapshot",
        summary="Save a whole world as one document",
        run=worlds.save,
    ),
    ControlRow(
        name="snapshot.restore",
        method="PUT",
        path=f"{WORLD}/snapshot",
        summary="Replace a world with a saved one",
        run=worlds.load,
        is_raw=True,
    ),
    ControlRow(
        name="clock.read",
        method="GET",
        path=f"{WORLD}/clock",
        summary="Read a world's clock",
        run=worlds.read_clock,
    ),
    ControlRow(
        name="clock.set",
        method="PUT",
        path=f"{WORLD}/clock",
        summary="Set a world's clock",
        run=worlds.set_clock,
        body=lambda: shapes.ClockBody,
    ),
    ControlRow(
        name="clock.advance",
        method="POST",
        path=f"{WORLD}/clock/advance",
        summary="Advance a world's clock; everything due on the way happens",
        run=worlds.advance_clock,
        body=lambda: shapes.Advance,
    ),
    ControlRow(
        name="switches.read",
        method="GET",
        path=f"{WORLD}/switches",
        summary="Read a world's switches",
        run=worlds.read_switches,
    ),
    ControlRow(
        name="switches.set",
        method="PUT",
        path=f"{WORLD}/switches",
        summary="Set switches of a world",
        run=worlds.set_switches,
        body=lambda: shapes.Switches,
    ),
    ControlRow(
        name="readings.list",
        method="GET",
        path=f"{PREFIX}/readings",
        summary="List the readings: sentences that can be read in several ways",
        run=readings.list_all,
    ),
    ControlRow(
        name="readings.read",
        method="GET",
        path=f"{WORLD}/readings",
        summary="Read the readings that are in force in a world",
        run=readings.read,
    ),
    ControlRow(
        name="readings.set",
        method="PUT",
        path=f"{WORLD}/readings",
        summary="Choose readings of a world",
        run=readings.choose,
        body=lambda: shapes.Readings,
    ),
)
