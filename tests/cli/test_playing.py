"""`sandbox scenario play`: the examples of a scenario on a running server, step by step."""

import os
import pty
import re
import select
from functools import partial

import pytest

from tests.cli.asking import WAIT_S, add_world, ask, assert_refused, attach, told
from tests.processes import Process

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
expect = { status = "declined" }
"""


@pytest.fixture
def story(tmp_path):
    """A scenario whose second example is wrong."""
    path = tmp_path / "story.toml"
    path.write_text(STORY)
    return str(path)


def worlds(server):
    return [one["id"] for one in server.control("GET", "/worlds").json()["worlds"]]


def payments(server, world_id):
    """How many payments a world has got."""
    listed = server.control("GET", f"/worlds/{world_id}/requests?route=payments.create").json()
    return len(listed["requests"])


def read_until(terminal, words):
    """Read what the command says to its terminal, up to these words."""
    said = b""
    while words not in said:
        assert select.select([terminal], [], [], WAIT_S)[0], said
        said += os.read(terminal, 1000)


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


def test_it_is_seen_which_webhooks_came_before_the_answer_and_which_twice(served):
    shown = told("scenario", "play", "webhook_twice_and_early", server=served)

    early, late = re.split(r"\n\n", shown)[1:3]
    assert early.count("transaction.sale") == 2
    assert "transaction.sale, before the answer" in early
    assert late.count("transaction.sale") == 1
    assert "before the answer" not in late


def test_a_refusal_has_its_reason(served):
    shown = told("scenario", "play", "missing_permission", server=served)

    assert re.search(r"answer    404 .*\n   because   .*hierarchy", shown)


def test_a_step_that_differs_says_so_and_the_exit_status_is_1(served, story):
    done = ask("scenario", "play", story, server=served)

    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout.count("differs") == 1
    assert "differs  status: expected 'declined', came 'captured'" in done.stdout
    assert done.stdout.endswith("\n2 steps, 1 not as expected\n")


def test_the_world_can_be_kept(served):
    shown = told("scenario", "play", "insufficient_funds_then_success", "--keep", server=served)

    (world_id,) = re.findall(r"--world (\S+)$", shown, re.MULTILINE)
    assert world_id in worlds(served)
    assert "insufficient_funds" in told("tail", "--no-follow", "--world", world_id, server=served)
    served.control("DELETE", f"/worlds/{world_id}")


def test_on_a_terminal_each_step_waits_for_a_key(served, story):
    before = set(worlds(served))
    parent, child = pty.openpty()
    process = Process(
        ["scenario", "play", story, "--url", served.url],
        before=partial(attach, os.ttyname(child)),
    )
    try:
        read_until(parent, b"step 1")
        (world_id,) = set(worlds(served)) - before
        assert payments(served, world_id) == 0
        os.write(parent, b" ")
        read_until(parent, b"step 2")
        assert payments(served, world_id) == 1
        os.write(parent, b" ")
        assert process.stdout.read().endswith("2 steps, 1 not as expected\n")
        assert process.wait(WAIT_S) == 1
    finally:
        process.close()
        os.close(parent)
        os.close(child)


def test_what_cannot_be_played_is_refused_in_one_sentence(served, tmp_path):
    unknown = ask("scenario", "play", "late_anser", server=served)
    assert_refused(unknown, 2, "late_answer")

    bare = tmp_path / "bare.toml"
    bare.write_text('name = "Bare"\n')
    assert_refused(ask("scenario", "play", str(bare), server=served), 1, "no examples")
    nowhere = ask("scenario", "play", "late_answer", "--url", "http://127.0.0.1:9")
    assert_refused(nowhere, 2, "no server answers")


def test_a_scenario_runs_in_a_world_until_it_is_stopped(served, story):
    add_world(served, "staged")

    def running():
        return served.control("GET", "/worlds/staged/scenario").json().get("name")

    at = ("--world", "staged")
    said = told("scenario", "run", "late_answer", *at, server=served)
    assert (said, running()) == ("Late answer runs in staged\n", "Late answer")
    assert told("scenario", "run", story, *at, server=served) == "Shown runs in staged\n"
    assert_refused(ask("scenario", "run", "late_anser", *at, server=served), 2, "late_answer")
    assert running() == "Shown", "a refusal changes nothing"
    assert told("scenario", "stop", *at, server=served) == "no scenario runs in staged\n"
    assert running() is None
    told("scenario", "stop", *at, server=served)
    elsewhere = ask("scenario", "run", "late_answer", "--world", "stagd", server=served)
    assert_refused(elsewhere, 2, "staged")
    served.control("DELETE", "/worlds/staged")
