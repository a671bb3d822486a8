"""Options of a server that goes on with what its state file holds."""

from sandbox.domain.clock import ClockSetting
from tests.driving import FROZEN, fresh
from tests.state.filling import looping


def test_options_for_new_worlds_are_reported_as_ignored(tmp_path, caplog):
    for seed, clock in ((7, ClockSetting()), (8, FROZEN)):
        with looping(fresh(store=tmp_path / "state.db", seed=seed, clock=clock)) as sandbox:
            assert sandbox.look("/worlds/default")["seed"] == 7

    (told,) = [one.getMessage() for one in caplog.records]
    assert told.startswith("--seed, --clock did not apply: the state file already has the world")


def test_without_requests_the_report_says_nothing(tmp_path, caplog):
    for scenario, title in (("approve_all", "Approve all"), ("response_lost", "Response lost")):
        options = {"fixture": "empty", "scenario": scenario}
        with looping(fresh(store=tmp_path / "state.json", **options)) as sandbox:
            shown = sandbox.look("/worlds/default")
        assert (shown["fixture"], shown["scenario"]) == ("empty", title)

    assert caplog.records == []
