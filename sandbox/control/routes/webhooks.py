"""Rows of messages and the endpoints that they go to."""

from typing import Final

from sandbox.control import endpoints, messages
from sandbox.control.rows import WORLD, ControlRow

_ENDPOINTS: Final = f"{WORLD}/endpoints"
_ENDPOINT: Final = f"{_ENDPOINTS}/{{id}}"

ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="messages.list",
        method="GET",
        path=f"{WORLD}/messages",
        summary="List a world's messages, newest last",
        run=messages.list_all,
        query="MessagesQuery",
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
        body="Sample",
        status=202,
    ),
    ControlRow(
        name="messages.resend",
        method="POST",
        path=f"{WORLD}/messages/{{id}}/resend",
        summary="Send a message once more",
        run=messages.resend,
        body="Resend",
        status=202,
    ),
    ControlRow(
        name="messages.wait",
        method="GET",
        path=f"{WORLD}/wait",
        summary="Wait for a message",
        run=messages.wait,
        query="WaitQuery",
    ),
    ControlRow(
        name="endpoints.create",
        method="POST",
        path=_ENDPOINTS,
        summary="Have webhooks sent to a URL",
        run=endpoints.create,
        body="CreateEndpoint",
        status=201,
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
        body="ChangeEndpoint",
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
        name="endpoints.rotate",
        method="POST",
        path=f"{_ENDPOINT}/rotate-secret",
        summary="Give a webhook endpoint a new secret",
        run=endpoints.rotate_secret,
        body="Rotate",
    ),
    ControlRow(
        name="endpoints.enable",
        method="POST",
        path=f"{_ENDPOINT}/enable",
        summary="Send to a disabled webhook endpoint again",
        run=endpoints.enable,
    ),
    ControlRow(
        name="endpoints.recover",
        method="POST",
        path=f"{_ENDPOINT}/recover",
        summary="Send a webhook endpoint what it missed",
        run=endpoints.recover,
        body="Recover",
        status=202,
    ),
)
