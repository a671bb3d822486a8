"""What a scenario, the queue and the journal hold has a limit, and names are one plain line.

Names of scenarios and rules are said in headers and log lines. Source: docs/design/worlds.md;
assumed D3, D14, D25-plain.
"""

import json
from typing import Any

import pytest

from sandbox.scenarios.matcher import NEAR_MISSES_MAX
from sandbox.scenarios.parser import PARTS_MAX, parse_scenario
from sandbox.scenarios.queue import QUEUE_MAX
from sandbox.scenarios.words import RULES_MAX, WEBHOOK_RULES_MAX
from sandbox.worlds.coverage_counters import OTHERS, SCENARIOS_MAX
from sandbox.worlds.lifecycle import run_scenario
from tests.control.refusals import assert_refused
from tests.openapi.planting import planted
from tests.scenarios.running import LOST, STORY, running


def queue(sandbox, **entry):
    return sandbox.manage("POST", "/scenario/next", {"outcome": "lost_card"} | entry)


def test_a_full_queue_leaves_a_small_entry_and_refuses_one_more_outcome(sandbox):
    """None of them fits a sale of 1000, and a snapshot brings no more either."""
    for _ in range(QUEUE_MAX):
        assert queue(sandbox, amount=1).status == 201
    running(sandbox, *[{"when": {"amount": 1}, "then": LOST}] * RULES_MAX)
    entry = sandbox.journal(sandbox.pay())
    full = sandbox.look("snapshot")
    as_full = sandbox.manage("PUT", "/snapshot", full)
    (world,) = full["world"].values()
    world["queue"].append(world["queue"][0])
    too_full = sandbox.manage("PUT", "/snapshot", full)
    refused = queue(sandbox)
    waiting = sandbox.look("scenario/next")["total"]
    sandbox.manage("DELETE", "/scenario/next")

    near = entry["near_misses"]
    assert near[:-1] == ["queue: waits for the amount 1"] * NEAR_MISSES_MAX
    assert near[-1] == f"and {QUEUE_MAX + RULES_MAX - NEAR_MISSES_MAX} more"
    assert len(json.dumps(entry)) < 10_000
    assert as_full.status == 200
    assert_refused(too_full, 400, "not_restored")
    said = f"has {QUEUE_MAX + 1}, and a world can have at most {QUEUE_MAX}"
    assert said in too_full.json()["message"]
    assert_refused(refused, 409, "queue_full")
    assert f"{QUEUE_MAX} next outcomes are already waiting" in refused.json()["message"]
    assert "DELETE" in refused.json()["details"]
    assert waiting == QUEUE_MAX
    assert queue(sandbox).status == 201


HOSTILE: list[list[Any]] = [
    [{"when": {"amount": [{"min": 1}] * 12_000}, "then": LOST}],
    [{f"u{n}": 1 for n in range(12_000)}],
    [{"then": {"follow": [{"after": "1s", "do": "revoke_key"}] * 20}}] * 200,
]


def test_a_scenario_with_too_many_parts_is_refused_before_they_are_checked(sandbox):
    rows = [("rule", one, f"more than {PARTS_MAX} tables, lists and values") for one in HOSTILE]
    # As many rules as may be are those of the queue's test.
    rows.append(("rule", [{"then": LOST}] * (RULES_MAX + 1), f"at most {RULES_MAX}"))
    drops = [{"then": {"drop": True}}] * (WEBHOOK_RULES_MAX + 1)
    rows.append(("webhook", drops, f"at most {WEBHOOK_RULES_MAX}"))
    # Of many faults the first is said.
    for value in ([1], "x", {"min": "x"}):
        rule = {"when": {"amount": [value] * 8}, "then": LOST}
        rows.append(("rule", [rule] * 300, "rule 1, when.amount"))
    for part, rules, said in rows:
        refused = sandbox.manage("PUT", "/scenario", {"name": "mine", part: rules})

        assert_refused(refused, 400, "validation_error")
        assert said in refused.json()["message"]


def test_the_journal_notes_the_first_unknown_names_and_counts_the_rest(sandbox):
    """How much of a body, a path and a query it has: tests/platform/test_what_is_looked_at.py."""
    names = [f"u{number}" for number in range(500)]
    query = "&".join(f"{name}=1" for name in names)
    for answer in (
        sandbox.get("/v2/transactions", query=query),
        sandbox.pay(**dict.fromkeys(names, 1)),
    ):
        *noted, rest = sandbox.journal(answer)["notes"]

        assert [note.split()[3] for note in noted] == [f"'u{number}'" for number in range(5)]
        assert rest.startswith("and 495 more, of ")


# --- what was exercised -----------------------------------------------------------------------


def test_the_first_of_many_scenarios_are_counted_by_name_and_the_rest_together(sandbox):
    for number in (*range(SCENARIOS_MAX + 7), 0):
        body = {"name": f"mine {number}", "rule": [{"then": LOST}]}
        sandbox.manage("PUT", "/scenario", body).expect(200)

    for path in ("coverage", "/coverage"):
        ran = sandbox.look(path)["scenarios"]["exercised"]
        assert (ran["mine 0"], ran[f"mine {SCENARIOS_MAX - 1}"], ran[OTHERS]) == (2, 1, 7)
        assert len(ran) == SCENARIOS_MAX + 1


OBEYED = {
    "a\r\nX-Injected: yes": r"\r",
    "a\x1b[31m": r"\x1b",
    "a\x00": r"\x00",
    "a\x9b": r"\x9b",
    "a\u2028b": r"\u2028",
    "a\u202eb": r"\u202e",
}
"""Names with a character that a terminal or a header obeys, and how that is written."""

PLACES = {
    "name": ("name",),
    "rule 1": ("rule", "[]", "name"),
    "rule 1, when.terminal": ("rule", "[]", "when", "terminal"),
    "webhook 1": ("webhook", "[]", "name"),
    "example 1": ("example", "[]", "name"),
    "example 1, send.terminal": ("example", "[]", "send", "terminal"),
}


@pytest.mark.proves("assumed D25-plain")
def test_a_name_that_is_not_a_plain_line_is_refused_with_its_place(sandbox):
    for named, place in PLACES.items():
        for name, written in OBEYED.items():
            answer = sandbox.manage("PUT", "/scenario", planted(STORY, place, name))

            said = answer.json()["message"]
            assert answer.error() == (400, "validation_error")
            assert said.startswith(f"scenario: {named}"), said
            plain = f"a name is one line of plain text, and this one has {written} in it"
            assert said.endswith(plain), said
            assert said.isprintable()
    assert sandbox.pay().status == 200
    for name in ("Größe 42", "條件", "a rule: sale; refund=no", "😀", "a\u200db"):
        for place in (PLACES["name"], PLACES["rule 1"]):
            assert sandbox.manage("PUT", "/scenario", planted(STORY, place, name)).status == 200


@pytest.mark.proves("assumed D3, D14, D25-plain")
def test_a_header_shows_a_rule_in_printable_ascii(sandbox):
    """Also of a rule that came from elsewhere than through a check of its name."""
    scenario = parse_scenario(planted(STORY, PLACES["rule 1"], "a rule"))
    for name, said in (
        ("Größe", "Gr??e"),
        ("a\r\nX-Injected: yes", "a??X-Injected: yes"),
        ("\x1b[31m\x7f", "?[31m?"),
    ):
        rule = scenario.rule[0].model_copy(update={"name": name})
        parts = {"rule": [rule], "webhook": [], "example": []}
        run_scenario(sandbox.sandbox.worlds.default, scenario.model_copy(update=parts))

        answer = sandbox.pay()

        assert answer.json()["status"] == "declined"
        assert answer.outcome == f"lost_card; source=scenario; rule={said}"
