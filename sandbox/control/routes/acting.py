"""Rows that act in a world as its clients do."""

from typing import TYPE_CHECKING, Final

from sandbox.control.rows import WORLD, ControlRow
from sandbox.platform.lazy import LazyFunctions, LazyModule

if TYPE_CHECKING:
    from sandbox.control import (
        acting_shapes,
        agenda,
        exporting,
        marks,
        sending,
        spoiling,
        verifying,
    )
else:
    agenda = LazyFunctions("sandbox.control.agenda")
    exporting = LazyFunctions("sandbox.control.exporting")
    marks = LazyFunctions("sandbox.control.marks")
    sending = LazyFunctions("sandbox.control.sending")
    spoiling = LazyFunctions("sandbox.control.spoiling")
    verifying = LazyFunctions("sandbox.control.verifying")
    acting_shapes = LazyModule("sandbox.control.acting_shapes")


ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="send",
        method="POST",
        path=f"{WORLD}/send",
        summary="Send a request to the platform",
        run=sending.send,
        body=lambda: acting_shapes.SendBody,
    ),
    ControlRow(
        name="requests.replay",
        method="POST",
        path=f"{WORLD}/requests/{{id}}/replay",
        summary="Send a request of the journal again",
        run=sending.replay,
        body=lambda: acting_shapes.ReplayBody,
        refuses=(409,),
    ),
    ControlRow(
        name="requests.export",
        method="POST",
        path=f"{WORLD}/export",
        summary="Write requests of the journal as curl, HAR, Markdown or a test",
        run=exporting.export,
        body=lambda: acting_shapes.ExportBody,
        refuses=(409,),
    ),
    ControlRow(
        name="agenda.read",
        method="GET",
        path=f"{WORLD}/agenda",
        summary="List what falls due in a world, and what it leads to",
        run=agenda.read,
        query=lambda: acting_shapes.AgendaQuery,
    ),
    ControlRow(
        name="messages.verify",
        method="GET",
        path=f"{WORLD}/messages/{{id}}/verify",
        summary="Check the signature of an attempt as its receiver does",
        run=verifying.verify_message,
        query=lambda: acting_shapes.VerifyQuery,
        refuses=(409,),
    ),
    ControlRow(
        name="verify",
        method="POST",
        path=f"{WORLD}/verify",
        summary="Check the signature of a webhook that you have",
        run=verifying.verify_one_of_yours,
        body=lambda: acting_shapes.VerifyBody,
    ),
    ControlRow(
        name="worlds.change",
        method="PATCH",
        path=WORLD,
        summary="Rename a world",
        run=marks.change,
        body=lambda: acting_shapes.RenameBody,
    ),
    ControlRow(
        name="worlds.fork",
        method="POST",
        path=f"{WORLD}/fork",
        summary="Copy a world",
        run=marks.fork,
        body=lambda: acting_shapes.ForkBody,
        status=201,
        refuses=(409,),
    ),
    ControlRow(
        name="marks.add",
        method="POST",
        path=f"{WORLD}/marks",
        summary="Mark a world as it is now",
        run=marks.add,
        body=lambda: acting_shapes.MarkBody,
        status=201,
    ),
    ControlRow(
        name="marks.list",
        method="GET",
        path=f"{WORLD}/marks",
        summary="List the marks of a world",
        run=marks.list_all,
    ),
    ControlRow(
        name="marks.return",
        method="POST",
        path=f"{WORLD}/marks/{{id}}/return",
        summary="Return a world to a mark",
        run=marks.return_to,
    ),
    ControlRow(
        name="marks.delete",
        method="DELETE",
        path=f"{WORLD}/marks/{{id}}",
        summary="Remove a mark",
        run=marks.remove,
        status=204,
    ),
    ControlRow(
        name="webhooks.next.add",
        method="POST",
        path=f"{WORLD}/webhooks/next",
        summary="Spoil the next delivery that matches",
        run=spoiling.add,
        body=lambda: acting_shapes.SpoilBody,
        status=201,
        refuses=(409,),
    ),
    ControlRow(
        name="webhooks.next.list",
        method="GET",
        path=f"{WORLD}/webhooks/next",
        summary="List the deliveries to spoil",
        run=spoiling.list_all,
    ),
    ControlRow(
        name="webhooks.next.clear",
        method="DELETE",
        path=f"{WORLD}/webhooks/next",
        summary="Clear the deliveries to spoil",
        run=spoiling.clear,
        status=204,
    ),
)
