"""The library of scenarios: every story in it is told completely, and true."""

import pytest

from sandbox.app import build
from sandbox.library import folder
from sandbox.scenario_examples.own_sandbox import run_examples
from sandbox.scenarios.parser import ScenarioError, read_scenario

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


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_example_comes_true(file):
    told = run_examples(read_scenario(file), build)

    assert [(step.name, step.mistakes) for step in told if step.mistakes] == []


def test_every_story_is_there_named_explained_and_shown():
    scenarios = [read_scenario(file) for file in FILES]

    assert {file.stem for file in FILES} >= STORIES
    assert len({one.name for one in scenarios}) == len(scenarios)
    for scenario in scenarios:
        assert scenario.about.endswith("."), scenario.name
        assert len(scenario.example) >= 2, scenario.name
        assert all(one.expect.model_fields_set for one in scenario.example), scenario.name


UNREADABLE = [
    (b"name = '\xff'", "is not UTF-8"),
    (b'name = "x"\n[[rule]]\nthen = {tims = 1}', "rule 1, then.tims: 'tims' is not a field here"),
    (
        b'name = "x"\n[[rule]]\nname = "a\\u001b[31m"\nthen.outcome = "lost_card"\n',
        r"rule 1 'a\x1b[31m', name: a name is one line of plain text, and this one has \x1b in",
    ),
]


def test_a_file_that_cannot_be_used_is_refused_with_its_path(tmp_path):
    path = tmp_path / "mine.toml"
    for content, said in UNREADABLE:
        path.write_bytes(content)

        with pytest.raises(ScenarioError) as refused:
            read_scenario(path)

        assert str(refused.value).startswith(f"{path}: {said}")
        assert refused.value.nearest == ("times" if "tims" in said else None)
