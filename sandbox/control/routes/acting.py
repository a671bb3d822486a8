"""Rows that act in a world as its clients do."""

from typing import TYPE_CHECKING, Final

from sandbox.control import agenda, sending, spoiling, verifying
from sandbox.control.rows import WORLD, ControlRow
from sandbox.platform.rows import LazyModule

if TYPE_CHECKING:
    from sandbox.control import acting_shapes
else:
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
