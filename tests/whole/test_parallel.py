"""The test kit under pytest-xdist."""

import json
import re

from tests.testing.pytesting import run_pytest


def test_workers_of_xdist_have_a_server_each_and_their_coverage_is_merged(tmp_path):
    (tmp_path / "test_parallel.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('number', range(6))\n"
        "def test_sale(sandbox, number):\n"
        "    body = {'amount': 1000, 'terminal_id': sandbox.terminal()}\n"
        "    assert sandbox.client().post('/v3/payment', json=body).status_code == 200\n"
        "    sandbox.webhooks.wait_for('transaction.sale')\n"
        "    assert len(sandbox.journal) == 1\n"
    )

    run = run_pytest(
        tmp_path, "-p", "xdist", "-n2", "--sandbox-coverage=seen.json", "test_parallel.py"
    )

    assert run.code == 0, run.output
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["operations"]["exercised"] == {"payments.create": 6}


def test_workers_of_xdist_write_one_report(tmp_path):
    (tmp_path / "test_parallel.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('number', range(4))\n"
        "def test_list(sandbox, number):\n"
        "    assert sandbox.client().get('/v5/apikeys').status_code == number\n"
    )

    run = run_pytest(tmp_path, "-p", "xdist", "-n2", "--sandbox-report=out", "test_parallel.py")

    assert "4 worlds of failed tests: " in run.output
    files = {path.name for path in (tmp_path / "out").iterdir()}
    page = (tmp_path / "out" / "report.html").read_text()
    assert len(files) == 5
    named = set(re.findall(r'data-capture="([^"]*)"', page))
    assert {f"{name}.capture.json.gz" for name in named} == files - {"report.html"}
