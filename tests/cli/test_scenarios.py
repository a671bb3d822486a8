"""The command with scenarios: served from the start, checked, listed and shown."""

import json
import os
import pty
from functools import partial

import pytest
from click.testing import CliRunner

from sandbox import library
from sandbox.cli.main import main
from sandbox.scenarios.schema import scenario_schema
from tests.cli.asking import assert_unusable, attach, run
from tests.conftest import NOW
from tests.driving import serving
from tests.processes import Process

KNOWN, TITLE = "insufficient_funds_then_success", "Insufficient funds, then success"
GOOD = """
name = "Good"

[[rule]]
name = "no funds"
when = { amount = 500 }
then = { outcome = "insufficient_funds" }

[[example]]
name = "without funds"
send = { operation = "sale", amount = 500 }
expect = { status = "declined", rule = "no funds" }

[[example]]
send = { operation = "sale" }
expect = { status = "captured" }
"""
WRONG = GOOD.replace('status = "captured"', 'status = "declined", http = 402')
UNKNOWN_OUTCOME = GOOD.replace('"insufficient_funds"', '"insuficient_funds"')
UNKNOWN_TERMINAL = GOOD.replace("{ amount = 500 }", '{ terminal = "merchnt" }', 1)


def scenario(*arguments):
    return CliRunner().invoke(main, ["scenario", *arguments], prog_name="sandbox")


@pytest.fixture
def write(tmp_path):
    """Writes a file and gives its path."""

    def written(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return str(path)

    return written


# --- serve ------------------------------------------------------------------------------------


def test_a_scenario_with_a_mistake_is_refused_with_file_rule_and_field(write):
    path = write("mine.toml", UNKNOWN_TERMINAL)

    done = run("serve", "--port", "0", "--scenario", path)

    words = [path, "rule 1 'no funds'", "when.terminal", "did you mean 'merchant'?"]
    assert_unusable(done.returncode, done.stdout, done.stderr, *words)


def test_a_scenario_runs_from_the_start(write):
    with serving("--clock", NOW, "--scenario", write("mine.toml", GOOD)) as server:
        world = server.control("GET", "/worlds/default").json()
        body = {"amount": 500, "terminal_id": world["terminals"]["merchant"]}
        answer = server.ask("POST", "/v3/payment", key="merchant", json=body)

    assert world["scenario"] == "Good"
    said = "insufficient_funds; source=scenario; rule=no funds"
    assert answer.headers["x-sandbox-outcome"] == said


# --- check ------------------------------------------------------------------------------------


def test_a_scenario_whose_examples_come_true_is_ok(write):
    path = write("good.toml", GOOD)

    done = scenario("check", path)

    assert (done.exit_code, done.stdout, done.stderr) == (0, f"{path}: 2 examples, ok\n", "")


def test_an_example_that_is_wrong_is_told_with_what_came_instead(write):
    good, wrong = write("good.toml", GOOD), write("wrong.toml", WRONG)

    done = scenario("check", good, wrong)

    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        f"{good}: 2 examples, ok",
        f"{wrong}: 2 examples, 1 wrong",
        "  2 'example 2': http: expected 402, came 200",
        "  2 'example 2': status: expected 'declined', came 'captured'",
        "  2 'example 2': near miss: scenario no funds: another amount",
    ]


def test_a_delay_of_an_hour_is_checked_without_waiting(write):
    delay = "then = { delay_ms = 3600000"
    webhook = f'[[webhook]]\nwhen = {{ event = "transaction.sale" }}\n{delay} }}\n'
    slow = GOOD.replace("then = {", f"{delay},") + webhook

    done = scenario("check", write("slow.toml", slow))

    assert (done.exit_code, done.stdout.endswith(": 2 examples, ok\n")) == (0, True)


def test_the_verdict_can_be_had_as_json(write):
    good, wrong = write("good.toml", GOOD), write("wrong.toml", WRONG)

    both, one = scenario("check", "--json", good, wrong), scenario("check", "--json", good)

    first = {"name": "without funds", "mistakes": [], "near_misses": []}
    shown = json.loads(both.stdout)
    assert (both.exit_code, shown["ok"]) == (1, False)
    assert [each["file"] for each in shown["scenarios"]] == [good, wrong]
    assert shown["scenarios"][0]["examples"] == [
        first,
        {"name": "example 2", "mistakes": [], "near_misses": []},
    ]
    assert [len(each["mistakes"]) for each in shown["scenarios"][1]["examples"]] == [0, 2]
    assert (one.exit_code, json.loads(one.stdout)["ok"]) == (0, True)


def test_a_folder_is_all_its_scenarios_in_order(write, tmp_path):
    second, first = write("b.toml", GOOD), write("a.toml", GOOD)
    write("notes.txt", "not a scenario")
    write("scenario.schema.json", "{}")

    done = scenario("check", str(tmp_path))

    assert done.exit_code == 0
    assert done.stdout == f"{first}: 2 examples, ok\n{second}: 2 examples, ok\n"


def test_on_a_terminal_a_bar_shows_how_far_it_is(write):
    good = write("good.toml", GOOD)
    person, terminal = pty.openpty()

    at_terminal = partial(attach, os.ttyname(terminal))

    process = Process(["scenario", "check", good], before=at_terminal)
    code, shown = process.wait(20), os.read(person, 1_000).decode()
    out = process.stdout.read()
    process.close()
    os.close(person)
    os.close(terminal)

    assert (code, out) == (0, f"{good}: 2 examples, ok\n")
    assert "proving" in shown
    assert "100%" in shown


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name = ", ["is not TOML"]),
        (UNKNOWN_OUTCOME, ["rule 1 'no funds'", "then.outcome", "'insufficient_funds'"]),
        (UNKNOWN_TERMINAL, ["rule 1 'no funds'", "when.terminal", "did you mean 'merchant'?"]),
        (GOOD.replace("expect", "expct", 1), ["example 1 'without funds'", "expct", "'expect'"]),
    ],
    ids=["no TOML", "outcome", "terminal", "example"],
)
def test_a_file_that_cannot_be_used_is_named_with_the_mistake(write, content, words):
    path = write("mine.toml", content)

    done = scenario("check", path)

    assert_unusable(done.exit_code, done.stdout, done.stderr, *words)
    assert done.stderr.count(path) == 1


def test_all_mistakes_of_a_file_are_told_at_once(write):
    path = write("mine.toml", UNKNOWN_OUTCOME.replace('status = "captured"', 'stats = "captured"'))

    done = scenario("check", path)

    first, second = sorted(done.stderr.splitlines())
    assert first.startswith(f"sandbox: {path}: example 2, expect.stats: ")
    assert second.startswith(f"sandbox: {path}: rule 1 'no funds', then.outcome: ")
    assert json.loads(scenario("check", "--json", path).stdout)["unusable"] == [
        line.removeprefix("sandbox: ") for line in done.stderr.splitlines()
    ]


def test_a_file_that_is_not_there_and_a_folder_without_scenarios_cannot_be_checked(tmp_path):
    nowhere, empty = tmp_path / "nowhere.toml", tmp_path

    for path, words in ((nowhere, "cannot be read"), (empty, "holds no scenario")):
        done = scenario("check", str(path))

        assert_unusable(done.exit_code, done.stdout, done.stderr, str(path), words)


def test_nothing_to_check_is_refused():
    assert scenario("check").exit_code == 2


# --- list and show ----------------------------------------------------------------------------


def test_the_scenarios_of_the_library_are_listed_with_what_they_are_about():
    known = library.scenarios()

    _, *lines = scenario("list").stdout.splitlines()
    listed = json.loads(scenario("list", "--json").stdout)

    assert [line.split()[0] for line in lines] == list(known)
    assert all(one.about in line for one, line in zip(known.values(), lines, strict=True))
    assert [(one["name"], one["title"], one["about"]) for one in listed] == [
        (name, one.name, one.about) for name, one in known.items()
    ]


def test_a_scenario_is_shown_as_a_file_that_can_be_checked(write):
    shown, by_title = scenario("show", KNOWN), scenario("show", TITLE)

    path = write("mine.toml", shown.stdout)
    assert shown.exit_code == 0
    assert by_title.stdout == shown.stdout
    assert scenario("check", path).exit_code == 0
    assert scenario("show", path).stdout == shown.stdout


def test_what_is_shown_does_not_name_a_schema_that_lies_elsewhere():
    assert scenario("show", KNOWN).stdout.startswith(f'name = "{TITLE}"\n')


def test_the_schema_can_be_printed_into_a_file():
    printed = scenario("schema")

    assert printed.exit_code == 0
    assert json.loads(printed.stdout) == scenario_schema()


def test_an_unknown_scenario_is_not_shown_and_the_nearest_is_named():
    done = scenario("show", f"{KNOWN}s")

    hint = f"did you mean {KNOWN!r}?"
    assert_unusable(done.exit_code, done.stdout, done.stderr, f"no scenario '{KNOWN}s'", hint)


def test_a_file_with_a_mistake_is_not_shown(write):
    done = scenario("show", write("mine.toml", UNKNOWN_OUTCOME))

    assert_unusable(done.exit_code, done.stdout, done.stderr, "mine.toml", "then.outcome")
