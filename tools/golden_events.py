"""One golden body per event: written to fixtures/events by `make golden`, sent as samples.

`tell` makes every event happen through the platform's API; `bodies` runs it against a sandbox in
process and returns the first body of each event.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from sandbox.domain.events import EVENTS
from tools.asking import WORLD, InProcess

FOLDER: Final = Path(__file__).parent.parent / "fixtures" / "events"

NOW: Final = "2026-03-01T12:00:00Z"

Ask = Callable[..., Any]
"""Sends one request, as `InProcess.ask` does: returns the answer, and raises unless it is 2xx."""


def tell(ask: Ask, account: str, terminal: str, location: str) -> None:
    """Cause every event, each for the first time as the spec says.

    The ids are those of the demo world's merchant.
    """
    _payments(ask, terminal, location)
    _keys_and_credentials(ask)
    _directory(ask, account, terminal, location)


def _payments(ask: Ask, terminal: str, location: str) -> None:
    """Settle a dinner and refund it; let two batches and two payments end otherwise."""

    def pay(amount: int, order: int, path: str = "payment", outcome: str | None = None) -> str:
        body = {"amount": amount, "event_id": f"order-{order}"}
        body |= {"terminal_id": terminal, "location_id": location}
        body |= {"platform": "ios", "device_id": "counter-phone"}
        id: str = ask("POST", f"/v3/{path}", body, outcome=outcome)["transaction_id"]
        return id

    batch = ask("POST", "/v1/batches/open", {"terminal_id": terminal})["id"]
    dinner = pay(5000, 1001, "preauth")
    ask("POST", f"/v3/payments/{dinner}/auth", {"amount": 2000})
    ask("POST", f"/v3/payments/{dinner}/capture", {"tip_amount": 900})
    ask("POST", f"/v3/payments/{dinner}/adjust", {"type": "fixed", "amount": 1000})
    coffee = pay(450, 1002)
    ask("PUT", f"/v1/batches/{batch}/edit", {"removed_transactions": [coffee]})
    ask("PUT", f"/v1/batches/{batch}/edit", {"added_transactions": [coffee]})
    ask("POST", f"/v1/batches/{batch}/close")
    ask("POST", f"/v3/payments/{dinner}/refund", {})
    pay(1800, 1003)
    # Amounts with which a batch is rejected in part, and as a whole at its first close.
    for order, amount in ((1004, 900401), (1005, 900405)):
        payment = pay(amount, order)
        batch = ask("GET", f"/v1/transactions/{payment}")["batch_id"]
        ask("POST", f"/v1/batches/{batch}/close")
    # Submit the rejected batch again, because it keeps the terminal from being deleted.
    ask("POST", f"/v1/batches/{batch}/close")
    ask("POST", f"/v3/payments/{pay(4000, 1006, 'preauth')}/reverse", {})
    pay(1250, 1007, outcome="user_canceled")


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


def _directory(ask: Ask, account: str, terminal: str, location: str) -> None:
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
    ask("POST", "/v2/terminals", bar | numbers | {"account_id": account})
    ask("POST", "/v1/locations", garden | {"account_id": account})
    ask("POST", "/v1/accounts", bakery | {"mcc": "5462", "address": address}, by="partner")
    # Delete the location before its terminal, and that before the account.
    for path, change in (
        (f"/v1/locations/{location}", {"phone": "+15125550100"}),
        (f"/v2/terminals/{terminal}", {"description": "At the door"}),
        (f"/v1/accounts/{account}", {"description": "Restaurant with a garden"}),
    ):
        ask("PUT", path, change, by="partner")
        ask("POST", f"{path}/block", by="partner")
        ask("POST", f"{path}/unblock", by="partner")
        ask("DELETE", path, by="partner")


def bodies() -> dict[str, str]:
    """Return the text of every golden body, by event, in the order of the table of events."""
    sandbox = InProcess("demo", NOW)
    tell(sandbox.ask, *(kind["merchant"] for kind in sandbox.ids.values()))
    messages = sandbox.ask("GET", f"{WORLD}/messages")["messages"]
    first = {message["event_type"]: message["body"] for message in reversed(messages)}
    return {name: json.dumps(first[name], indent=2) + "\n" for name in EVENTS}
