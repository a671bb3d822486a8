"""Options of a server that goes on with what its state file holds."""

import asyncio

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.settings import Settings


def ended(sandbox):
    """The same as a server does at its end."""
    asyncio.run(sandbox.worlds.saver.close())


def test_what_applies_only_to_a_new_world_is_said_not_to_apply(tmp_path, caplog):
    file = tmp_path / "state.db"
    ended(build(Settings(store=file, seed=7)))

    again = build(Settings(store=file, seed=8, clock=ClockSetting(mode="frozen")))
    ended(again)

    (told,) = [one.getMessage() for one in caplog.records]
    assert told.startswith("--seed, --clock did not apply: the state file already has the world")
    assert again.worlds.default.spec.seed == 7


def test_nothing_is_said_where_nothing_was_asked_for(tmp_path, caplog):
    file = tmp_path / "state.json"
    ended(build(Settings(store=file, fixture="empty", scenario="approve_all")))

    again = build(Settings(store=file, fixture="empty", scenario="response_lost"))
    ended(again)

    assert caplog.records == []
    assert again.worlds.default.spec.fixture.name == "empty"
    assert again.worlds.default.scenario.scenario.name == "Response lost"
