"""The tests of one sandbox, asked of servers that are set up in another way.

One is a server that owns no world, since another one has them all; others are ASGI servers that
know nothing of the sandbox. TESTED_SUITES=all asks the first one everything, as `make elsewhere`
does.
"""

import os
import subprocess
import sys

import pytest

from tests.servers.elsewhere import COMMANDS

FOLDERS = ("payments", "directory", "platform", "readings", "control", "webhooks", "worlds")
ALL = [f"tests/{name}" for name in FOLDERS]
SOME = [
    *("tests/payments/test_fields.py", "tests/payments/test_search.py"),
    *("tests/payments/test_taps.py", "tests/payments/test_waiting.py"),
    "tests/platform/test_apikeys_create.py",
]
OF_WORLDS = [
    *("tests/control/test_agenda.py", "tests/control/test_payments.py"),
    *("tests/control/test_scenarios.py", "tests/control/test_stream.py"),
    *("tests/webhooks/test_resending.py", "tests/webhooks/test_story.py"),
    "tests/worlds/test_clock.py",
]
DIFFERS = {
    "test_create_app": "builds applications of its own",
    "test_metrics": "counts of the server go on from one test to the next",
    "test_coverage": "counts of the server go on from one test to the next",
    "test_it_is_filtered_counted_and_read_in_pages": "webhooks are sent meanwhile",
    "test_a_scenario_registers_its_endpoints_and_they_stay": "webhooks are sent meanwhile",
    "test_an_endpoint_is_disabled_enabled_and_deleted": "webhooks are sent meanwhile",
    "test_a_capture_has_all_that_can_be_seen_and_no_key": "webhooks are sent meanwhile",
    "test_the_journal_says_of_a_closed_connection": "asks an application without a server",
    "test_each_amount_of_the_blocks_chooses_its_outcome": "asks an application without a server",
    "test_a_world_needs_nothing": "numbers of worlds go on from one test to the next",
    "test_chaos_timing": "a request that is forwarded takes longer",
    "HEAD-/health": "a client of HTTP takes no body with HEAD",
    "test_the_log_says_each_kind_once_a_minute_in_one_line": "the log is that of another process",
}


@pytest.mark.parametrize("server", ["elsewhere", *COMMANDS])
def test_the_suites_pass_on_a_server_that_owns_nothing_and_on_any_asgi_server(server: str):
    asks_all = os.environ.get("TESTED_SUITES") == "all" and server not in COMMANDS
    suites = ALL if asks_all else SOME if server in COMMANDS else SOME + OF_WORLDS
    unless = " and ".join(f"not {name}" for name in DIFFERS if "/" not in name)
    command = [sys.executable, "-m", "pytest", *suites, "-p", "no:cacheprovider"]
    workers = "2" if asks_all else "0"
    done = subprocess.run(
        [*command, "--tb=short", "-k", unless, "-n", workers],
        env={**os.environ, "TESTED_SANDBOX": server},
        capture_output=True,
        text=True,
        check=False,
    )

    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR "))]
    assert [line for line in failed if not any(name in line for name in DIFFERS)] == [], (
        done.stdout[-3_000:]
    )
    assert " passed" in done.stdout.splitlines()[-1], done.stdout[-3_000:]
