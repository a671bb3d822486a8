"""How tests in process set up endpoints, emit events, and see for whom they are."""

import asyncio
import contextlib
import json
from typing import Any

from sandbox.domain.webhooks import Sent
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.client import WebhookClient
from tests.driving import InProcess, Response
from tests.in_process import Exchange, http_scope

WORLD = "/worlds/default"
ENDPOINTS = f"{WORLD}/endpoints"


def _must(answer: Response, status: int) -> Any:
    assert answer.status == status, answer.body
    return answer.json()


def add(sandbox: InProcess, **body: Any) -> dict[str, Any]:
    """A new endpoint, at a port where nobody listens unless told otherwise."""
    wanted = {"url": "http://127.0.0.1:9/hooks"} | body
    path = f"/worlds/{sandbox.world}/endpoints"
    added: dict[str, Any] = _must(sandbox.control("POST", path, wanted), 201)
    return added


def change(sandbox: InProcess, id: str, **changes: Any) -> Any:
    return _must(sandbox.control("PATCH", f"{ENDPOINTS}/{id}", changes), 200)


def reset(sandbox: InProcess) -> None:
    _must(sandbox.control("POST", f"{WORLD}/reset"), 200)


def sample(sandbox: InProcess, event_type: str = "account.updated", **changes: Any) -> str:
    """The id of a message that was just emitted."""
    body = {"event_type": event_type, "changes": changes}
    path = f"/worlds/{sandbox.world}/messages"
    return str(_must(sandbox.control("POST", path, body), 202)["id"])


def fares(sandbox: InProcess, id: str) -> dict[str, str]:
    """How the message fares at each of the endpoints for which it is."""
    deliveries = sandbox.look(f"messages/{id}")["deliveries"]
    return {one["endpoint_id"]: one["status"] for one in deliveries}


def reached(sandbox: InProcess, id: str) -> list[str]:
    """The endpoints for which the message is."""
    return list(fares(sandbox, id))


def types_reached(sandbox: InProcess, endpoint_id: str) -> list[str]:
    """The types of all messages that are for the endpoint, in order."""
    return [
        one["event_type"]
        for one in sandbox.look("messages")["messages"]
        if endpoint_id in [delivery["endpoint_id"] for delivery in one["deliveries"]]
    ]


# --- with an event loop -----------------------------------------------------------------------


async def control(
    sandbox: InProcess,
    method: str,
    path: str,
    body: Any = None,
    *,
    query: str = "",
    gone: asyncio.Event | None = None,
) -> Any:
    """One request to the control API, which may wait. None where its client has `gone`."""
    payload = b"" if body is None else json.dumps(body).encode()
    scope = http_scope(method, f"/_sandbox{path}", query=query)
    answer = await Exchange(scope, payload, gone).run(sandbox.sandbox.app)
    return answer if answer.status else None


def living(sandbox: InProcess) -> contextlib.AbstractAsyncContextManager[Any]:
    """The application's life: at its end it stops what it does by itself."""
    app = sandbox.sandbox.app
    return app.router.lifespan_context(app)


def deliver_sample(sandbox: InProcess) -> str:
    """The id of a message that was sent to everyone who wants it."""

    async def deliver() -> str:
        async with living(sandbox):
            id = sample(sandbox)
            await sandbox.sandbox.worlds.default.wait_idle()
            return id

    return asyncio.run(deliver())


CONNECTIONS_MAX = 5
ANYWHERE = Guard(is_open=True)


def send(
    *urls: str,
    guard: Guard = ANYWHERE,
    headers: dict[str, str] | None = None,
    timeout_s: float = 60,
    at_once: bool = False,
) -> list[Sent]:
    """What becomes of an attempt at each, by one client."""

    async def attempts() -> list[Sent]:
        client = WebhookClient(
            guard, "test/1", mask=str, timeout_s=timeout_s, connections_max=CONNECTIONS_MAX
        )
        each = [client.send(url, b'{"a": 1}', headers or {}) for url in urls]
        try:
            return await asyncio.gather(*each) if at_once else [await one for one in each]
        finally:
            await client.close()

    return asyncio.run(attempts())
