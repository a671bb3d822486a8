"""The report of a test run: what it writes, for which tests, and that no key is in it."""

import gzip
import json
import re
from base64 import b64decode

import pytest

from tests.testing.pytesting import run_pytest

TESTS = """
KEYS = open("keys.txt", "a")

def refused(world):
    KEYS.write("\\n".join(one["key"] for one in world.view["keys"].values()) + "\\n")
    KEYS.write(world.endpoint("http://127.0.0.1:9/hook")["secret"] + "\\n")
    KEYS.flush()
    body = {"amount": 1000, "terminal_id": world.terminal()}
    paid = world.client().post("/v3/payment", json=body).json()
    return world.client("other_merchant").get(f"/v3/payment/{paid['transaction_id']}")

def test_whose_capture_is_refused(sandbox):
    answer = refused(sandbox)
    assert answer.status_code == 200, sandbox.key("merchant")

def test_that_closes_its_world(sandbox_server):
    with sandbox_server.world(name="of its own") as world:
        refused(world)
        assert False

def test_that_passes(sandbox):
    refused(sandbox)

def test_without_a_sandbox():
    assert False
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reported")
    (folder / "test_suite.py").write_text(TESTS)
    report = folder / "artifacts" / "sandbox"
    report.mkdir(parents=True)
    (report / "old.capture.json.gz").write_bytes(b"of an earlier run")
    return run_pytest(folder, "--sandbox-report=artifacts/sandbox", "test_suite.py"), folder


def captures_in(page: str) -> dict[str, str]:
    """The captures that a report holds: test to content."""
    found = re.findall(r'data-capture="[^"]*" data-test="([^"]*)"[^>]*>([^<]+)</script>', page)
    return {test: gzip.decompress(b64decode(text)).decode() for test, text in found}


def test_each_world_of_a_failed_test_is_captured_and_no_other(ran):
    run, folder = ran
    report = folder / "artifacts/sandbox"

    files = {path.name for path in report.iterdir()}

    assert files == {
        "report.html",
        "test_suite.py-test_whose_capture_is_refused-1.capture.json.gz",
        "test_suite.py-test_that_closes_its_world-2.capture.json.gz",
    }
    assert f"2 worlds of failed tests: {report / 'report.html'}" in run.output
    captures = captures_in((report / "report.html").read_text())
    assert set(captures) == {
        "test_suite.py::test_whose_capture_is_refused",
        "test_suite.py::test_that_closes_its_world",
    }
    for text in captures.values():
        statuses = [one["status"] for one in json.loads(text)["requests"]]
        assert statuses == [200, 404]


@pytest.mark.proves("assumed D25-reports")
def test_a_report_holds_no_key_and_no_secret_and_runs_one_script(ran):
    _, folder = ran
    report = folder / "artifacts/sandbox"
    secrets = (folder / "keys.txt").read_text().split()

    page = (report / "report.html").read_text()

    kept = [page, *captures_in(page).values()]
    kept += [gzip.decompress(one.read_bytes()).decode() for one in report.glob("*.gz")]
    assert len(secrets) > 20
    assert [one for one in secrets if any(one in text for text in kept)] == []
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert len(re.findall(r"<script(?! type=.application/gzip)", page)) == 1


def test_a_run_in_which_nothing_failed_writes_no_report(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(sandbox): sandbox.client().get('/x')\n")

    run = run_pytest(tmp_path, "--sandbox-report=out", "test_it.py")

    assert (run.code, list((tmp_path / "out").iterdir())) == (0, [])
    assert "sandbox report" not in run.output


def test_a_folder_that_cannot_be_is_refused_at_once(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")

    run = run_pytest(tmp_path, "--sandbox-report=test_it.py", "test_it.py")

    assert run.code == 4
    assert "--sandbox-report: test_it.py cannot be used:" in run.output
