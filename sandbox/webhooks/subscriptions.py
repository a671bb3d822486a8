"""The endpoints of a message. Source: spec 6.1.3, 6.1.11; assumed 8.3-audience, 8.3-filters."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from sandbox.domain.directory import Account
from sandbox.domain.events import Message
from sandbox.domain.webhooks import Endpoint
from sandbox.store.store import Store


def subscribers(
    message: Message,
    endpoints: Mapping[str, Endpoint],
    store: Store,
    body: Callable[[Message], bytes],
) -> Iterator[Endpoint]:
    """The endpoints that get this message. The body is rendered only if filters need it."""
    path = _path(message, store)
    fields: dict[str, Any] | None = None
    for endpoint in list(endpoints.values()):
        if endpoint.is_disabled or not endpoint.subscribes_to(message.event_type, path):
            continue
        if endpoint.filters:
            fields = from_json(body(message)) if fields is None else fields
            if not endpoint.matches(fields or {}):
                continue
        yield endpoint


def _path(message: Message, store: Store) -> tuple[str, ...]:
    """The account of the message and all above it, the root first."""
    account = store.begin().get(Account, message.account_id)
    if account is not None:
        return (*account.parent_account_ids, message.account_id)
    # A sample about an account that does not exist names the accounts above it.
    content = message.record
    above = content.get("parent_account_ids") if isinstance(content, dict) else None
    return (*(map(str, above) if isinstance(above, list) else ()), message.account_id)
