"""One golden body per event: written to fixtures/events by `make golden`, sent as samples.

`tell` makes every event happen through the platform's API; `bodies` runs it against a sandbox in
process and returns the first body of each event.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from sandbox.domain.events import EVENTS
from tools.asking import WORLD, InProcess

FOLDER: Final = Path(__file__).parent.parent / "fixtures" / "events"

NOW: Final = "2026-03-01T12:00:00Z"

PARTLY_REJECTED: Final = 900401
REJECTED_ONCE: Final = 900405
"""Amounts that have the batch they are in end so."""


Ask = Callable[..., Any]
"""Sends one request, as `InProcess.ask` does: returns the answer, and raises unless it is 2xx."""


class Places(NamedTuple):
    """The ids of the merchant that the story is about, as the demo world has them."""

    account: str
    terminal: str
    location: str


def tell(ask: Ask, merchant: Places) -> None:
    """Make every event happen, each for the first time by the cause that the spec names."""
    first = _first_batch(ask, merchant)
    _later_batches(ask, merchant, first)
    _what_comes_to_nothing(ask, merchant)
    _keys_and_credentials(ask)
    _directory(ask, merchant)


def _first_batch(ask: Ask, merchant: Places) -> str:
    """Return a dinner from the hold to its settlement, with a coffee beside it.

    The id of the dinner.
    """
    batch = ask("POST", "/v1/batches/open", {"terminal_id": merchant.terminal})["id"]
    dinner = _pay(ask, merchant, 5000, "preauth", event_id="order-1001")
    ask("POST", f"/v3/payments/{dinner}/auth", {"amount": 2000})
    ask("POST", f"/v3/payments/{dinner}/capture", {"tip_amount": 900})
    ask("POST", f"/v3/payments/{dinner}/adjust", {"type": "fixed", "amount": 1000})
    coffee = _pay(ask, merchant, 450, event_id="order-1002")
    ask("PUT", f"/v1/batches/{batch}/edit", {"removed_transactions": [coffee]})
    ask("PUT", f"/v1/batches/{batch}/edit", {"added_transactions": [coffee]})
    ask("POST", f"/v1/batches/{batch}/close")
    return dinner


def _later_batches(ask: Ask, merchant: Places, settled: str) -> None:
    """Refund the settled payment in a batch that is accepted in part; have one rejected."""
    ask("POST", f"/v3/payments/{settled}/refund", {})
    _pay(ask, merchant, 1800, event_id="order-1003")
    for number, amount in ((1004, PARTLY_REJECTED), (1005, REJECTED_ONCE)):
        payment = _pay(ask, merchant, amount, event_id=f"order-{number}")
        batch = ask("GET", f"/v1/transactions/{payment}")["batch_id"]
        ask("POST", f"/v1/batches/{batch}/close")
    # Submit the rejected batch again, because it keeps the terminal from being deleted.
    ask("POST", f"/v1/batches/{batch}/close")


def _what_comes_to_nothing(ask: Ask, merchant: Places) -> None:
    hold = _pay(ask, merchant, 4000, "preauth", event_id="order-1006")
    ask("POST", f"/v3/payments/{hold}/reverse", {})
    _pay(ask, merchant, 1250, event_id="order-1007", outcome="user_canceled")


def _pay(
    ask: Ask,
    merchant: Places,
    amount: int,
    path: str = "payment",
    *,
    event_id: str,
    outcome: str | None = None,
) -> str:
    """Return the id of a payment at the merchant's counter."""
    body = {
        "amount": amount,
        "terminal_id": merchant.terminal,
        "location_id": merchant.location,
        "event_id": event_id,
        "platform": "ios",
        "device_id": "counter-phone",
    }
    id: str = ask("POST", f"/v3/{path}", body, outcome=outcome)["transaction_id"]
    return id


def _keys_and_credentials(ask: Ask) -> None:
    body: dict[str, Any] = {"name": "Counter", "permissions": ["payments:read", "batches:read"]}
    key = f"/v5/apikeys/{ask('POST', '/v5/apikeys', body)['id']}"
    ask("PUT", key, {"status": "revoked"})
    ask("PUT", key, {"status": "active"})
    ask("DELETE", key)
    credentials = "/v1/accounts/credentials"
    credential = f"{credentials}/{ask('POST', credentials, {'code': '200000000017'})['id']}"
    ask("POST", f"{credential}/block")
    ask("POST", f"{credential}/unblock")
    ask("DELETE", credential)


def _directory(ask: Ask, merchant: Places) -> None:
    """Create new resources; all other events happen to the merchant, its terminal and location."""
    address = {
        "street_line1": "12 Elm St",
        "city": "Austin",
        "state": "TX",
        "zip": "78704",
        "country": "USA",
    }
    bar = {"name": "bar", "processor_config_id": "cfg-tsys-001"}
    numbers = {"mid": "886000002000", "tid": "00000042"}
    garden = {"name": "Barton Springs Bistro Garden", "address": address}
    bakery = {"type": "merchant", "name": "Elm Street Bakery", "description": "Bakery"}
    ask("POST", "/v2/terminals", bar | numbers | {"account_id": merchant.account})
    ask("POST", "/v1/locations", garden | {"account_id": merchant.account})
    ask("POST", "/v1/accounts", bakery | {"mcc": "5462", "address": address}, by="partner")
    # A location goes before the terminal in it, and that before its account.
    for path, change in (
        (f"/v1/locations/{merchant.location}", {"phone": "+15125550100"}),
        (f"/v2/terminals/{merchant.terminal}", {"description": "At the door"}),
        (f"/v1/accounts/{merchant.account}", {"description": "Restaurant with a garden"}),
    ):
        ask("PUT", path, change, by="partner")
        ask("POST", f"{path}/block", by="partner")
        ask("POST", f"{path}/unblock", by="partner")
        ask("DELETE", path, by="partner")


# --- in process -------------------------------------------------------------------------------


def bodies() -> dict[str, str]:
    """Return the text of every golden body, by event, in the order of the table of events."""
    sandbox = InProcess("demo", NOW)
    cast = sandbox.cast
    tell(
        sandbox.ask,
        Places(cast.accounts["merchant"], cast.terminals["merchant"], cast.locations["merchant"]),
    )
    first: dict[str, Any] = {}
    for message in sandbox.ask("GET", f"{WORLD}/messages")["messages"]:
        first.setdefault(message["event_type"], message["body"])
    if missing := EVENTS.keys() - first.keys():
        raise LookupError(f"the story in {__file__} lacks {', '.join(sorted(missing))}")
    return {name: json.dumps(first[name], indent=2) + "\n" for name in EVENTS}
