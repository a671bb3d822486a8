"""Schemathesis tries the platform against its own document and finds nothing.

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


def test_every_answer_to_made_up_requests_is_as_the_document_says(tmp_path):
    with serving("--clock", NOW) as server:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run"),
                f"{server.facts['control_url']}/platform/openapi.json?strict=1",
                *("--url", server.url, "--header", f"x-service-apikey: {server.key('partner')}"),
                *("--checks", "all", "--phases", "examples,coverage,fuzzing"),
                *("--max-examples", str(EXAMPLES_MAX), "--seed", "1", "--generation-deterministic"),
                # A retired path allows no method at all, and so sends no Allow header (assumed C3).
                *("--exclude-deprecated", "--continue-on-failure", "--no-color"),
                *("--warnings", "off"),
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=SECONDS_MAX,
        )

    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
