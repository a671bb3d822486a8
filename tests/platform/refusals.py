"""What refusals of the API-key endpoints have to look like."""

from tests.driving import Response

BODY_MAX = 65_536


def assert_key_refusal(answer: Response, status: int, error: str) -> None:
    """The three strings of the API-key endpoints, and nothing else."""
    body = answer.json()
    assert (answer.status, body.get("error")) == (status, error), answer.body[:300]
    assert answer.headers["content-type"] == "application/json"
    assert list(body) == ["error", "message", "details"]
    assert all(isinstance(value, str) for value in body.values())
