"""Rows of messages and webhook endpoints."""

from typing import TYPE_CHECKING, Final

from sandbox.control.rows import WORLD, ControlRow
from sandbox.platform.lazy import LazyFunctions, LazyModule

if TYPE_CHECKING:
    from sandbox.control import (
        acting_shapes,
        endpoints,
        messages,
        receivers,
        shapes,
        waiting,
    )
else:
    endpoints = LazyFunctions("sandbox.control.endpoints")
    messages = LazyFunctions("sandbox.control.messages")
    receivers = LazyFunctions("sandbox.control.receivers")
    waiting = LazyFunctions("sandbox.control.waiting")
    acting_shapes = LazyModule("sandbox.control.acting_shapes")
    shapes = LazyModule("sandbox.control.shapes")


_ENDPOINTS: Final = f"{WORLD}/endpoints"
_RECEIVERS: Final = f"{WORLD}/receivers"
_ENDPOINT: Final = f"{_ENDPOINTS}/{{id}}"

ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="messages.list",
        method="GET",
        path=f"{WORLD}/messages",
        summary="List a world's messages, newest last",
        run=messages.list_all,
        query=lambda: shapes.MessagesQuery,
    ),
    ControlRow(
        name="messages.read",
        method="GET",
        path=f"{WORLD}/messages/{{id}}",
        summary="Read a message",
        run=messages.read,
    ),
    ControlRow(
        name="messages.send",
        method="POST",
        path=f"{WORLD}/messages",
        summary="Send a sample of an event",
        run=messages.send_sample,
        body=lambda: shapes.Sample,
        status=202,
    ),
    ControlRow(
        name="messages.resend",
        method="POST",
        path=f"{WORLD}/messages/{{id}}/resend",
        summary="Resend a message",
        run=messages.resend,
        body=lambda: shapes.Resend,
        status=202,
        refuses=(409,),
    ),
    ControlRow(
        name="messages.wait",
        method="GET",
        path=f"{WORLD}/wait",
        summary="Wait for a message",
        run=waiting.wait,
        query=lambda: shapes.WaitQuery,
        ends_with_client=True,
        refuses=(408, 429),
    ),
    ControlRow(
        name="applications.list",
        method="GET",
        path=f"{WORLD}/applications",
        summary="List the webhook applications of a world's accounts",
        run=endpoints.list_applications,
    ),
    ControlRow(
        name="endpoints.create",
        method="POST",
        path=_ENDPOINTS,
        summary="Register a webhook endpoint",
        run=endpoints.create,
        body=lambda: shapes.CreateEndpoint,
        status=201,
        refuses=(409,),
    ),
    ControlRow(
        name="endpoints.list",
        method="GET",
        path=_ENDPOINTS,
        summary="List a world's webhook endpoints",
        run=endpoints.list_all,
    ),
    ControlRow(
        name="endpoints.read",
        method="GET",
        path=_ENDPOINT,
        summary="Read a webhook endpoint",
        run=endpoints.read,
    ),
    ControlRow(
        name="endpoints.change",
        method="PATCH",
        path=_ENDPOINT,
        summary="Change a webhook endpoint",
        run=endpoints.change,
        body=lambda: shapes.ChangeEndpoint,
    ),
    ControlRow(
        name="endpoints.delete",
        method="DELETE",
        path=_ENDPOINT,
        summary="Delete a webhook endpoint",
        run=endpoints.delete,
        status=204,
    ),
    ControlRow(
        name="receivers.create",
        method="POST",
        path=_RECEIVERS,
        summary="Have webhooks go to a receiver inside, with programmed answers",
        run=receivers.create,
        body=lambda: acting_shapes.NewReceiver,
        status=201,
        refuses=(409,),
    ),
    ControlRow(
        name="receivers.list",
        method="GET",
        path=_RECEIVERS,
        summary="List the receivers inside",
        run=receivers.list_all,
    ),
    ControlRow(
        name="receivers.delete",
        method="DELETE",
        path=f"{_RECEIVERS}/{{id}}",
        summary="Delete a receiver inside",
        run=receivers.delete,
        status=204,
    ),
    ControlRow(
        name="receivers.received",
        method="GET",
        path=f"{_RECEIVERS}/{{id}}/received",
        summary="What a receiver inside was sent",
        run=receivers.received,
        query=lambda: shapes.Listing,
    ),
    ControlRow(
        name="endpoints.rotate",
        method="POST",
        path=f"{_ENDPOINT}/rotate-secret",
        summary="Give a webhook endpoint a new secret",
        run=endpoints.rotate_secret,
        body=lambda: shapes.Rotate,
        refuses=(409,),
    ),
    ControlRow(
        name="endpoints.enable",
        method="POST",
        path=f"{_ENDPOINT}/enable",
        summary="Enable a disabled webhook endpoint",
        run=endpoints.enable,
    ),
    ControlRow(
        name="endpoints.recover",
        method="POST",
        path=f"{_ENDPOINT}/recover",
        summary="Send a webhook endpoint the messages that it missed",
        run=endpoints.recover,
        body=lambda: shapes.Recover,
        status=202,
        refuses=(409,),
    ),
)
