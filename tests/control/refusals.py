"""The shape of the refusals of the control API, and what they leave as it was."""

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


def everything(sandbox: InProcess) -> list[bytes]:
    """Everything that a request to the control API could have changed."""
    paths = ["/worlds", "/tokens", "/worlds/default/snapshot", "/worlds/default/requests"]
    paths += ["/worlds/default/switches", "/worlds/default/marks"]
    return [sandbox.control("GET", path).body for path in paths]
