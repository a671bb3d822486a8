"""The test kit under pytest-xdist."""

import json
import re

from tests.testing.pytesting import run_pytest

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(6))
def test_sale(sandbox, number):
    body = {"amount": 1000, "terminal_id": sandbox.terminal()}
    assert sandbox.client().post("/v3/payment", json=body).status_code == 200
    sandbox.webhooks.wait_for("transaction.sale")
    assert len(sandbox.journal) == 1

@pytest.mark.parametrize("number", range(4))
def test_list(sandbox, number):
    assert sandbox.client().get("/v5/apikeys").status_code == number
"""


def test_workers_of_xdist_have_a_server_each_one_coverage_and_one_report(tmp_path):
    (tmp_path / "test_parallel.py").write_text(TESTS)
    kept = ("--sandbox-coverage=seen.json", "--sandbox-report=out")

    run = run_pytest(tmp_path, "-p", "xdist", "-n2", *kept, "test_parallel.py")

    assert re.search(r"4 failed, 6 passed", run.output), run.output
    assert "4 worlds of failed tests: " in run.output
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["operations"]["exercised"] == {"payments.create": 6, "apikeys.list": 4}
    files = {path.name for path in (tmp_path / "out").iterdir()}
    page = (tmp_path / "out" / "report.html").read_text()
    assert len(files) == 5
    named = set(re.findall(r'data-capture="([^"]*)"', page))
    assert {f"{name}.capture.json.gz" for name in named} == files - {"report.html"}
