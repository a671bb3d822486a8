"""`sandbox scenario play`: the examples of a scenario on a running server, step by step."""

import os
import re

import pytest

from tests.cli.asking import WAIT_S, Shell, ask, assert_refused, at_terminal, read_until, told

STORY = """
name = "Shown"
about = "A sale is declined."
[[rule]]
when = { amount = 1700 }
then = { outcome = "insufficient_funds" }
[[example]]
name = "a decline"
send = { operation = "sale", amount = 1700 }
expect = { status = "declined" }
[[example]]
send = { operation = "sale", amount = 1800 }
expect = { status = "declined", fields.due = 2026-03-01 }
"""


@pytest.fixture
def story(tmp_path):
    """A scenario whose second example is wrong."""
    path = tmp_path / "story.toml"
    path.write_text(STORY)
    return str(path)


def worlds(server):
    return [one["id"] for one in server.control("GET", "/worlds").json()["worlds"]]


def test_each_step_has_its_request_answer_webhooks_and_clock(served):
    before = worlds(served)
    shown = told("scenario", "play", "late_answer", server=served)

    first, second = re.split(r"\n\n", shown)[1:3]
    assert first.splitlines() == [
        "1. no answer  sale 42.00 as psp",
        "   answer    200",
        "   payment   error: processor_timeout",
        "   webhook   transaction.create",
        "   webhook   transaction.sale",
        "   clock     2026-03-01 12:00:00",
    ]
    assert second.splitlines() == [
        "2. the approval arrives  the clock advances by 40s",
        "   payment   captured: approved, authorized 42.00, captured 42.00",
        "   webhook   batch.opened",
        "   webhook   transaction.sale",
        "   clock     2026-03-01 12:00:40",
    ]
    assert shown.endswith("\n5 steps, all as expected\n")
    assert worlds(served) == before, "the world of the play is gone"


def test_webhooks_before_the_answer_and_reasons_of_refusals_are_shown(served):
    shown = told("scenario", "play", "webhook_twice_and_early", server=served)
    refused = told("scenario", "play", "missing_permission", server=served)

    early, late = re.split(r"\n\n", shown)[1:3]
    assert (early.count("transaction.sale"), late.count("transaction.sale")) == (2, 1)
    assert "transaction.sale, before the answer" in early
    assert "before the answer" not in late
    assert re.search(r"answer    404 .*\n   because   .*hierarchy", refused)


def test_a_step_that_differs_says_so_and_the_world_can_be_kept(served, story):
    done = ask("scenario", "play", story, "--keep", server=served)

    (id,) = re.findall(r"--world (\S+)$", done.stdout, re.MULTILINE)
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout.count("differs") == 2
    assert "differs  status: expected 'declined', got 'captured'" in done.stdout
    assert "\n2 steps, 1 not as expected\n" in done.stdout
    assert "insufficient_funds" in told("tail", "--no-follow", "--world", id, server=served)
    served.control("DELETE", f"/worlds/{id}")


def test_on_a_terminal_each_step_waits_for_a_key(served, story):
    before = set(worlds(served))
    with at_terminal("scenario", "play", story, "--url", served.url) as (process, person):
        read_until(person, "step 1")
        (world_id,) = set(worlds(served)) - before
        played = Shell(served, world_id)
        assert played.look("payments")["total"] == 0
        os.write(person, b" ")
        read_until(person, "step 2")
        assert played.look("payments")["total"] == 1
        os.write(person, b" ")
        assert process.stdout.read().endswith("2 steps, 1 not as expected\n")
        assert process.wait(WAIT_S) == 1


def test_an_unplayable_scenario_is_refused_in_one_sentence(served, tmp_path):
    bare = tmp_path / "bare.toml"
    bare.write_text('name = "Bare"\n')

    assert_refused(ask("scenario", "play", "late_anser", server=served), 2, "late_answer")
    assert_refused(ask("scenario", "play", str(bare), server=served), 1, "no examples")


def test_a_scenario_runs_in_a_world_until_it_is_stopped(shell, story):
    def running():
        return shell.manage("GET", "/scenario").json().get("name")

    assert shell("scenario run late_answer") == f"Late answer runs in {shell.world}\n"
    assert running() == "Late answer"
    assert shell(f"scenario run {story}") == f"Shown runs in {shell.world}\n"
    shell.refuses("scenario run late_anser", 2, "late_answer")
    assert running() == "Shown", "a refusal changes nothing"
    assert shell("scenario stop") == f"no scenario runs in {shell.world}\n"
    assert running() is None
    shell("scenario stop")
    shell.refuses(f"scenario run late_answer --world {shell.world}x", 2, shell.world)
