"""Rows that look at the records of a world and change nothing."""

from typing import Final

from sandbox.control import (
    batches,
    directory,
    find,
    lens,
    look_shapes,
    machines,
    moves,
    overview,
    payment_lists,
    payment_story,
    world_rows,
)
from sandbox.control.rows import PREFIX, WORLD, ControlRow

ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="overview",
        method="GET",
        path=f"{WORLD}/overview",
        summary="Read a world at a glance: what needs somebody, what happened, what falls due",
        run=overview.read,
    ),
    ControlRow(
        name="payments.search",
        method="GET",
        path=f"{WORLD}/payments",
        summary="Search the payments of a world, of all its accounts",
        run=payment_lists.search,
        query=lambda: look_shapes.PaymentsQuery,
    ),
    ControlRow(
        name="payments.story",
        method="GET",
        path=f"{WORLD}/payments/{{id}}",
        summary="Read a payment with its money, its batch and all that happened to it",
        run=payment_story.read,
    ),
    ControlRow(
        name="payments.moves",
        method="GET",
        path=f"{WORLD}/payments/{{id}}/moves",
        summary="What can be done with a payment now, and what cannot and why",
        run=moves.moves,
        query=lambda: look_shapes.MovesQuery,
    ),
    ControlRow(
        name="batches.search",
        method="GET",
        path=f"{WORLD}/batches",
        summary="Search the batches of a world, of all its accounts",
        run=batches.search,
        query=lambda: look_shapes.BatchesQuery,
    ),
    ControlRow(
        name="batches.look",
        method="GET",
        path=f"{WORLD}/batches/{{id}}",
        summary="Read a batch with each record's result, and where the record is now",
        run=batches.read,
    ),
    ControlRow(
        name="lens.simulate",
        method="POST",
        path=f"{WORLD}/lens",
        summary="Find out what a key would be answered, without a request",
        run=lens.simulate,
        body=lambda: look_shapes.LensBody,
    ),
    ControlRow(
        name="lens.table",
        method="GET",
        path=f"{WORLD}/lens/{{key}}",
        summary="List all operations with the statuses that a key gets",
        run=lens.table,
    ),
    ControlRow(
        name="directory.read",
        method="GET",
        path=f"{WORLD}/directory",
        summary="List the accounts, terminals, locations or keys of a world",
        run=directory.read,
        query=lambda: look_shapes.DirectoryQuery,
    ),
    ControlRow(
        name="machines.list",
        method="GET",
        path=f"{PREFIX}/machines",
        summary="List the state machines with all of their rows",
        run=machines.list_all,
    ),
    ControlRow(
        name="machines.read",
        method="GET",
        path=f"{PREFIX}/machines/{{name}}",
        summary="Read a state machine",
        run=machines.read,
    ),
    ControlRow(
        name="fixtures.list",
        method="GET",
        path=f"{PREFIX}/fixtures",
        summary="List the fixtures that a world can begin with",
        run=world_rows.fixtures,
    ),
    ControlRow(
        name="find",
        method="GET",
        path=f"{PREFIX}/find",
        summary="Find whatever has an id, in all worlds",
        run=find.find,
        query=lambda: look_shapes.FindQuery,
        refuses=(404,),
    ),
)
