"""Refusals of the control API: where rows are asked, the shape of refusals, what they leave."""

import re

from sandbox.control.routing import PREFIX, ControlRow
from tests.driving import InProcess, Response


def assert_refused(answer: Response, status: int, error: str, nearest: str | None = None) -> None:
    """The documented shape: three strings, and the nearest known word where there is one."""
    body = answer.json()
    assert (answer.status, body["error"]) == (status, error), answer.body
    assert set(body) - {"nearest"} == {"error", "message", "details"}
    assert all(isinstance(value, str) for value in body.values())
    assert body.get("nearest") == nearest, body["message"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "content-security-policy" in answer.headers


def path_of(row: ControlRow, world: str = "default") -> str:
    """The path of a row in this world without the prefix, with the ids of nothing."""
    return re.sub(r"{\w+}", "none", row.path.replace("{w}", world)).removeprefix(PREFIX)


def everything(sandbox: InProcess) -> list[bytes]:
    """Everything that a request to the control API could have changed."""
    paths = ["/worlds", "/tokens", "/worlds/default/snapshot", "/worlds/default/requests"]
    paths += ["/worlds/default/switches", "/worlds/default/marks"]
    return [sandbox.control("GET", path).body for path in paths]
