"""How tests of readings choose one."""

from typing import Any

from tests.driving import InProcess


def choose(sandbox: InProcess, world: str = "default", **values: Any) -> dict[str, Any]:
    """Choose readings of a world; all that are in force then."""
    answer = sandbox.control("PUT", f"/worlds/{world}/readings", values)
    assert answer.status == 200, answer.body
    chosen: dict[str, Any] = answer.json()
    return chosen
