"""Names of scenarios and rules are said in headers and log lines: they are one line of plain text.

Source: assumed D3, D14, D25-plain.
"""

from pathlib import Path
from typing import Any

import pytest

from sandbox.scenarios.parser import ScenarioError, parse_scenario, read_scenario
from sandbox.worlds.lifecycle import run_scenario
from tests.support.payments import pay

OBEYED = {
    "a line break": ("a\r\nX-Injected: yes", r"\r"),
    "an escape sequence": ("a\x1b[31m", r"\x1b"),
    "nothing": ("a\x00", r"\x00"),
    "a character of C1": ("a\x9b", r"\x9b"),
    "a line separator": ("a\u2028b", r"\u2028"),
    "a turn of direction": ("a\u202eb", r"\u202e"),
}

PLACES: dict[str, tuple[str, ...]] = {
    "name": ("name",),
    "rule 1": ("rule", "name"),
    "rule 1, when.terminal": ("rule", "when", "terminal"),
    "webhook 1": ("webhook", "name"),
    "example 1": ("example", "name"),
    "example 1, send.terminal": ("example", "send", "terminal"),
}


def _scenario() -> dict[str, Any]:
    return {
        "name": "story",
        "rule": [{"when": {"operation": "sale"}, "then": {"outcome": "lost_card"}}],
        "webhook": [{"when": {"event": "transaction.sale"}, "then": {"drop": True}}],
        "example": [{"send": {"operation": "sale"}, "expect": {"status": "declined"}}],
    }


def _with(place: tuple[str, ...], name: str) -> dict[str, Any]:
    scenario = _scenario()
    part: Any = scenario
    for step in place[:-1]:
        part = part[step][0] if isinstance(part[step], list) else part[step]
    part[place[-1]] = name
    return scenario


@pytest.mark.proves("assumed D25-plain")
@pytest.mark.parametrize("what", OBEYED)
@pytest.mark.parametrize("named", PLACES)
def test_a_name_that_is_not_a_plain_line_is_refused_with_its_place(sandbox, named, what):
    name, written = OBEYED[what]

    answer = sandbox.control("PUT", "/worlds/default/scenario", _with(PLACES[named], name))

    said = answer.json()["message"]
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert said.startswith(f"scenario: {named}"), said
    assert said.endswith(f"a name is one line of plain text, and this one has {written} in it")
    assert said.isprintable()
    assert pay(sandbox).status == 200


def test_a_file_with_one_is_refused_with_its_name(tmp_path: Path):
    path = tmp_path / "story.toml"
    rule = '[[rule]]\nname = "a\\u001b[31m"\nthen.outcome = "lost_card"\n'
    path.write_text(f'name = "story"\n{rule}', encoding="utf-8")

    with pytest.raises(ScenarioError) as refused:
        read_scenario(path)

    assert str(refused.value).startswith(f"{path}: rule 1")
    assert r"this one has \x1b in it" in str(refused.value)


@pytest.mark.parametrize("name", ["Größe 42", "條件", "a rule: sale; refund=no", "😀", "a\u200db"])
def test_any_other_name_is_one(sandbox, name):
    assert sandbox.control("PUT", "/worlds/default/scenario", _with(("name",), name)).status == 200
    assert sandbox.control("PUT", "/worlds/default/scenario", _with(("rule", "name"), name)).status


@pytest.mark.proves("assumed D3, D14, D25-plain")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Größe", "Gr??e"),
        ("a\r\nX-Injected: yes", "a??X-Injected: yes"),
        ("\x1b[31m\x7f", "?[31m?"),
        ("a rule", "a rule"),
    ],
)
def test_a_header_says_what_a_header_can_say_of_a_rule(sandbox, name, said):
    """Also of a rule that came from elsewhere than through a check of its name."""
    scenario = parse_scenario(_with(("rule", "name"), "a rule"))
    rule = scenario.rule[0].model_copy(update={"name": name})
    running = run_scenario(
        sandbox.sandbox.worlds.default,
        scenario.model_copy(update={"rule": [rule], "webhook": [], "example": []}),
    )

    answer = pay(sandbox)

    assert running.scenario.rule[0].name == name
    assert answer.json()["status"] == "declined"
    assert answer.headers["x-sandbox-outcome"] == f"lost_card; source=scenario; rule={said}"
