"""What users in CI wait for: 200 tests with the kit, beside 200 with stubs, as whole processes."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.servers import BenchmarkError

TESTS = 200

KIT = f"""
import pytest

@pytest.mark.parametrize("number", range({TESTS}))
def test_a_decline_with_its_webhook(sandbox, number):
    sandbox.next("insufficient_funds")
    sale = {{"amount": 1000, "terminal_id": sandbox.terminal()}}
    payment = sandbox.client().post("/v3/payment", json=sale).json()
    assert payment["status_reason"] == "insufficient_funds"
    sandbox.webhooks.wait_for("transaction.sale", subject=payment["transaction_id"])
"""

STUBS = f"""
import httpx2
import pytest

@pytest.fixture(scope="session")
def client():
    with httpx2.Client() as client:
        yield client

@pytest.mark.parametrize("number", range({TESTS}))
def test_a_decline(httpserver, client, number):
    answer = {{"status": "declined", "status_reason": "insufficient_funds"}}
    httpserver.expect_request("/v3/payment", method="POST").respond_with_json(answer)
    payment = client.post(httpserver.url_for("/v3/payment"), json={{"amount": 1000}}).json()
    assert payment["status_reason"] == "insufficient_funds"
"""


def measure(rounds: int) -> tuple[float, float]:
    """Return the median seconds of 200 tests with the kit, and with stubs, in turn."""
    times: dict[str, list[float]] = {KIT: [], STUBS: []}
    for _ in range(rounds):
        for text, seconds in times.items():
            seconds.append(_run(text, "uat_sandbox.plugin" if text is KIT else ""))
    return median(times[KIT]), median(times[STUBS])


def _run(text: str, plugin: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_suite.py").write_text(text)
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:faker", "-p", "no:anyio"]
        options += ["-p", "no:hypothesispytest", "-p", "no:schemathesis"]
        command = [sys.executable, "-m", "pytest", *options, "test_suite.py"]
        started_s = time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        took_s = time.perf_counter() - started_s
    if done.returncode or f"{TESTS} passed" not in done.stdout:
        raise BenchmarkError(f"the tests failed: {done.stdout[-500:]}{done.stderr[-500:]}")
    return took_s
