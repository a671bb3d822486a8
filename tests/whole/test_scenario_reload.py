"""`serve --watch`: a scenario that is edited runs without starting the server again."""

import pytest

from sandbox import library
from tests.driving import NOW, until
from tests.state.remote import Remote
from tests.state.saved_worlds import serving_with

SERVE = ("serve", "--port", "0", "--log-format", "json", "--clock", NOW, "--watch", "--scenario")
FIRST = """
name = "First"
[[rule]]
then = { outcome = "lost_card" }
"""
SECOND = FIRST.replace("First", "Second").replace("lost_card", "stolen_card")
BROKEN = SECOND.replace("[[rule]]", '[[rule]]\nname = "mine"').replace("stolen", "stoln")
ELSEWHERE = SECOND.replace("then", 'when = { terminal = "merchnt" }\nthen')


class Watched(Remote):
    """A server that watches one file, and all that it has to say."""

    def __init__(self, server, path):
        super().__init__(server)
        self.path, self._heard = path, 0

    def said(self):
        """Level and message of the next line of the log."""
        line = until(lambda: self.server.said()[self._heard :])[0]
        self._heard += 1
        return line["level"], line["message"]

    def write(self, content):
        """Save as editors do: beside the file, then in its place."""
        beside = self.path.with_suffix(".new")
        beside.write_text(content, encoding="utf-8")
        beside.replace(self.path)

    def until_named(self, name):
        """The scenario that runs, once it has this name."""
        until(lambda: self.look("scenario")["name"] == name)
        return self.look("scenario")


@pytest.fixture
def watched(tmp_path):
    """A server that watches a file with the scenario First."""
    path = tmp_path / "mine.toml"
    path.write_text(FIRST, encoding="utf-8")
    with serving_with([*SERVE, str(path)], tmp_path / "log") as server:
        yield Watched(server, path)


def test_a_file_that_changes_is_run_from_the_beginning_and_the_world_stays_as_it_is(watched):
    before = watched.pay().outcome
    world = watched.look("/worlds/default")

    # What was made to run meanwhile is replaced as well.
    inline = {"name": "Inline", "rule": [{"then": {"outcome": "lost_card"}}]}
    watched.manage("PUT", "/scenario", inline)
    assert watched.look("scenario")["name"] == "Inline"
    watched.write(SECOND)

    shown = watched.until_named("Second")
    assert [(one["fitted"], one["applied"]) for one in shown["rules"]] == [(0, 0)]
    assert watched.said() == ("info", f"reloaded scenario 'Second' from {watched.path}")
    assert watched.look("/worlds/default") == world | {"scenario": "Second"}
    assert watched.look("requests")["total"] == 1
    assert (before, watched.pay().outcome) == (
        "lost_card; source=scenario; rule=1",
        "stolen_card; source=scenario; rule=1",
    )


def test_a_file_is_read_again_in_a_world_that_was_loaded_meanwhile(watched):
    watched.load(watched.saved()).expect(200)

    watched.write(SECOND)

    watched.until_named("Second")
    assert watched.pay().outcome == "stolen_card; source=scenario; rule=1"


def test_a_broken_file_changes_nothing_until_it_is_repaired(watched):
    watched.pay()

    for content, said in (
        ("name = ", "is not TOML: "),
        (BROKEN, "rule 1 'mine', then.outcome: 'stoln_card' is not a known outcome; did you mean"),
        (ELSEWHERE, "rule 1, when.terminal: the world has no terminal 'merchnt'; did you mean"),
    ):
        watched.write(content)
        level, message = watched.said()

        assert (level, message.startswith(f"{watched.path}: {said}")) == ("warning", True), message
        assert message.endswith("; scenario 'First' keeps running")
    shown = watched.look("scenario")
    assert (shown["name"], shown["rules"][0]["applied"]) == ("First", 1)
    watched.write(SECOND)
    watched.until_named("Second")


def test_a_file_that_is_replaced_or_gone_for_a_while_is_read_again(watched):
    away = watched.path.with_suffix(".away")
    watched.write(SECOND)
    assert watched.said()[0] == "info"

    watched.path.rename(away)
    gone = watched.said()
    meanwhile = watched.look("scenario")["name"]
    away.rename(watched.path)

    there_again = watched.said()
    assert gone == (
        "warning",
        f"{watched.path}: cannot be read: No such file or directory; "
        "scenario 'Second' keeps running",
    )
    assert meanwhile == "Second"
    assert there_again == ("info", f"reloaded scenario 'Second' from {watched.path}")


def test_a_scenario_of_the_library_is_watched_by_its_title_too(tmp_path):
    path = library.scenario_file("Refund declined")
    with serving_with([*SERVE, "Refund declined"], tmp_path / "log") as server:
        path.touch()

        reloaded = ("info", f"reloaded scenario 'Refund declined' from {path}")
        assert Watched(server, path).said() == reloaded
