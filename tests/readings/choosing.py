"""How tests of readings choose one."""

from typing import Any

from sandbox.domain.profile import parse_profile
from tests.driving import InProcess, fresh


def by_profile(**values: Any) -> InProcess:
    """A sandbox whose profile chooses these readings."""
    return fresh(profile=parse_profile({"readings": values}))
