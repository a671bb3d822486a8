"""Schemathesis tries both surfaces against their own documents and finds nothing.

The document is all that it knows: it makes up requests that fit and requests that do not, leaves
keys out, sends other methods, and holds every answer against what is described.
"""

import subprocess
import sys
from pathlib import Path

from tests.conftest import NOW
from tests.driving import serving

CONFIG = Path(__file__).with_name("schemathesis.toml")
EXAMPLES_MAX = 4
SECONDS_MAX = 300


def schemathesis(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """A run of the tool with these options."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", *options),
            *("--max-examples", str(EXAMPLES_MAX), "--seed", "1", "--generation-deterministic"),
            *("--continue-on-failure", "--no-color", "--warnings", "off"),
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=SECONDS_MAX,
    )


def test_every_answer_to_made_up_requests_is_as_the_document_says(tmp_path):
    with serving("--clock", NOW) as server:
        done = schemathesis(
            tmp_path,
            *("--config-file", str(CONFIG), "run"),
            f"{server.facts['control_url']}/platform/openapi.json?strict=1",
            *("--url", server.url, "--header", f"x-service-apikey: {server.key('partner')}"),
            *("--checks", "all", "--phases", "examples,coverage,fuzzing"),
            # A retired path allows no method at all, and so sends no Allow header (assumed C3).
            "--exclude-deprecated",
        )

    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr


def test_no_made_up_request_to_the_control_api_fails(tmp_path):
    checks = ("not_a_server_error", "status_code_conformance", "content_type_conformance")
    with serving("--clock", NOW) as server:
        done = schemathesis(
            tmp_path,
            *("run", f"{server.facts['control_url']}/openapi.json", "--url", server.url),
            *("--checks", ",".join((*checks, "response_schema_conformance"))),
            # What waits or streams does so for as long as it is told.
            *("--phases", "coverage,fuzzing", "--exclude-path-regex", "(stream|wait)"),
        )

    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
