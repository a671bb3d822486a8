"""The shape of the refusals of the control API."""

from tests.driving import Response


def assert_refused(answer: Response, status: int, error: str, nearest: str | None = None) -> None:
    """The documented shape: three strings, and the nearest known word where there is one."""
    body = answer.json()
    assert (answer.status, body["error"]) == (status, error), answer.body
    assert set(body) - {"nearest"} == {"error", "message", "details"}
    assert all(isinstance(value, str) for value in body.values())
    assert body.get("nearest") == nearest, body["message"]
    assert answer.headers["content-type"] == "application/json"
