"""Webhook endpoints that a start, a fixture or a scenario declares.

Source: assumed 8.3-declared.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from sandbox.domain.webhooks import ENDPOINTS_MAX, Endpoint
from sandbox.store.store import Store
from sandbox.webhooks.signing import KEY_BYTES, write_secret

NamedChars = Callable[[str, int], str]
"""Gives key material of this length to a name; the same for the same seed, world and name."""


class TooManyEndpoints(ValueError):
    """The world would have more endpoints than it may; nothing was stored."""


def endpoint_of(
    id: str, fields: Mapping[str, Any], *, created_at: datetime, named_chars: NamedChars
) -> Endpoint:
    """The endpoint with these fields. Without a secret it gets one that follows from its id."""
    given = {name: value for name, value in fields.items() if value is not None}
    given.setdefault("secret", write_secret(named_chars(f"webhook:{id}", KEY_BYTES).encode()))
    return Endpoint(id=id, created_at=created_at, **given)


def declare(store: Store, endpoints: Iterable[Endpoint]) -> None:
    """Store the endpoints. One that is there already keeps its state, and its secrets if unchanged.

    Raises TooManyEndpoints for new ones above the limit; a state file may hold more from before it.
    """
    there = store.all(Endpoint)
    unit, count = store.begin(), len(there)
    for declared in endpoints:
        before = there.get(declared.id)
        if before is None:
            count += 1
            unit.put(declared)
            continue
        unit.put(
            replace(
                before,
                url=declared.url,
                secret=declared.secret,
                description=declared.description,
                account_id=declared.account_id,
                event_types=declared.event_types,
                filters=declared.filters,
            )
        )
    if count > max(len(there), ENDPOINTS_MAX):
        raise TooManyEndpoints(f"a world has {ENDPOINTS_MAX} endpoints at most, and not {count}")
    unit.commit()
