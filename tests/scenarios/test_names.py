"""Names of scenarios and rules are said in headers and log lines: they are one line of plain text.

Source: assumed D3, D14, D25-plain.
"""

from typing import Any

import pytest

from sandbox.scenarios.parser import parse_scenario
from sandbox.worlds.lifecycle import run_scenario
from tests.scenarios.running import SCENARIO
from tests.support.payments import pay

OBEYED = {
    "a\r\nX-Injected: yes": r"\r",
    "a\x1b[31m": r"\x1b",
    "a\x00": r"\x00",
    "a\x9b": r"\x9b",
    "a\u2028b": r"\u2028",
    "a\u202eb": r"\u202e",
}
"""Names with a character that a terminal or a header obeys, and how that is written."""

PLACES: dict[str, tuple[str, ...]] = {
    "name": ("name",),
    "rule 1": ("rule", "name"),
    "rule 1, when.terminal": ("rule", "when", "terminal"),
    "webhook 1": ("webhook", "name"),
    "example 1": ("example", "name"),
    "example 1, send.terminal": ("example", "send", "terminal"),
}


def _with(place: tuple[str, ...], name: str) -> dict[str, Any]:
    scenario: dict[str, Any] = {
        "name": "story",
        "rule": [{"when": {"operation": "sale"}, "then": {"outcome": "lost_card"}}],
        "webhook": [{"when": {"event": "transaction.sale"}, "then": {"drop": True}}],
        "example": [{"send": {"operation": "sale"}, "expect": {"status": "declined"}}],
    }
    part = scenario
    for step in place[:-1]:
        part = part[step][0] if isinstance(part[step], list) else part[step]
    part[place[-1]] = name
    return scenario


@pytest.mark.proves("assumed D25-plain")
def test_a_name_that_is_not_a_plain_line_is_refused_with_its_place(sandbox):
    for named, place in PLACES.items():
        for name, written in OBEYED.items():
            answer = sandbox.control("PUT", SCENARIO, _with(place, name))

            said = answer.json()["message"]
            assert (answer.status, answer.json()["error"]) == (400, "validation_error")
            assert said.startswith(f"scenario: {named}"), said
            plain = f"a name is one line of plain text, and this one has {written} in it"
            assert said.endswith(plain), said
            assert said.isprintable()
    assert pay(sandbox).status == 200
    for name in ("Größe 42", "條件", "a rule: sale; refund=no", "😀", "a\u200db"):
        for place in (("name",), ("rule", "name")):
            assert sandbox.control("PUT", SCENARIO, _with(place, name)).status == 200


@pytest.mark.proves("assumed D3, D14, D25-plain")
def test_a_header_says_what_a_header_can_say_of_a_rule(sandbox):
    """Also of a rule that came from elsewhere than through a check of its name."""
    scenario = parse_scenario(_with(("rule", "name"), "a rule"))
    for name, said in (
        ("Größe", "Gr??e"),
        ("a\r\nX-Injected: yes", "a??X-Injected: yes"),
        ("\x1b[31m\x7f", "?[31m?"),
    ):
        rule = scenario.rule[0].model_copy(update={"name": name})
        parts = {"rule": [rule], "webhook": [], "example": []}
        run_scenario(sandbox.sandbox.worlds.default, scenario.model_copy(update=parts))

        answer = pay(sandbox)

        assert answer.json()["status"] == "declined"
        assert answer.headers["x-sandbox-outcome"] == f"lost_card; source=scenario; rule={said}"
