"""Scenarios are run, stopped, read, checked and shown, by name or as the files people write."""

import asyncio
import logging
import tomllib
from pathlib import Path

import pytest

from sandbox.app import build
from sandbox.scenario_examples.own_sandbox import run_examples
from sandbox.scenarios.parser import parse_scenario, to_toml
from sandbox.startup import ScenarioReloader
from tests.control.refusals import assert_refused
from tests.scenarios.running import LOST, counts, running, source

KNOWN, TITLE = "insufficient_funds_then_success", "Insufficient funds, then success"

UNUSABLE = [
    ("insufficient_funds_then", "unknown_scenario", KNOWN, "no scenario 'insufficient_funds_then'"),
    (f"{TITLE}s", "unknown_scenario", TITLE, f"did you mean '{TITLE}'?"),
    ("qqqqqqqqqqqq", "unknown_scenario", None, "no scenario 'qqqqqqqqqqqq'"),
    (5, "validation_error", None, "scenario: must be a name or a whole scenario"),
    ({}, "validation_error", None, "scenario: name"),
    ({"toml": f"a{'.a' * 900} = 1"}, "validation_error", None, "a key has more than 32 parts"),
    ({"toml": f"a = 0x{'f' * 9_000}"}, "validation_error", None, "a number has too many digits"),
    ({"toml": f"a = {'[' * 99}{']' * 99}"}, "validation_error", None, "'a' is not a field here"),
    ({"toml": f"a = {'[' * 100}{']' * 100}"}, "validation_error", None, "is nested too deeply"),
    ({"name": "x", "rules": []}, "validation_error", "rule", "scenario: rules"),
    (
        {"name": "x", "rule": [{"when": {"key": "partnr"}, "then": {"delay_ms": 1}}]},
        "validation_error",
        "partner",
        "scenario: rule 1, when.key: the world has no key 'partnr'",
    ),
]
"""What is asked for, the error, the nearest known word, and what the message says."""


def test_a_scenario_takes_the_place_of_the_one_before_until_it_is_stopped(sandbox):
    running(sandbox, {"name": "before", "then": LOST})
    sandbox.pay()

    running(sandbox, {"name": "after", "then": {"outcome": "stolen_card"}})

    assert counts(sandbox) == [("after", 0, 0, False)]
    assert source(sandbox.pay()) == "scenario after"
    stopped = sandbox.manage("DELETE", "/scenario")
    again = sandbox.manage("DELETE", "/scenario")

    assert (stopped.status, stopped.body, again.status) == (204, b"", 204)
    assert source(sandbox.pay()) == "default default"
    assert_refused(sandbox.manage("GET", "/scenario"), 404, "no_scenario")
    assert sandbox.manage("GET", "").json()["scenario"] is None


def test_a_watched_file_is_read_once_it_is_written_in_whole(sandbox, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("sandbox.startup.LOOKS_EVERY_S", 0)
    caplog.set_level(logging.INFO, "sandbox.scenario_reload")
    path = tmp_path / "mine.toml"
    path.touch()

    async def write() -> None:
        watching = asyncio.create_task(ScenarioReloader(path).watch(sandbox.sandbox.worlds))
        for line in ("# Mine", 'name = "Whole"', "[[rule]]", 'then.outcome = "lost_card"'):
            path.write_text(f"{path.read_text()}{line}\n")
            # It looks once meanwhile.
            await asyncio.sleep(0)
        while not caplog.messages:
            await asyncio.sleep(0.001)
        watching.cancel()

    asyncio.run(asyncio.wait_for(write(), 20))

    assert caplog.messages == [f"reloaded scenario 'Whole' from {path}"]
    assert source(sandbox.pay()) == "scenario 1"


def test_an_unusable_scenario_is_a_400_that_changes_nothing_and_makes_no_world(sandbox):
    running(sandbox, {"name": "before", "then": LOST | {"times": 2}})
    sandbox.pay()
    for scenario, error, nearest, said in UNUSABLE:
        body = {"name": scenario} if isinstance(scenario, str) else scenario

        run = sandbox.manage("PUT", "/scenario", body)
        begun = sandbox.control("POST", "/worlds", {"id": "mine", "scenario": scenario})

        assert_refused(run, 400, error, nearest)
        assert_refused(begun, 400, error, nearest)
        assert said in begun.json()["message"]
    assert counts(sandbox) == [("before", 1, 1, False)]
    assert source(sandbox.pay()) == "scenario before"
    assert sandbox.look("/worlds")["total"] == 1


# --- worlds -----------------------------------------------------------------------------------


def test_a_world_can_begin_with_a_scenario_by_name_or_written_out(sandbox):
    inline = {"name": "Mine", "rule": [{"then": {"outcome": "lost_card"}}]}

    named = sandbox.control("POST", "/worlds", {"id": "named", "scenario": KNOWN})
    written = sandbox.control("POST", "/worlds", {"id": "written", "scenario": inline})

    assert (named.status, written.status) == (201, 201)
    assert named.json()["scenario"] == TITLE
    assert sandbox.look("/worlds/written")["scenario"] == "Mine"
    assert sandbox.manage("GET", "").json()["scenario"] is None
    # The names in a scenario are those of its world.
    fixture = {"id": "mine", "fixture": "empty"}
    by_terminal = {"name": "x", "rule": [{"when": {"terminal": "merchant"}, "then": LOST}]}

    refused = sandbox.control("POST", "/worlds", {**fixture, "scenario": by_terminal})

    assert_refused(refused, 400, "validation_error")
    assert sandbox.control("GET", "/worlds/mine").status == 404


FILES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))
TOML = """
name = "mine"

[[rule]]
name = "no funds"
when = { amount = 500 }
then = { outcome = "insufficient_funds" }

[[webhook]]
then = { delay_ms = 5 }
"""


def check(sandbox, **body):
    return sandbox.control("POST", "/scenarios/check", body).expect(200)["problems"]


def test_a_scenario_that_is_written_as_a_file_says_the_same():
    odd = {"name": 'a "b" \\ \n\t\x7f é \u2028', "rule": [{"then": {"a b": [1, 2.5, True, {}]}}]}
    for document in [odd, *(tomllib.loads(path.read_text(encoding="utf-8")) for path in FILES)]:
        assert tomllib.loads(to_toml(document)) == document


def test_a_scenario_of_the_library_is_read_as_its_file(sandbox):
    shown = sandbox.look("/scenarios/late_answer")

    file = FILES[0].with_stem("late_answer").read_text(encoding="utf-8")
    assert shown["toml"] == file
    assert sandbox.manage("PUT", "/scenario", shown["json"]).status == 200
    assert len(shown["examples"]) > 1


def test_a_file_runs_and_shows_what_its_rules_decided(sandbox):
    answer = sandbox.manage("PUT", "/scenario", {"toml": TOML})
    sandbox.pay(amount=500)
    last = sandbox.pay(amount=500).headers["x-sandbox-request-id"]
    sandbox.pay(amount=600)

    shown = sandbox.look("scenario")

    assert answer.status == 200
    again = sandbox.manage("PUT", "/scenario", {"toml": shown["toml"]}).expect(200)
    assert again["toml"] == shown["toml"]
    assert shown["since"] == "2026-03-01T12:00:00.000Z"
    told = {"fitted": 2, "applied": 2, "is_used_up": False, "last_request_id": last}
    text = 'when = { amount = [500] }\nthen = { outcome = "insufficient_funds" }\n'
    assert shown["rules"] == [{"name": "no funds", "toml": text} | told]
    assert shown["webhooks"][0]["last_request_id"] is None
    sandbox.manage("DELETE", "/scenario")
    sandbox.load(sandbox.saved()).expect(200)
    assert_refused(sandbox.manage("GET", "/scenario"), 404, "no_scenario")


# --- checking ---------------------------------------------------------------------------------


def test_every_mistake_has_its_place_and_the_nearest_word(sandbox):
    text = """name = "mine"

[[rule]]
then = { outcome = "lost_card" }

[[rule]]
name = "second"
when = { operation = "salle" }
then = { outcme = "lost_card" }

[[webhook]]
then = { delay_ms = 0 }

[[rule]]

[[rule]]
then = { fault = "http_5033" }
"""

    problems = check(sandbox, toml=text)

    places = {(one["rule"], one["field"], one["line"], one["nearest"]) for one in problems}
    assert ("rule 2", "when.operation", 8, "sale") in places
    assert ("rule 2", "then.outcme", 9, "outcome") in places
    assert ("webhook 1", "then.delay_ms", 12, None) in places
    assert ("rule 3", "then", 14, None) in places
    assert ("rule 4", "then.fault", 17, "http_503") in places
    assert all(one["message"] for one in problems)
    assert {one["line"] for one in check(sandbox, json=tomllib.loads(text))} == {None}


def test_the_first_hundred_mistakes_are_listed_and_the_rest_counted(sandbox):
    for count in (100, 101, 2_000):
        wrong = "\n".join(f'operatio{number} = "sale"' for number in range(count))
        text = f'name = "x"\n[[rule]]\n[rule.when]\n{wrong}\n[rule.then]\ntimes = 0\n'

        found = sandbox.control("POST", "/scenarios/check", {"toml": text}).json()

        assert (len(found["problems"]), found["total"]) == (100, count + 1)
        lines = text.split("\n")
        for one in found["problems"]:
            assert one["field"].rpartition(".")[2] in lines[one["line"] - 1]


def test_a_valid_file_has_no_problems_and_invalid_toml_names_its_line(sandbox):
    assert check(sandbox, toml=TOML) == []
    assert sandbox.manage("GET", "/scenario").status == 404
    (problem,) = check(sandbox, toml='name = "x"\nrule = [\n')

    assert problem["line"] is None or problem["line"] >= 2
    assert "is not TOML" in problem["message"]
    (problem,) = check(sandbox, toml='name = "x"\n!\n')
    assert problem["line"] == 2


def proved(sandbox, **body):
    return sandbox.manage_on_loop("/scenario/prove", **body).expect(200)


@pytest.mark.proves("assumed D25-prove")
def test_the_examples_of_the_running_scenario_are_proved_beside_the_world(sandbox):
    wrong = """
[[example]]
name = "too little"
send = { operation = "sale", amount = 500 }
expect = { status_reason = "insufficient_funds" }

[[example]]
name = "hopeful"
send = { operation = "sale", amount = 500 }
expect = { http = 418 }
"""
    assert_refused(sandbox.manage("POST", "/scenario/prove"), 404, "no_scenario")
    assert sandbox.manage("PUT", "/scenario", {"toml": TOML + wrong}).status == 200
    before = sandbox.manage("GET", "/scenario").body, sandbox.manage("GET", "").body

    proof = proved(sandbox)

    first, second = proof.pop("examples")
    assert proof == {"name": "mine", "ok": False, "total": 2}
    assert first == {"number": 1, "name": "too little", "line": None, "mistakes": []}
    assert (second["number"], second["name"]) == (2, "hopeful")
    assert second["mistakes"][0].startswith("http: expected 418, got ")
    assert (sandbox.manage("GET", "/scenario").body, sandbox.manage("GET", "").body) == before
    sandbox.manage("PUT", "/scenario", {"name": "late_answer"})
    assert proved(sandbox)["ok"] is True


def test_the_examples_of_a_text_are_proved_and_have_the_lines_of_the_text(sandbox):
    wrong = '[[example]]\nsend = { operation = "sale", amount = 500 }\nexpect = { http = 418 }\n'

    proof = proved(sandbox, toml=TOML + wrong)

    (example,) = proof["examples"]
    assert proof["ok"] is False
    assert (TOML + wrong).splitlines()[example["line"] - 1] == "[[example]]"
    assert sandbox.manage("GET", "/scenario").status == 404
    wrong = TOML.replace("amount = 500", "amont = 500")
    mistaken = sandbox.manage_on_loop("/scenario/prove", toml=wrong)
    assert_refused(mistaken, 400, "validation_error", "amount")


def test_examples_that_take_too_long_are_given_up():
    scenario = parse_scenario(
        tomllib.loads(TOML) | {"example": [{"send": {"operation": "sale"}, "expect": {}}]}
    )

    (step,) = run_examples(scenario, build, within_s=0)

    assert step.mistakes == ["was given up: the examples took more than 0 s in all"]
