"""How tests have a scenario run in the world of a sandbox, and see which rule applied."""

from typing import Any

from jsonschema import Draft202012Validator

from sandbox.scenarios.schema import scenario_schema
from tests.driving import InProcess, Response

LOST = {"outcome": "lost_card"}
SCHEMA = Draft202012Validator(scenario_schema())
STORY = {
    "name": "story",
    "rule": [{"when": {"operation": "sale"}, "then": LOST}],
    "webhook": [{"when": {"event": "transaction.sale"}, "then": {"drop": True}}],
    "example": [{"send": {"operation": "sale"}, "expect": {"status": "declined"}}],
}
"""A scenario with a part of each kind."""


def put(sandbox: InProcess, *rules: dict[str, Any]) -> Response:
    """Asks for a scenario of these rules."""
    return sandbox.manage("PUT", "/scenario", {"name": "mine", "rule": list(rules)})


def running(sandbox: InProcess, *rules: dict[str, Any]) -> None:
    """A scenario of these rules runs from here on. Its first rules fit the schema."""
    put(sandbox, *rules).expect(200)
    SCHEMA.validate({"name": "mine", "rule": list(rules[:10])})


def follows(
    sandbox: InProcess, *follow: dict[str, Any], when: dict[str, Any] | None = None, **then: Any
) -> None:
    """From here on these follow each attempt that fits."""
    running(sandbox, {"name": "story", "when": when or {}, "then": then | {"follow": [*follow]}})


def after(wait: str, do: str, **more: Any) -> dict[str, Any]:
    return {"after": wait, "do": do} | more


def counts(sandbox: InProcess) -> list[tuple[str, int, int, bool]]:
    """Of each rule its name, how often it fitted and applied, and whether it is used up."""
    shown = sandbox.look("scenario")["rules"]
    return [(one["name"], one["fitted"], one["applied"], one["is_used_up"]) for one in shown]


def source(answer: Response) -> str:
    """Who chose the outcome, and by which rule: `scenario 1`."""
    parts = answer.headers["x-sandbox-outcome"].split("; ")
    return " ".join(part.partition("=")[2] for part in parts[1:])


def carrying(card: str) -> dict[str, Any]:
    """The part of a body that holds a test card."""
    return {"card_reader_data": {"paymentCardData": card}}


def tipping(subtotal: int, tip: int) -> dict[str, Any]:
    """The part of a body that tells a tip."""
    return {"breakdown": {"subtotal": subtotal, "tipAmount": tip}}
