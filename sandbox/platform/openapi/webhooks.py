"""Webhooks: one per event, with its body and the headers that sign it. Source: spec 6."""

from collections.abc import Callable
from typing import Any, Final

from sandbox.domain.batches import Batch
from sandbox.domain.directory import Account, CredentialView, Location, Terminal
from sandbox.domain.events import EVENTS, EventRow
from sandbox.domain.keys import ApiKeyEvent
from sandbox.domain.payments.transaction_view import TransactionView
from sandbox.domain.profile import Profile
from sandbox.platform.openapi.schemas import Schema, record

BODIES: Final[dict[str, Any]] = {
    "transaction": TransactionView,
    "batch": Batch,
    "account": Account,
    "terminal": Terminal,
    "location": Location,
    "api_key": ApiKeyEvent,
    "credential": CredentialView,
}
"""Category of events to what their bodies show."""

_HEADERS: Final = {
    "id": "The same for every attempt at the same message.",
    "timestamp": "Unix seconds of the attempt.",
    "signature": "`v1,` and the base64 of the HMAC-SHA256 of id, timestamp and body, joined by "
    "full stops; one after each other while a secret is rotated.",
}


def webhooks(profile: Profile, ref: Callable[[Any], Schema]) -> Schema:
    """Every webhook by the name of its event; `ref` gives the schema of a type."""
    return {row.name: {"post": _operation(row, profile, ref)} for row in EVENTS.values()}


def _operation(row: EventRow, profile: Profile, ref: Callable[[Any], Schema]) -> Schema:
    body = ref(BODIES[row.category])
    if row.sparse:
        # Source: spec 6.1.4
        body = record({name: {"type": "string"} for name in row.sparse})
    return {
        "operationId": f"webhook.{row.name}",
        "summary": row.meaning.capitalize(),
        "tags": ["webhooks"],
        "description": f"Source: {row.source}. Bodies have no envelope.",
        "x-source": row.source,
        # No key is sent to a receiver.
        "security": [],
        "parameters": [
            {
                "name": f"{profile.webhook_header_prefix}-{part}",
                "in": "header",
                "required": True,
                "description": about,
                "schema": {"type": "string"},
            }
            for part, about in _HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "2XX": {"description": "Taken."},
            "default": {"description": "Not taken: it is sent again later."},
        },
    }
