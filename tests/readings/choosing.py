"""How tests of readings choose one."""

from typing import Any

from sandbox.domain.profile import parse_profile
from tests.driving import InProcess, fresh


def choose(sandbox: InProcess, world: str = "default", **values: Any) -> dict[str, Any]:
    """Choose readings of a world; all that are in force then."""
    answer = sandbox.control("PUT", f"/worlds/{world}/readings", values)
    assert answer.status == 200, answer.body
    chosen: dict[str, Any] = answer.json()
    return chosen


def by_profile(**values: Any) -> InProcess:
    """A sandbox whose profile chooses these readings."""
    return fresh(profile=parse_profile({"readings": values}))
