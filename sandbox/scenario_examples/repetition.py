"""Repeating recorded requests in a new sandbox, to check that they get the same answers."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import httpx2
from starlette.types import ASGIApp

from sandbox.domain.json_text import fields_of, map_texts, value_of
from sandbox.domain.profile import Profile
from sandbox.http_client import send, send_json
from sandbox.scenario_examples.own_sandbox import Build, Receiver
from sandbox.settings import Settings

_WORLD: Final = "/_sandbox/worlds/seen"


SeenRequest = Mapping[str, Any]
"""A request with facts about its answer, as `control/export_tests.py` builds it.

`before` are requests to the control API of its world that are sent first: method, path and body.
`key` is the name of a key of the cast, or a whole key. `asserted` are the fields of the answer that
must be the same; `made` are its fields with ids, which later requests may name. With `is_found` the
answer is a list of one record, which counts as the answer.
"""


def repeat(
    begin: Mapping[str, Any],
    named: Mapping[str, Mapping[str, str]],
    steps: Iterable[SeenRequest],
    build: Build,
    *,
    profile: Profile,
    within_s: float,
) -> str | None:
    """Repeat requests in a new world with this beginning; return what differs, or None.

    `named` has the recorded ids of the cast by kind and name.
    """

    async def run() -> None:
        async with asyncio.timeout(within_s):
            built = build(Settings(profile=profile), sender=Receiver())
            repeating = _Repeating(built.app, profile)
            world = await repeating.control("POST", "/_sandbox/worlds", {"id": "seen", **begin})
            repeating.keys = {name: key["key"] for name, key in world["keys"].items()}
            for kind, ids in named.items():
                here = world[kind]
                repeating.ids |= {id: here[name] for name, id in ids.items() if name in here}
            for step in steps:
                try:
                    await repeating.repeat(step)
                except _Differs as differs:
                    raise _Differs(f"{step['id']}: {differs}") from None

    try:
        asyncio.run(run())
    except _Differs as differs:
        return str(differs)
    except TimeoutError:
        return f"the requests were not answered within {within_s:g} s"
    return None


class _Differs(Exception):
    """An answer differs from the recorded one; the message says how."""


@dataclass(slots=True)
class _Repeating:
    """A sandbox, and the counterparts of recorded ids in it."""

    app: ASGIApp
    profile: Profile
    keys: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    async def repeat(self, step: SeenRequest) -> None:
        """Repeat a request. Raises _Differs."""
        for method, path, body in step["before"]:
            await self.control(method, f"{_WORLD}{path}", body)
        answer = await self._ask(step)
        status = 0 if answer is None else answer.status_code
        if status != step["status"]:
            raise _Differs(f"it is answered {status}, not {step['status']}")
        shown = value_of(None if answer is None else answer.content)
        if step["is_found"] and isinstance(shown, list) and len(shown) == 1:
            shown = shown[0]
        if step["asserted"] and not isinstance(shown, dict):
            raise _Differs("the answer is now not an object")
        fields = fields_of(shown)
        for name, value in step["asserted"].items():
            if fields.get(name) != value:
                raise _Differs(f"{name} is {fields.get(name)!r}, not {value!r}")
        self.ids.update((id, fields[name]) for name, id in step["made"].items() if name in fields)

    async def _ask(self, step: SeenRequest) -> httpx2.Response | None:
        headers, sent = {"accept": "application/json", **step["headers"]}, {}
        if (key := step["key"]) is not None:
            headers[self.profile.api_key_header] = self.keys.get(key, key)
        if step["body"] is not None:
            body = map_texts(step["body"], lambda text: self.ids.get(text, text))
            sent = {"content" if isinstance(body, str) else "json": body}
        path = quote("/".join(self.ids.get(part, part) for part in step["path"].split("/")))
        method, query = step["method"], step["query"]
        return await send(self.app, method, path, headers=headers, query=query, **sent)

    async def control(self, method: str, path: str, body: Any) -> dict[str, Any]:
        """Return an answer of the control API. Raises _Differs with the reason of a refusal."""
        answer = await send_json(self.app, method, path, body=body)
        assert answer is not None
        fields = fields_of(value_of(answer.content))
        if not answer.is_success:
            raise _Differs(str(fields.get("message", answer.status_code)))
        return fields
