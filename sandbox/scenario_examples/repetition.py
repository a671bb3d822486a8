"""Repeating requests that were seen, in a sandbox of its own: whether they are answered alike."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict

import httpx2

from sandbox.domain.profile import Profile
from sandbox.http_client import send, send_json
from sandbox.scenario_examples.own_sandbox import Build, Built, Receiver
from sandbox.settings import Settings

_WORLD: Final = "/_sandbox/worlds/seen"
_CREATED: Final = 201
_REFUSED_FROM: Final = 400


class SeenRequest(TypedDict):
    """A request, and what was seen of its answer.

    `before` are requests to the control API of its world, which come first: method, path and body.
    `key` is the name of a key of the cast, or one in full. `asserted` are the fields of the answer
    that come again, none if it `is_whole` not; `made` are its fields with ids, which later requests
    may name.
    """

    id: str
    before: list[tuple[str, str, Any]]
    method: str
    path: str
    query: str
    key: str | None
    body: Any
    headers: dict[str, str]
    status: int
    is_whole: bool
    asserted: dict[str, Any]
    made: dict[str, str]


def repeat(
    begin: Mapping[str, Any],
    named: Mapping[str, Mapping[str, str]],
    steps: Iterable[SeenRequest],
    build: Build,
    *,
    profile: Profile,
    within_s: float,
) -> str | None:
    """Repeat requests in a world that begins so; say what differs, None if nothing does.

    `named` has the ids of the cast that was seen by their kinds and names.
    """

    async def run() -> str | None:
        async with asyncio.timeout(within_s):
            return await _Repeating(build, profile).run(begin, named, steps)

    try:
        return asyncio.run(run())
    except TimeoutError:
        return f"the requests are not answered within {within_s:g} s"


class _Repeating:
    """A sandbox, and what ids that were seen are there."""

    def __init__(self, build: Build, profile: Profile) -> None:
        sender = Receiver(profile.webhook_header_prefix)
        self._sandbox: Built = build(Settings(profile=profile), sender=sender)
        self._key_header = profile.api_key_header
        self._keys: dict[str, str] = {}
        self._ids: dict[str, str] = {}

    async def run(
        self,
        begin: Mapping[str, Any],
        named: Mapping[str, Mapping[str, str]],
        steps: Iterable[SeenRequest],
    ) -> str | None:
        made = await self._control("POST", "/_sandbox/worlds", {"id": "seen", **begin})
        if made.status_code != _CREATED:
            return _told(made)
        world = made.json()
        self._keys = {name: key["key"] for name, key in world["keys"].items()}
        for kind, ids in named.items():
            here = world[kind]
            self._ids.update((id, here[name]) for name, id in ids.items() if name in here)
        for step in steps:
            if (mistake := await self._repeat(step)) is not None:
                return f"{step['id']}: {mistake}"
        return None

    async def _repeat(self, step: SeenRequest) -> str | None:
        for method, path, body in step["before"]:
            prepared = await self._control(method, f"{_WORLD}{path}", body)
            if prepared.status_code >= _REFUSED_FROM:
                return _told(prepared)
        answer = await self._ask(step)
        status = 0 if answer is None else answer.status_code
        if status != step["status"]:
            return f"it is answered {status}, not {step['status']}"
        try:
            body = None if answer is None else answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return None if not step["asserted"] else "the answer is now not an object"
        for name, value in step["asserted"].items():
            if body.get(name) != value:
                return f"{name} is {body.get(name)!r}, not {value!r}"
        self._ids.update((id, body[field]) for field, id in step["made"].items() if field in body)
        return None

    async def _ask(self, step: SeenRequest) -> httpx2.Response | None:
        headers, content = {"accept": "application/json", **step["headers"]}, None
        if (key := step["key"]) is not None:
            headers[self._key_header] = self._keys.get(key, key)
        if step["body"] is not None:
            body = self._here(step["body"])
            content = (body if isinstance(body, str) else json.dumps(body)).encode()
            if not isinstance(body, str):
                headers["content-type"] = "application/json"
        path = "/".join(self._ids.get(part, part) for part in step["path"].split("/"))
        return await send(
            self._sandbox.app,
            step["method"],
            path,
            headers=headers,
            query=step["query"],
            content=content,
        )

    async def _control(self, method: str, path: str, body: Any) -> httpx2.Response:
        answer = await send_json(self._sandbox.app, method, path, body=body)
        assert answer is not None
        return answer

    def _here(self, value: Any) -> Any:
        """Return the value with the ids of this world in place of those that were seen."""
        if isinstance(value, Mapping):
            return {name: self._here(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._here(one) for one in value]
        return self._ids.get(value, value) if isinstance(value, str) else value


def _told(answer: httpx2.Response) -> str:
    """Why the control API refused something."""
    return str(answer.json().get("message", answer.status_code))
