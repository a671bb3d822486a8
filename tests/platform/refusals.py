"""What every refusal has to look like, and that it changed nothing."""

from tests.driving import Response

BODY_MAX = 65_536


def assert_key_refusal(answer: Response, status: int, error: str) -> None:
    """The three strings of the API-key endpoints, and nothing else."""
    body = answer.json()
    assert (answer.status, body.get("error")) == (status, error), answer.body[:300]
    assert answer.headers["content-type"] == "application/json"
    assert list(body) == ["error", "message", "details"]
    assert all(isinstance(value, str) for value in body.values())


def assert_other_refusal(answer: Response, status: int, error: str) -> None:
    """The two strings of every other endpoint."""
    body = answer.json()
    assert (answer.status, body.get("error")) == (status, error), answer.body[:300]
    assert answer.headers["content-type"] == "application/json"
    assert list(body) == ["detail", "error"]
    assert all(isinstance(value, str) for value in body.values())
