"""What every refusal has to look like, and that it changed nothing."""

from typing import Any

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.profile import Profile
from sandbox.settings import Settings
from tests.driving import InProcess, Response

FROZEN = ClockSetting(now=parse_rfc3339("2026-03-01T12:00:00.000Z"), mode="frozen")

BODY_MAX = 65_536


def fresh(**settings: Any) -> InProcess:
    """A sandbox of its own, for tests that need other settings or many of them."""
    settings.setdefault("clock", FROZEN)
    profile: Profile = settings.get("profile", Profile())
    return InProcess(build(Settings(**settings)), header=profile.api_key_header.lower())


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
