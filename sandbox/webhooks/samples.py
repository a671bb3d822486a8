"""Sample events: real bodies, as if the operation had just happened in this world."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic_core import from_json

from sandbox.domain.events import Message


def sample(
    event_type: str,
    body: str,
    changes: Mapping[str, Any],
    *,
    ids: Mapping[str, str],
    id: str,
    now: datetime,
) -> Message:
    """Return a message that carries the body with these changes.

    They may add fields (assumed D22).

    `ids` has, for the ids of the world in which the body was written, those of this one.
    """
    for written, meant in ids.items():
        body = body.replace(written, meant)
    fields = {**from_json(body), **changes}
    own_id = str(fields.get("id", ""))
    return Message(
        id=id,
        event_type=event_type,
        account_id=str(fields.get("account_id") or own_id),
        subject=str(fields.get("transaction_id") or fields.get("terminal_id") or own_id)
        if event_type.startswith(("transaction.", "terminal."))
        else own_id,
        request_id=None,
        created_at=now,
        record=fields,
    )
