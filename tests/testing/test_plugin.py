"""The plugin, in runs of pytest of its own."""

import json
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from sandbox.settings import Settings
from tests.testing.pytesting import run_pytest
from uat_sandbox.server import sandbox_server

TESTS = """
import pytest
from freezegun import freeze_time

def pay(sandbox, key="merchant"):
    body = {"amount": 1000, "terminal_id": sandbox.terminal()}
    return sandbox.client(key).post("/v3/payment", json=body).json()

def test_a_decline_with_its_webhook(sandbox):
    sandbox.next("insufficient_funds")
    payment = pay(sandbox)
    assert (payment["status"], payment["status_reason"]) == ("declined", "insufficient_funds")
    sandbox.webhooks.wait_for(
        "transaction.sale", status="declined", subject=payment["transaction_id"]
    )

def test_that_fails(sandbox):
    sandbox.next("lost_card")
    pay(sandbox)
    pay(sandbox, "merchant_read_only")
    sandbox.client(None).get("/v5/apikeys")
    pay(sandbox.new_world(seed=5))
    sandbox.webhooks.settle()
    assert False, "as it should"

def test_that_fails_without_a_sandbox():
    assert False

@pytest.fixture
def shop(sandbox):
    pay(sandbox)
    raise RuntimeError("the shop is closed")

def test_whose_fixture_fails(shop):
    pass

@pytest.mark.sandbox(seed=7, clock="2026-03-01T12:00:00Z", fixture="demo")
class TestMarked:
    @pytest.mark.sandbox(
        seed=8,
        switches={"batch.settlement": "manual"},
        readings={"delete_answers": "resource"},
    )
    def test_closest_counts(self, sandbox):
        assert sandbox.view["seed"] == 8
        assert sandbox.clock["now"] == "2026-03-01T12:00:00.000Z"
        assert sandbox.switches()["batch.settlement"] == "manual"
        assert sandbox.readings()["delete_answers"] == "resource"

@pytest.mark.sandbox(sed=7)
def test_misspelt_option(sandbox):
    pass

@pytest.mark.sandbox(7)
def test_option_without_a_name(sandbox):
    pass

@pytest.mark.sandbox(fixture="bussy")
def test_misspelt_fixture(sandbox):
    pass

@freeze_time("2026-03-01T12:00:00Z")
def test_frozen(sandbox):
    assert sandbox.clock["now"] == "2026-03-01T12:00:00.000Z"

@pytest.mark.parametrize("key", ["svc_live_aaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"])
def test_a_production_key_as_a_parameter(sandbox, key):
    assert sandbox.client(plaintext=key).get("/v5/apikeys").status_code == 401
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One run with everything in it, its coverage written to a file."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text(TESTS)
    run = run_pytest(folder, "--sandbox-coverage=seen.json", "--strict-markers", "test_suite.py")
    return run, json.loads((folder / "seen.json").read_text())


def test_a_test_ends_as_it_should(ran):
    run, _ = ran

    for result, tests in {
        "PASSED": ("test_a_decline_with_its_webhook", "test_closest_counts", "test_frozen"),
        "FAILED": ("test_that_fails",),
        "ERROR": (
            *("test_whose_fixture_fails", "test_misspelt_option"),
            *("test_option_without_a_name", "test_misspelt_fixture"),
        ),
    }.items():
        assert [test for test in tests if run.result(test) != result] == []
    # A key in a parameter is not taken into the name of a world.
    assert "PASSED test_suite.py::test_a_production_key_as_a_parameter[svc_live_" in run.output


def section(output: str, test: str) -> str:
    """What the report of a failed test has of the sandbox."""
    report = output.split(f" {test} ___", 1)[1].split("\n____", 1)[0]
    return report.partition("- sandbox journal -")[2]


def test_the_report_of_a_failed_test_has_the_journal_of_its_worlds(ran):
    run, _ = ran

    journal = section(run.output, "test_that_fails")

    for said in (
        "POST /v3/payment -> 200  (payments.create, key ****",
        "    outcome: lost_card, queue  [assumed D4]",
        "    outcome lost_card, chosen by queue\n",
        '"status": "declined", "status_reason": "invalid_card"',
        "POST /v3/payment -> 401",
        "payments.create needs payments:tap-ios or payments:tap-android  [spec 5.9]",
        "without a key that any world has:\n  GET /v5/apikeys -> 401",
        "transaction.sale (declined) msg_",
        "delivered (answered 200)",
        ", seed 5, clock running",
    ):
        assert said in journal
    assert "svc_uat_" not in journal


def test_a_fixture_that_fails_is_reported_with_the_journal_too(ran):
    run, _ = ran

    report = run.output.split("ERROR at setup of test_whose_fixture_fails", 1)[1]

    assert "POST /v3/payment -> 200" in report.split("\n____", 1)[0]


def test_a_test_without_a_sandbox_is_reported_without_a_journal(ran):
    run, _ = ran

    assert section(run.output, "test_that_fails_without_a_sandbox") == ""


def test_mistakes_in_a_marker_are_said_plainly(ran):
    run, _ = ran

    assert "@pytest.mark.sandbox: there is no 'sed'; did you mean 'seed'?" in run.output
    assert "@pytest.mark.sandbox: name what 7 is" in run.output
    assert "fixture: there is no 'bussy'; did you mean 'busy'?" in run.output
    assert "control.py" not in run.output


def test_coverage_is_printed_and_written(ran):
    run, seen = ran

    assert seen["operations"]["exercised"]["payments.create"] == 5
    assert "refunds.create" not in seen["operations"]["exercised"]
    assert "- sandbox coverage -" in run.output.replace("=", "-")
    assert "operations" in run.output.split("sandbox coverage")[-1]


def test_a_sandbox_elsewhere_is_used_where_the_environment_names_one(kit, tmp_path):
    (tmp_path / "test_elsewhere.py").write_text(
        "def test_it(sandbox, sandbox_server):\n"
        f"    assert sandbox.url == {kit.url!r}\n"
        "    assert sandbox_server.built is None\n"
        "    sandbox.client().get('/v5/apikeys')\n"
    )
    before = kit.control.ask("GET", "/worlds")["total"]

    run = run_pytest(
        tmp_path, "--sandbox-coverage=seen.json", "test_elsewhere.py", SANDBOX_URL=kit.url
    )

    assert run.code == 0, run.output
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["operations"]["exercised"] == {"apikeys.list": 1}
    assert kit.control.ask("GET", "/worlds")["total"] == before


def test_a_control_surface_elsewhere_is_named_by_options_and_needs_its_token(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "def test_it(sandbox):\n"
        "    assert sandbox.client().get('/v5/apikeys').status_code == 200\n"
        "    assert '//localhost:' in sandbox.webhooks.url\n"
    )
    with sandbox_server(Settings(control_port=1, token="a-token-of-the-test")) as server:
        at = [f"--sandbox-url={server.url}", f"--sandbox-control-url={server.control_url}"]

        with_token = run_pytest(
            tmp_path,
            *at,
            "--sandbox-token=a-token-of-the-test",
            "--sandbox-receiver-host=localhost",
        )
        without = run_pytest(tmp_path, *at, SANDBOX_RECEIVER_HOST="localhost")

    assert with_token.code == 0, with_token.output
    assert without.code == 1
    assert "needs its bearer token" in without.output


def test_a_file_for_coverage_that_cannot_be_is_refused_at_once(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    for file, said in {
        "test_it.py": "'test_it.py' does not end with .json",
        "nowhere/seen.json": "there is no folder for nowhere/seen.json",
    }.items():
        run = run_pytest(tmp_path, f"--sandbox-coverage={file}", "test_it.py")

        assert run.code == 4
        assert said in run.output


def test_pytest_finds_the_plugin_by_itself_in_the_kit_only():
    (plugin,) = [one for one in entry_points(group="pytest11") if "sandbox" in one.value]

    assert plugin.value == "uat_sandbox.plugin"
    assert plugin.dist is not None
    assert plugin.dist.name == "pytest-uat-sandbox"


def test_the_plugin_brings_nothing_with_it_before_a_test_asks():
    program = (
        "import sys, pytest; before = set(sys.modules); import uat_sandbox.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=30
    )

    brought = done.stdout.split()
    assert "uat_sandbox.plugin" in brought
    # pytest has all the rest in memory already.
    assert brought == ["uat_sandbox", "uat_sandbox.plugin"]
