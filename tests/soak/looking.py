"""Looks at everything in a world, and does something with it: nothing of it may fail."""

from collections.abc import Iterator
from typing import Any

from tests.directory.making import terminal_id
from tests.soak.client import Client
from tests.support import payments

BY_ID = {
    "accounts": "/v1/accounts/{}",
    "terminals": "/v2/terminals/{}",
    "locations": "/v1/locations/{}",
    "credentials": "/v1/accounts/credentials/{}",
    "transactions": "/v1/transactions/{}",
    "batches": "/v1/batches/{}",
}
"""Where one of what a list has is read; of a payment also its history, of a batch its members."""

LISTS = (
    *("/v1/accounts", "/v2/accounts", "/v2/terminals", "/v1/locations", "/v1/accounts/credentials"),
    *("/v2/transactions", "/v1/transactions", "/v1/batches", "/v5/apikeys"),
)
SEARCHES = (
    "sort_by=total_amount&sort_order=asc&limit=7",
    "status=captured&status=settled&min_amount=2",
    "search_term=a",
    "card_number=9995",
)
SHOWN = (
    *("", "/requests", "/messages", "/coverage", "/switches", "/clock", "/scenario/next", "/taps"),
    *("/endpoints", "/scenario", "/snapshot", "/messages?event_type=transaction.sale&limit=2"),
    "/wait?timeout_s=0",
)
KEYS = ("partner", "psp", "merchant", "admin")
DETAILS_MAX = 4


def look_everywhere(client: Client) -> None:
    """Read every list, some of what is in each, and all that the control API shows."""
    for path in SHOWN:
        address, _, query = path.partition("?")
        answer = client.control("GET", f"/worlds/{client.world}{address}", query=query)
        if answer.status == 200 and path in ("/messages", "/endpoints"):
            for one in answer.json()[path[1:]][-DETAILS_MAX:]:
                client.control("GET", f"/worlds/{client.world}{path}/{one['id']}")
    for key in KEYS:
        for path in LISTS:
            answer = client.ask("GET", path, key=key)
            if answer.status == 200:
                for detail in _details(path, answer.json()):
                    client.ask("GET", detail, key=key)
    for query in SEARCHES:
        client.ask("GET", "/v2/transactions", key="partner", query=query)


def _details(path: str, shown: Any) -> Iterator[str]:
    listed = shown if isinstance(shown, list) else next(iter(shown.values()))
    plural = path.rpartition("/")[2]
    for one in listed[:DETAILS_MAX]:
        id = one.get("transaction_id") or one.get("terminal_id") or one.get("id")
        if plural == "batches":
            id = one["id"]
        if plural == "terminals":
            id = one["terminal_id"]
        if plural in BY_ID:
            yield BY_ID[plural].format(id)
        if plural == "transactions":
            yield f"/v1/transactions/{id}/history"
        if plural == "apikeys":
            yield f"/v5/apikeys/{one['id']}"


def act_everywhere(client: Client) -> None:
    """Take a payment and act on those that are there; let time pass, which ends some of them."""
    control = f"/worlds/{client.world}"
    body: dict[str, Any] = {"amount": 1000, "terminal_id": _terminal(client)}
    begun = payments.ask(client, "POST", "/v3/payment", body)
    payments.ask(client, "POST", "/v3/preauth", body)
    page = payments.ask(client, "GET", "/v2/transactions", query="limit=20")
    listed = page.json()["transactions"] if page.status == 200 else []
    for tx in listed[:8]:
        for operation in ("capture", "reverse", "refund"):
            payments.act(client, tx["transaction_id"], operation, amount=10)
    if begun.status == 200:
        payments.close_batch(client, begun.json()["batch_id"] or "none")
    client.control("POST", f"{control}/messages", {"event_type": "account.updated"})
    # A sale that waits for a tap ends meanwhile, and its answer is checked as any other.
    client.control("POST", f"{control}/clock/advance", {"by": "40d"})


def _terminal(client: Client) -> str:
    """A terminal's id; after a snapshot was changed the cast may have lost its own."""
    try:
        return terminal_id(client, "merchant")
    except KeyError:
        return "none"
