"""How tests have something follow an attempt, and let the time pass until then."""

import asyncio
from typing import Any

from tests.driving import InProcess
from tests.payments.tapping import advance as advance_at_desk
from tests.scenarios.running import running


def follows(
    sandbox: InProcess, *follow: dict[str, Any], when: dict[str, Any] | None = None, **then: Any
) -> None:
    """From here on these follow each attempt that fits."""
    rule = {"name": "story", "when": when or {}, "then": then | {"follow": list(follow)}}
    running(sandbox, rule)


def after(wait: str, do: str, **more: Any) -> dict[str, Any]:
    return {"after": wait, "do": do} | more


def advance(sandbox: InProcess, by: str) -> list[tuple[str, str, str]]:
    """What happened on the way: (at, kind, subject)."""
    return [
        (one["at"], one["kind"], one["subject"])
        for one in asyncio.run(advance_at_desk(sandbox, by))
    ]
