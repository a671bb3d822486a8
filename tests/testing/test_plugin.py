"""The plugin, in runs of pytest of its own."""

import gzip
import json
import re
from base64 import b64decode
from collections import Counter

import pytest

from sandbox.domain.profile import Profile
from sandbox.settings import Settings
from tests.testing.pytesting import run_pytest
from uat_sandbox import SandboxError, sandbox_at, sandbox_server

TESTS = """
import pytest
from freezegun import freeze_time

KEYS = open("keys.txt", "a")

def pay(world, amount=1000, key="merchant"):
    print(*(one["key"] for one in world.view["keys"].values()), file=KEYS, flush=True)
    body = {"amount": amount, "terminal_id": world.terminal()}
    return world.client(key).post("/v3/payment", json=body).json()

def test_a_decline_with_its_webhook(sandbox):
    sandbox.next("insufficient_funds")
    payment = pay(sandbox)
    assert (payment["status"], payment["status_reason"]) == ("declined", "insufficient_funds")
    sandbox.webhooks.wait_for(
        "transaction.sale", status="declined", subject=payment["transaction_id"]
    )

def test_that_fails(sandbox):
    print(sandbox.endpoint("http://127.0.0.1:9/hook")["secret"], file=KEYS, flush=True)
    sandbox.next("lost_card")
    pay(sandbox)
    pay(sandbox, key="merchant_read_only")
    sandbox.client(None).get("/v5/apikeys")
    pay(sandbox.new_world(seed=5), 1111)
    sandbox.webhooks.settle()
    assert False, sandbox.key("merchant")

def test_that_fails_without_a_sandbox():
    assert False

def test_whose_card_is_never_tapped(sandbox):
    sandbox.scenario("slow_tap")
    body = {"amount": 1000, "terminal_id": sandbox.terminal()}
    sandbox.client().post("/v3/payment", json=body, timeout=0.5)

@pytest.fixture
def closed(sandbox):
    pay(sandbox)
    raise RuntimeError("the shop is closed")

def test_whose_fixture_fails(closed):
    pass

@pytest.mark.sandbox(seed=7, clock="2026-03-01T12:00:00Z", fixture="demo")
class TestMarked:
    @pytest.mark.sandbox(
        seed=8,
        switches={"batch.settlement": "manual"},
        readings={"delete_answers": "resource"},
    )
    def test_the_closest_marker_counts(self, sandbox):
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

@pytest.fixture(scope="session")
def shop(sandbox_server):
    with sandbox_server.world(name="shop") as world:
        pay(world, 2222)
        yield world

def test_that_passes(shop):
    pay(shop, 3333)

def test_of_an_app_that_lives_for_the_session(shop):
    pay(shop, 4444)
    assert False

def test_after_a_reset(shop):
    shop.reset()
    pay(shop, 5555)
    assert False

def test_that_closes_its_worlds(sandbox_server):
    with sandbox_server.world() as world:
        pay(world, 6666)
    with sandbox_server.world() as world:
        pay(world, 7777)
        assert False

def test_whose_receiver_failed_first(sandbox):
    sandbox.webhooks.listen(["transaction.sale"])
    sandbox.webhooks.respond(500, times=1)
    pay(sandbox, 8888)
    sandbox.advance("1h")
    assert False

def test_a_typo(sandbox):
    sandbox.scenario("late_answr")
"""

JOURNALS = {
    "test_that_fails": [1000, 1111],
    "test_of_an_app_that_lives_for_the_session": [4444],
    "test_after_a_reset": [5555],
    "test_that_closes_its_worlds": [6666, 7777],
    "test_whose_receiver_failed_first": [8888],
}
"""Which amounts the journal of each failed test has: of its own requests, in all its worlds."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One run with everything in it: its coverage and its report are written to files."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text(TESTS)
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "old.capture.json.gz").write_bytes(b"of an earlier run")
    options = ("--sandbox-coverage=seen.json", "--sandbox-report=artifacts", "--strict-markers")
    return run_pytest(folder, *options, "test_suite.py"), folder


def test_a_test_ends_as_expected(ran):
    run, _ = ran

    for result, tests in {
        "PASSED": (
            "test_a_decline_with_its_webhook",
            "test_the_closest_marker_counts",
            "test_frozen",
        ),
        "FAILED": ("test_that_fails",),
        "ERROR": (
            *("test_whose_fixture_fails", "test_misspelt_option"),
            *("test_option_without_a_name", "test_misspelt_fixture"),
        ),
    }.items():
        assert [test for test in tests if run.result(test) != result] == []
    assert "sandbox: in this process" in run.output.splitlines()
    # A key in a parameter is not taken into the name of a world.
    assert "PASSED test_suite.py::test_a_production_key_as_a_parameter[svc_live_" in run.output


def report(output: str, test: str) -> str:
    """What is said of a test that failed."""
    return output.split(f" {test} ___", 1)[1].split("\n____", 1)[0].split("\n====", 1)[0]


def test_the_report_of_a_failed_test_has_the_journal_of_its_worlds(ran):
    run, _ = ran

    for test, amounts in JOURNALS.items():
        journal = report(run.output, test).partition("- sandbox journal -")[2]
        known = (1000, *range(1111, 9999, 1111))
        assert [one for one in known if f'"amount": {one}' in journal] == amounts, test
    journal = report(run.output, "test_that_fails").partition("- sandbox journal -")[2]
    for said in (
        "POST /v3/payment -> 200  (payments.create, key ****",
        "    outcome: lost_card, queue  [assumed D4]",
        "    outcome lost_card, chosen by queue\n",
        '"status": "declined", "status_reason": "invalid_card"',
        "POST /v3/payment -> 401",
        "payments.create needs payments:tap-ios or payments:tap-android  [spec 5.9]",
        "without a key of any world:\n  GET /v5/apikeys -> 401",
        "transaction.sale (declined) msg_",
        "delivered (answered 200)",
        ", seed 5, clock running",
    ):
        assert said in journal
    failed_first = report(run.output, "test_whose_receiver_failed_first")
    assert "after 2 attempts (answered 500, then answered 200)" in failed_first
    untapped = report(run.output, "test_whose_card_is_never_tapped")
    assert "POST /v3/payment -> no answer yet\n    payment " in untapped
    assert "sandbox journal" not in report(run.output, "test_that_fails_without_a_sandbox")
    set_up = run.output.split("ERROR at setup of test_whose_fixture_fails", 1)[1]
    assert "POST /v3/payment -> 200" in set_up.split("\n____", 1)[0]


def test_mistakes_are_reported_once_at_the_line_of_the_test(ran):
    run, _ = ran
    typo = report(run.output, "test_a_typo").split("sandbox journal")[0]

    assert "@pytest.mark.sandbox: there is no 'sed'; did you mean 'seed'?" in run.output
    assert "@pytest.mark.sandbox: name the option of 7" in run.output
    assert "fixture: there is no 'bussy'; did you mean 'busy'?" in run.output
    assert "control.py" not in run.output
    assert typo.count("did you mean 'late_answer'?") == 1
    assert "uat_sandbox/" not in typo
    assert 'sandbox.scenario("late_answr")' in typo


def test_coverage_is_printed_and_written(ran):
    run, folder = ran
    seen = json.loads((folder / "seen.json").read_text())

    assert seen["operations"]["exercised"]["payments.create"] == 13
    assert "refunds.create" not in seen["operations"]["exercised"]
    assert "- sandbox coverage -" in run.output.replace("=", "-")
    assert "operations" in run.output.split("sandbox coverage")[-1]


def captures_in(page: str) -> list[tuple[str, str]]:
    """Test and content of each capture that a report holds."""
    found = re.findall(r'data-capture="[^"]*" data-test="([^"]*)"[^>]*>([^<]+)</script>', page)
    return [(test, gzip.decompress(b64decode(text)).decode()) for test, text in found]


@pytest.mark.proves("assumed D25-reports")
def test_each_world_of_a_failed_test_is_captured_and_no_key_or_secret(ran):
    run, folder = ran
    page = (folder / "artifacts" / "report.html").read_text()
    captures = captures_in(page)
    files = sorted((folder / "artifacts").glob("*.capture.json.gz"))
    secrets = (folder / "keys.txt").read_text().split()

    worlds = {test: len(amounts) for test, amounts in JOURNALS.items()}
    others = ("test_a_typo", "test_whose_card_is_never_tapped", "test_whose_fixture_fails")
    failed = Counter(worlds | dict.fromkeys(others, 1))
    assert Counter(test.partition("::")[2] for test, _ in captures) == failed
    assert len(files) == len(captures)
    first = "test_suite.py-test_that_fails-1.capture.json.gz"
    assert first in [file.name for file in files]
    assert f"worlds of failed tests: {folder / 'artifacts' / 'report.html'}" in run.output
    requests = [json.loads(text)["requests"] for _, text in captures]
    assert [200, 401] in [[one["status"] for one in each] for each in requests]
    kept = [page, *(text for _, text in captures)]
    kept += [gzip.decompress(one.read_bytes()).decode() for one in files]
    assert len(secrets) > 20
    assert [one for one in secrets if any(one in text for text in kept)] == []
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert len(re.findall(r"<script(?! type=.application/gzip)", page)) == 1


def test_a_sandbox_elsewhere_is_used_with_its_control_surface_and_needs_its_token(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "def test_it(sandbox, sandbox_server):\n"
        "    assert sandbox_server.built is None\n"
        "    assert sandbox.client().get('/v5/apikeys').status_code == 200\n"
        "    assert '//localhost:' in sandbox.webhooks.url\n"
    )
    token, kept = "a-token-of-the-test", ("--sandbox-coverage=seen.json", "--sandbox-report=out")
    own_header = Profile(api_key_header="x-key")
    with sandbox_server(Settings(control_port=1, token=token, profile=own_header)) as server:
        with pytest.raises(SandboxError, match="also name its URL"), sandbox_at(server.url):
            pass
        at = [f"--sandbox-url={server.url}", f"--sandbox-control-url={server.control_url}"]

        let_in = [f"--sandbox-token={token}", *kept]
        with_token = run_pytest(tmp_path, *at, *let_in, SANDBOX_RECEIVER_HOST="localhost")
        without = run_pytest(tmp_path, *at, "--sandbox-receiver-host=localhost")
        worlds = server.control.ask("GET", "/worlds")["worlds"]

    assert with_token.code == 0, with_token.output
    assert [one["id"] for one in worlds] == ["default"]
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["operations"]["exercised"] == {"apikeys.list": 1}
    # Where nothing failed there is no report.
    assert list((tmp_path / "out").iterdir()) == []
    assert "sandbox report" not in with_token.output
    assert without.code == 1
    assert "needs its bearer token" in without.output


def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    for option, said in {
        "--sandbox-coverage=test_it.py": "'test_it.py' does not end with .json",
        "--sandbox-coverage=nowhere/seen.json": "there is no folder for nowhere/seen.json",
        "--sandbox-report=test_it.py": "--sandbox-report: test_it.py cannot be used:",
    }.items():
        run = run_pytest(tmp_path, option, "test_it.py")

        assert run.code == 4
        assert said in run.output
