"""Fixtures of the platform's tests."""

import pytest

from sandbox.domain.profile import Profile
from tests.driving import InProcess, fresh
from tests.platform.minting import write_wider_cast
from tests.profiles import NEUTRAL


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
    """A fixture file with the wider cast."""
    return write_wider_cast(tmp_path_factory.mktemp("cast") / "wider.json")


@pytest.fixture
def wider(profile: Profile, wider_cast: str) -> InProcess:
    """As `sandbox`, with the wider cast."""
    return fresh(profile=profile, fixture=wider_cast)
