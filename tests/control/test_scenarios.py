"""Operators have scenarios run in a world, look at them, and stop them."""

from tests.control.refusals import assert_refused
from tests.scenarios.running import LOST, SCENARIO, counts, running, source
from tests.support.payments import close_batch, pay, read, sold

KNOWN, TITLE = "insufficient_funds_then_success", "Insufficient funds, then success"

UNUSABLE = [
    ("insufficient_funds_then", "unknown_scenario", KNOWN, "no scenario 'insufficient_funds_then'"),
    ({"name": f"{KNOWN}s"}, "unknown_scenario", KNOWN, f"no scenario '{KNOWN}s'"),
    (f"{TITLE}s", "unknown_scenario", TITLE, f"did you mean '{TITLE}'?"),
    ("qqqqqqqqqqqq", "unknown_scenario", None, "no scenario 'qqqqqqqqqqqq'"),
    ({"name": 5}, "validation_error", None, "scenario: name"),
    (5, "validation_error", None, "scenario: must be a name or a whole scenario"),
    ({}, "validation_error", None, "scenario: name"),
    ({"name": "x", "rules": []}, "validation_error", "rule", "scenario: rules"),
    (
        {"name": "x", "rule": [{"then": {"outcome": "lost_crd"}}]},
        "validation_error",
        "lost_card",
        "scenario: rule 1, then.outcome: 'lost_crd' is not a known outcome",
    ),
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
    pay(sandbox)

    running(sandbox, {"name": "after", "then": {"outcome": "stolen_card"}})

    assert counts(sandbox) == [("after", 0, 0, False)]
    assert source(pay(sandbox)) == "scenario after"
    stopped = sandbox.control("DELETE", SCENARIO)
    again = sandbox.control("DELETE", SCENARIO)

    assert (stopped.status, stopped.body, again.status) == (204, b"", 204)
    assert source(pay(sandbox)) == "default default"
    assert_refused(sandbox.control("GET", SCENARIO), 404, "no_scenario")
    assert sandbox.control("GET", "/worlds/default").json()["scenario"] is None


def test_a_scenario_that_cannot_be_used_is_a_400_and_leaves_the_one_before_and_makes_no_world(
    sandbox,
):
    running(sandbox, {"name": "before", "then": LOST | {"times": 2}})
    pay(sandbox)
    for scenario, error, nearest, said in UNUSABLE:
        body = {"name": scenario} if isinstance(scenario, str) else scenario

        run = sandbox.control("PUT", SCENARIO, body)
        begun = sandbox.control("POST", "/worlds", {"id": "mine", "scenario": scenario})

        assert_refused(run, 400, error, nearest)
        assert_refused(begun, 400, error, nearest)
        assert said in begun.json()["message"]
    assert counts(sandbox) == [("before", 1, 1, False)]
    assert source(pay(sandbox)) == "scenario before"
    assert sandbox.control("GET", "/worlds").json()["total"] == 1


# --- worlds -----------------------------------------------------------------------------------


def test_a_world_can_begin_with_a_scenario_by_name_or_written_out(sandbox):
    inline = {"name": "Mine", "rule": [{"then": {"outcome": "lost_card"}}]}

    named = sandbox.control("POST", "/worlds", {"id": "named", "scenario": KNOWN})
    written = sandbox.control("POST", "/worlds", {"id": "written", "scenario": inline})

    assert (named.status, written.status) == (201, 201)
    assert named.json()["scenario"] == TITLE
    assert sandbox.control("GET", "/worlds/written").json()["scenario"] == "Mine"
    assert sandbox.control("GET", "/worlds/default").json()["scenario"] is None
    # The names in a scenario are those of its world.
    fixture = {"id": "mine", "fixture": "empty"}
    by_terminal = {"name": "x", "rule": [{"when": {"terminal": "merchant"}, "then": LOST}]}

    refused = sandbox.control("POST", "/worlds", {**fixture, "scenario": by_terminal})

    assert_refused(refused, 400, "validation_error")
    assert sandbox.control("GET", "/worlds/mine").status == 404


def test_a_reset_forgets_the_results_that_batches_waited_for(sandbox):
    tx = sold(sandbox)
    when = {"operation": "close_batch"}
    running(sandbox, {"when": when, "then": {"batch": "rejected", "after": "1m", "times": 1}})
    close_batch(sandbox, tx["batch_id"])

    sandbox.control("POST", "/worlds/default/reset")
    again = sold(sandbox)
    sandbox.control("DELETE", SCENARIO)
    close_batch(sandbox, again["batch_id"])

    # The same seed gives the batch the same id.
    assert again["batch_id"] == tx["batch_id"]
    assert read(sandbox, again)["status"] == "settled"
