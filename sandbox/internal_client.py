"""Requests to a sandbox in this process, through httpx's ASGI transport."""

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx2
from starlette.types import ASGIApp

from sandbox.platform.responses import ConnectionClosed

BASE_URL: Final = "http://localhost"
"""The address that in-process requests name."""


async def send(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str],
    query: Any = None,
    content: bytes | None = None,
) -> httpx2.Response | None:
    """Send a request with these headers alone; None if a fault closes the connection."""
    request = httpx2.Request(
        method, BASE_URL + path, params=query or None, headers=headers, content=content
    )
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app)) as client:
        try:
            return await client.send(request)
        except ConnectionClosed:
            return None


async def send_json(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    query: Any = None,
) -> httpx2.Response | None:
    """Send a request for JSON, with a body unless it is None."""
    sent = {"accept": "application/json", **(headers or {})}
    content = None
    if body is not None:
        sent["content-type"] = "application/json"
        content = json.dumps(body).encode()
    return await send(app, method, path, headers=sent, query=query, content=content)
