"""Webhook endpoints of a world: declared ones, and the subscribers of a message.

Source: spec 6.1.3, 6.1.11; assumed 8.3-declared, 8.3-audience, 8.3-filters.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace
from pydantic_core import from_json

from sandbox.domain.directory import Account
from sandbox.domain.events import Message, body_of
from sandbox.domain.webhooks import ENDPOINTS_MAX, Endpoint
from sandbox.store.store import Store
from sandbox.webhooks.signing import KEY_BYTES, write_secret


class TooManyEndpoints(ValueError):
    """The world would have more endpoints than it may; nothing was stored."""


def endpoint_of(
    id: str, fields: Mapping[str, Any], *, chars_of: Callable[[str, int], str]
) -> Endpoint:
    """Return the endpoint with these fields.

    Without a secret it gets one that follows from its id: `chars_of` gives key material of a
    length to a name, the same for the same seed, world and name.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    given.setdefault("secret", write_secret(chars_of(f"webhook:{id}", KEY_BYTES).encode()))
    return Endpoint(id=id, **given)


_DECLARED: Final = ("url", "secret", "description", "account_id", "event_types", "filters")


def declare(store: Store, endpoints: Iterable[Endpoint]) -> None:
    """Store the endpoints. One that is there already keeps its state, and its secrets if unchanged.

    Raises TooManyEndpoints for new ones above the limit; a state file may hold more from before it.
    """
    there = store.all(Endpoint)
    unit, count = store.begin(), len(there)
    for declared in endpoints:
        before = there.get(declared.id)
        count += before is None
        again = {name: getattr(declared, name) for name in _DECLARED}
        unit.put(declared if before is None else replace(before, **again))
    if count > max(len(there), ENDPOINTS_MAX):
        raise TooManyEndpoints(f"a world has {ENDPOINTS_MAX} endpoints at most, and not {count}")
    unit.commit()


def subscribers(
    message: Message, endpoints: Mapping[str, Endpoint], store: Store
) -> Iterator[Endpoint]:
    """Yield the endpoints that get this message. The body is rendered only if filters need it."""
    path = _path(message, store)
    fields: dict[str, Any] | None = None
    for endpoint in list(endpoints.values()):
        if endpoint.is_disabled or message.only_for not in (None, endpoint.id):
            continue
        if message.only_for is None:
            if not endpoint.is_subscribed_to(message.event_type, path):
                continue
            if endpoint.filters and fields is None:
                fields = from_json(body_of(message))
            if not endpoint.matches(fields or {}):
                continue
        yield endpoint


def _path(message: Message, store: Store) -> tuple[str, ...]:
    """Return the account of the message and all above it, the root first."""
    account = store.begin().get(Account, message.account_id)
    if account is not None:
        return (*account.parent_account_ids, message.account_id)
    # A sample about an account that does not exist names the accounts above it.
    content = message.record
    above = content.get("parent_account_ids") if isinstance(content, dict) else None
    return (*(map(str, above) if isinstance(above, list) else ()), message.account_id)
