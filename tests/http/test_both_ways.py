"""A request is answered from its connection as any ASGI server would have it answered."""

import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from sandbox.app import build
from sandbox.platform.routes import OPERATIONS
from sandbox.platform.rows import Row
from sandbox.settings import Settings
from tests.driving import InProcess
from tests.http.talking import Answer, Client, Serving, serving

NOON = {"now": "2026-03-01T12:00:00Z", "mode": "frozen"}
CALLERS = ("merchant", "partner", None, "svc_uat_unknown")
BODIES: tuple[dict[str, Any], ...] = ({}, {"amount": 1000}, {"name": "New", "permissions": []})


@pytest.fixture(scope="module")
def plain() -> InProcess:
    sandbox = InProcess(build(Settings()))
    sandbox.control("PUT", "/worlds/default/clock", NOON)
    return sandbox


@pytest.fixture(scope="module")
def quick() -> Iterator[Serving]:
    with serving() as server:
        InProcess(server.sandbox).control("PUT", "/worlds/default/clock", NOON)
        yield server


def _paths(row: Row, plain: InProcess) -> list[str]:
    """The row's path with an id that there is, and with one that there is not."""
    names = re.findall(r"{(\w+)}", row.path)
    known = {"account_id": plain.account("merchant"), "key_id": plain.key_id("merchant")}
    there = row.path.format_map({name: known.get(name, "missing") for name in names})
    return [there, row.path.format_map(dict.fromkeys(names, "missing"))][: 1 + bool(names)]


def _asked(client: Client, plain: InProcess, row: Row, path: str, sent: Any) -> Answer:
    caller, body = sent
    lines = [f"{row.method} {path} HTTP/1.1", "host: localhost", "accept: application/json"]
    if caller is not None:
        lines.append(f"x-service-apikey: {plain.key(caller)}")
    lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return client.ask("\r\n".join([*lines, "", ""]).encode() + body)


@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.name)
def test_status_headers_and_body_are_those_of_the_plain_way(plain, quick, row):
    with Client(quick.port) as client:
        for path, caller, body in product(_paths(row, plain), CALLERS, BODIES):
            content = json.dumps(body).encode()
            expected = plain.ask(row.method, path, key=caller, body=content)

            answer = _asked(client, plain, row, path, (caller, content))

            assert answer.status == expected.status
            assert answer.headers == dict(expected.headers)
            assert answer.body == expected.body
