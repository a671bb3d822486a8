"""Fixtures of the platform's tests."""

import json
from pathlib import Path

import pytest

from sandbox.domain.profile import Profile
from tests.driving import InProcess, fresh
from tests.profiles import NEUTRAL

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def profile(request: pytest.FixtureRequest) -> Profile:
    """The names in use: neutral ones unless a module names others."""
    chosen: Profile = getattr(request, "param", NEUTRAL)
    return chosen


@pytest.fixture
def sandbox(profile: Profile) -> InProcess:
    """A fresh sandbox, frozen at NOW."""
    return fresh(profile=profile)


@pytest.fixture(scope="session")
def wider_cast(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A fixture file with what the demo cast lacks.

    It has a child of the admin, and a key of the deleted account.
    """
    cast = json.loads((PROJECT / "fixtures" / "demo.json").read_text(encoding="utf-8"))
    born = "2025-01-06T09:00:00.000Z"
    cast["accounts"]["14"] = {
        "cast": "admin_partner",
        "parent": "admin",
        "type": "partner",
        "name": "House Partner",
        "description": "Partner right below the administration",
        "created_at": born,
    }
    cast["api_keys"]["14"] = {
        "cast": "orphan",
        "account": "deleted_merchant",
        "lookup": "demoorphan00",
        "name": "Demo orphan key",
        "permissions": ["all"],
        "created_at": born,
    }
    path = tmp_path_factory.mktemp("cast") / "wider.json"
    path.write_text(json.dumps(cast), encoding="utf-8")
    return str(path)


@pytest.fixture
def wider(profile: Profile, wider_cast: str) -> InProcess:
    """As `sandbox`, with the wider cast."""
    return fresh(profile=profile, fixture=wider_cast)
