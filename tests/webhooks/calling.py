"""How tests in process have webhooks sent."""

import asyncio
from collections.abc import Callable
from typing import Any

from sandbox.domain.webhooks import Sent
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.client import WebhookClient
from tests.driving import InProcess

WORLD = "/worlds/default"


def delivered(sandbox: InProcess, does: Callable[..., Any], *how: Any, **more: Any) -> Any:
    """What comes of it, once its messages were sent to everyone who wants them."""

    async def deliver() -> Any:
        async with sandbox.living():
            done = does(*how, **more)
            await sandbox.get_world().wait_idle()
            return done

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
            guard, mask=str, timeout_s=timeout_s, connections_max=CONNECTIONS_MAX
        )
        each = [client.send(url, b'{"a": 1}', headers or {}) for url in urls]
        try:
            return await asyncio.gather(*each) if at_once else [await one for one in each]
        finally:
            await client.close()

    return asyncio.run(attempts())
