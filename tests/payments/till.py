"""How tests of outcomes take payments, act on them, and see what was announced."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from sandbox.in_process import json_request
from tests.driving import InProcess, Response
from tests.platform.minting import messages

INITIATIONS = {"sale": "/v3/payment", "auth": "/v3/preauth"}

ACTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "incremental_auth": ("auth", {"amount": 500}),
    "capture": ("capture", {}),
    "tip_adjust": ("adjust", {"type": "fixed", "amount": 200}),
    "refund": ("refund", {}),
    "reverse": ("reverse", {}),
    "confirm": ("confirm", {"confirm": True}),
}
"""The last part of each action's path, and the least that a body has to say."""

OPERATIONS = (*INITIATIONS, *ACTIONS)


@dataclass(frozen=True)
class Attempt:
    """A request that was made: its answer, and the payment that it was about."""

    answer: Response
    transaction_id: str

    @property
    def shown(self) -> dict[str, Any]:
        assert self.answer.status == 200, self.answer.body
        body: dict[str, Any] = self.answer.json()
        return body


def forcing(sandbox: InProcess, outcome: str | None) -> InProcess:
    """The same sandbox, asked with the outcome in the header."""
    if outcome is None:
        return sandbox
    return replace(sandbox, defaults=sandbox.defaults | {"x-sandbox-outcome": outcome})


def terminal(sandbox: InProcess, merchant: str = "merchant") -> str:
    world = sandbox.sandbox.worlds.get(sandbox.world)
    assert world is not None
    return world.cast.terminals[merchant]


def pay(
    sandbox: InProcess,
    amount: int = 1000,
    *,
    operation: str = "sale",
    outcome: str | None = None,
    merchant: str = "merchant",
    card: str | None = None,
    **more: Any,
) -> Response:
    """One initiation, by the partner, at the terminal of a merchant of the cast."""
    body = {"amount": amount, "terminal_id": terminal(sandbox, merchant)} | more
    if card is not None:
        body["card_reader_data"] = {"paymentCardData": card}
    path = INITIATIONS[operation]
    return forcing(sandbox, outcome).ask("POST", path, key="partner", json_body=body)


def paid(sandbox: InProcess, amount: int = 1000, **more: Any) -> str:
    """The id of a payment that was taken."""
    answer = pay(sandbox, amount, **more)
    assert answer.status == 200, answer.body
    return str(answer.json()["transaction_id"])


def ready_for(sandbox: InProcess, operation: str, amount: int = 1000, **more: Any) -> str:
    """The id of a payment on which the action is possible."""
    if operation in ("incremental_auth", "capture"):
        return paid(sandbox, amount, operation="auth", **more)
    merchant = "surcharge_merchant" if operation == "confirm" else "merchant"
    return paid(sandbox, amount, merchant=merchant, **more)


def act(
    sandbox: InProcess, id: str, operation: str, *, outcome: str | None = None, **more: Any
) -> Response:
    """One action, with the least that it needs."""
    segment, body = ACTIONS[operation]
    path = f"/v3/payments/{id}/{segment}"
    return forcing(sandbox, outcome).ask("POST", path, key="partner", json_body=body | more)


def attempt(sandbox: InProcess, operation: str, outcome: str | None = None) -> Attempt:
    """One operation of any kind, on a payment of its own."""
    if operation in INITIATIONS:
        answer = pay(sandbox, operation=operation, outcome=outcome)
        return Attempt(answer, answer.json().get("transaction_id", ""))
    id = ready_for(sandbox, operation)
    return Attempt(act(sandbox, id, operation, outcome=outcome), id)


def read(sandbox: InProcess, id: str) -> dict[str, Any]:
    """The payment as it is kept."""
    answer = sandbox.ask("GET", f"/v1/transactions/{id}", key="partner")
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.json()
    return body


def events(sandbox: InProcess, answer: Response) -> list[dict[str, Any]]:
    """What the request announced, in order: each with its event_type and body."""
    request_id = answer.headers["x-sandbox-request-id"]
    query = {"limit": "200"}
    return [one for one in messages(sandbox, **query) if one["request_id"] == request_id]


def event_types(sandbox: InProcess, answer: Response) -> list[str]:
    return [one["event_type"] for one in events(sandbox, answer)]


def switch(sandbox: InProcess, settings: dict[str, Any]) -> None:
    """Sets switches of the world."""
    answer = sandbox.control("PUT", f"/worlds/{sandbox.world}/switches", settings)
    assert answer.status == 200, answer.body


def chosen(answer: Response) -> str | None:
    """What the answer says of its outcome."""
    return answer.headers.get("x-sandbox-outcome")


def all_transactions(sandbox: InProcess) -> int:
    """How many payments there are."""
    answer = sandbox.ask("GET", "/v2/transactions", key="partner")
    assert answer.status == 200, answer.body
    total: int = answer.json()["total"]
    return total


# --- with an event loop, for what waits -------------------------------------------------------


async def ask(
    sandbox: InProcess,
    method: str,
    path: str,
    json_body: Any = None,
    *,
    key: str = "partner",
    outcome: str | None = None,
) -> Response:
    """One request that may wait while others are served."""
    headers = {"x-service-apikey": sandbox.key(key)}
    if outcome is not None:
        headers["x-sandbox-outcome"] = outcome
    return await json_request(method, path, json_body, headers=headers).run(sandbox.sandbox.app)


async def until_busy(sandbox: InProcess, count: int = 1) -> None:
    """Goes on once so many payments wait for their processor."""
    world = sandbox.sandbox.worlds.get(sandbox.world)
    assert world is not None
    async with asyncio.timeout(5):
        while len(world.busy) < count:
            await asyncio.sleep(0)


async def turns(count: int = 20) -> None:
    """Lets whatever can go on, go on, so many times."""
    for _ in range(count):
        await asyncio.sleep(0)
