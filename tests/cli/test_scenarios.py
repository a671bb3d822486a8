"""The command with scenarios: served from the start, checked, listed and shown."""

import json

import pytest

from sandbox import library
from sandbox.scenarios.schema import scenario_schema
from tests.cli.asking import ask, assert_refused, at_terminal, read_until

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
    return ask("scenario", *arguments)


@pytest.fixture
def write(tmp_path):
    """Writes a file and gives its path."""

    def written(name, content):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    return written


# --- check ------------------------------------------------------------------------------------


def test_a_wrong_example_is_reported_with_the_actual_result(write):
    good, wrong = write("good.toml", GOOD), write("wrong.toml", WRONG)

    done, both = scenario("check", good, wrong), scenario("check", "--json", good, wrong)
    one = scenario("check", "--json", good)

    assert done.exit_code == both.exit_code == 1
    assert done.stdout.splitlines() == [
        f"{good}: 2 examples, ok",
        f"{wrong}: 2 examples, 1 wrong",
        "  2 'example 2': http: expected 402, got 200",
        "  2 'example 2': status: expected 'declined', got 'captured'",
        "  2 'example 2': near miss: scenario no funds: another amount",
    ]
    shown = json.loads(both.stdout)
    assert shown["ok"] is False
    assert [each["file"] for each in shown["scenarios"]] == [good, wrong]
    assert shown["scenarios"][0]["examples"] == [
        {"name": name, "mistakes": [], "near_misses": []} for name in ("without funds", "example 2")
    ]
    assert [len(each["mistakes"]) for each in shown["scenarios"][1]["examples"]] == [0, 2]
    assert (one.exit_code, json.loads(one.stdout)["ok"]) == (0, True)


def test_a_folder_is_all_its_scenarios_in_order_and_a_delay_is_not_waited_for(write, tmp_path):
    delay = "then = { delay_ms = 3600000"
    webhook = f'[[webhook]]\nwhen = {{ event = "transaction.sale" }}\n{delay} }}\n'
    second = write("b.toml", GOOD.replace("then = {", f"{delay},") + webhook)
    first = write("a.toml", GOOD)
    write("notes.txt", "not a scenario")
    write("scenario.schema.json", "{}")

    done = scenario("check", str(tmp_path))

    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{first}: 2 examples, ok\n{second}: 2 examples, ok\n"


def test_on_a_terminal_a_bar_shows_how_far_it_is(write):
    good = write("good.toml", GOOD)
    with at_terminal("scenario", "check", good) as (process, person):
        assert "proving" in read_until(person, "100%")
        assert process.stdout.read() == f"{good}: 2 examples, ok\n"
        assert process.wait(20) == 0


def test_a_file_that_cannot_be_used_is_named_with_all_its_mistakes(write):
    for content, words in (
        ("name = ", ["is not TOML"]),
        (UNKNOWN_TERMINAL, ["rule 1 'no funds'", "when.terminal", "did you mean 'merchant'?"]),
        (GOOD.replace("expect", "expct", 1), ["example 1 'without funds'", "expct", "'expect'"]),
    ):
        done = scenario("check", write("mine.toml", content))
        assert_refused(done, 2, "mine.toml", *words)
    path = write("mine.toml", UNKNOWN_OUTCOME.replace('status = "captured"', 'stats = "captured"'))

    done = scenario("check", path)

    first, second = sorted(done.stderr.splitlines())
    assert first.startswith(f"sandbox: {path}: example 2, expect.stats: ")
    assert second.startswith(f"sandbox: {path}: rule 1 'no funds', then.outcome: ")
    assert json.loads(scenario("check", "--json", path).stdout)["unusable"] == [
        line.removeprefix("sandbox: ") for line in done.stderr.splitlines()
    ]


def test_unusable_files_are_not_shown_or_served_and_an_empty_folder_is_refused(write, tmp_path):
    assert_refused(scenario("check", str(tmp_path)), 2, str(tmp_path), "has no scenarios")
    wrong = scenario("show", write("mine.toml", UNKNOWN_OUTCOME))
    assert_refused(wrong, 2, "mine.toml", "then.outcome", "'insufficient_funds'")
    served = ask("serve", "--port", "0", "--scenario", write("mine.toml", UNKNOWN_TERMINAL))
    words = ["mine.toml", "rule 1 'no funds'", "when.terminal", "did you mean 'merchant'?"]
    assert_refused(served, 2, *words)


# --- list and show ----------------------------------------------------------------------------


def test_the_scenarios_of_the_library_are_listed_with_what_they_are_about():
    known = library.scenarios()

    _, *lines = scenario("list").stdout.splitlines()
    listed = json.loads(scenario("list", "--json").stdout)

    assert [line.split()[0] for line in lines] == list(known)
    assert all(one.about in line for one, line in zip(known.values(), lines, strict=True))
    assert listed == [
        {"name": name, "title": one.name, "about": one.about} for name, one in known.items()
    ]


def test_a_scenario_is_shown_as_a_file_that_can_be_checked_without_the_schema_beside_it(write):
    shown = scenario("show", KNOWN).stdout

    path = write("mine.toml", shown)
    assert shown.startswith(f'name = "{TITLE}"\n')
    assert scenario("show", TITLE).stdout == scenario("show", path).stdout == shown
    assert scenario("check", path).exit_code == 0
    assert json.loads(scenario("schema").stdout) == scenario_schema()
