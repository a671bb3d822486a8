"""How tests have a payment wait at the tap desk, and do something there."""

from typing import Any

from tests.driving import InProcess, Response
from tests.payments.waits import waiting
from tests.scenarios.running import running
from tests.support.payments import ask_on_loop

CONTROL = "/_sandbox/worlds/default"


def desk_opens(sandbox: InProcess, **then: Any) -> None:
    """From here on payments wait for their tap."""
    running(sandbox, {"name": "tap", "then": {"tap": "wait"} | then})


at_desk = waiting
"""The request under way, its payment waiting for a tap."""


async def taps(sandbox: InProcess) -> list[dict[str, Any]]:
    """The payments that wait."""
    listed = (await ask_on_loop(sandbox, "GET", f"{CONTROL}/taps")).json()
    assert listed["total"] == len(listed["taps"])
    found: list[dict[str, Any]] = listed["taps"]
    return found


async def tap(sandbox: InProcess, id: str, **body: Any) -> Response:
    return await ask_on_loop(sandbox, "POST", f"{CONTROL}/taps/{id}", body)


async def advance(sandbox: InProcess, by: str) -> list[dict[str, Any]]:
    """What happened on the way."""
    answer = await ask_on_loop(sandbox, "POST", f"{CONTROL}/clock/advance", {"by": by})
    assert answer.status == 200, answer.body
    fired: list[dict[str, Any]] = answer.json()["fired"]
    return fired
