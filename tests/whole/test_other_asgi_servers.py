"""The application on ASGI servers that know nothing of it: it is one like any other."""

import os
import subprocess
import sys

import pytest

from tests.servers.elsewhere import COMMANDS

SUITES = [
    *("tests/payments/test_edits.py", "tests/payments/test_fields.py"),
    *("tests/payments/test_pricing.py", "tests/payments/test_search.py"),
    *("tests/payments/test_taps.py", "tests/payments/test_waiting.py"),
    *("tests/platform/test_apikeys_access.py", "tests/platform/test_apikeys_create.py"),
]


@pytest.mark.parametrize("server", COMMANDS)
def test_payments_and_keys_are_served_by_any_asgi_server(server: str):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *SUITES, "-p", "no:cacheprovider", "--tb=short"],
        env={**os.environ, "TESTED_SANDBOX": server},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3_000:]
    assert " passed" in done.stdout.splitlines()[-1]
