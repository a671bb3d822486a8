"""The library of scenarios: every story in it is told completely, and true."""

from pathlib import Path

import pytest

from sandbox.app import build
from sandbox.library import folder
from sandbox.scenario_examples.own_sandbox import run_examples
from sandbox.scenarios.parser import ScenarioError, parse_scenario, read_scenario

FILES = sorted(folder("scenarios").glob("*.toml"))
STORIES = {
    *("approve_all", "declines_by_reason", "insufficient_funds_then_success"),
    *("partial_approval_with_second_tender", "processor_timeout", "response_lost"),
    *("network_outage", "surcharge_declined", "surcharge_expired", "canceled_at_the_reader"),
    *("incremental_auth_declined", "capture_above_authorization", "refund_declined"),
    *("batch_rejected_then_accepted", "batch_partially_accepted", "duplicate_event"),
    *("rate_limited", "slow_processor", "server_errors", "expired_authorization"),
    *("reversal_before_capture", "tip_adjusted_after_capture"),
}
each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def played(scenario):
    return [(step.number, step.name, step.mistakes) for step in run_examples(scenario, build)]


def mistakes_of(*examples, rule=()):
    scenario = parse_scenario({"name": "x", "rule": list(rule), "example": list(examples)})
    return [step.mistakes for step in run_examples(scenario, build)]


def test_every_story_is_there():
    assert {file.stem for file in FILES} >= STORIES


@each_file
def test_every_example_comes_true(file):
    assert [step for step in played(read_scenario(file)) if step[2]] == []


@each_file
def test_every_story_is_named_explained_and_shown(file: Path):
    scenario = read_scenario(file)

    assert scenario.name
    assert scenario.about.endswith(".")
    assert len(scenario.example) >= 2


@each_file
def test_every_example_expects_something(file):
    idle = [one.name for one in read_scenario(file).example if not one.expect.model_fields_set]

    assert idle == []


def test_names_are_distinct():
    names = [read_scenario(file).name for file in FILES]

    assert len(set(names)) == len(names)


SALE = {"send": {"operation": "sale", "event_id": "a b&c"}, "expect": {}}
FIND = {"operation": "find", "event_id": "a b&c"}


def test_find_looks_a_payment_up_by_its_event_id():
    found = {"send": FIND, "expect": {"http": 200, "status": "captured"}}
    next_action = {"send": {"operation": "refund"}, "expect": {"status": "refunded"}}

    assert mistakes_of(SALE, found, next_action) == [[], [], []]


def test_find_may_find_nothing():
    expect = {"http": 200, "status": "captured", "null": ["transaction_id"]}

    assert mistakes_of({"send": FIND, "expect": expect}) == [
        ["status: expected 'captured', came None"]
    ]


def test_find_has_to_say_what_it_looks_for():
    with pytest.raises(ScenarioError, match="event_id: is what find looks for"):
        mistakes_of({"send": {"operation": "find"}, "expect": {}})


def test_of_an_object_only_the_named_fields_matter():
    response = {"responseCode": "A", "processorResponseCode": "51"}
    expect = {"fields": {"gateway_transaction_response": response}}

    assert mistakes_of({"send": {"operation": "sale"}, "expect": expect}) == [
        ["fields.gateway_transaction_response.processorResponseCode: expected '51', came '00'"]
    ]
