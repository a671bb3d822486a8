"""Schemathesis tries both surfaces against their documents and finds nothing.

A document is all that it knows: it makes up requests that fit and requests that do not, leaves keys
out, sends other methods, and holds every answer against what is described.
"""

import json
import sys
from pathlib import Path

import pytest

from tests.driving import NOW, Served, serving
from tests.properties import SEED, examples
from tests.whole.installing import run

CONFIG = Path(__file__).with_name("schemathesis.toml")
EXAMPLES = 12
SECONDS_MAX = 600

PLATFORM = "all"
# Words of the control API are those of a world, which no schema can know.
CONTROL = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance,unsupported_method"
)


def document_of(server: Served, path: str) -> str:
    """The document without the header that forces an outcome, of which CONFIG says what is sent.

    With it the same request would be sent once for each word that it can have.
    """
    document = server.control("GET", path).json()
    for operations in document["paths"].values():
        for operation in operations.values():
            parameters = operation.get("parameters", [])
            parameters[:] = [one for one in parameters if one["name"] != "x-sandbox-outcome"]
    return json.dumps(document)


@pytest.mark.hypothesis
@pytest.mark.parametrize(
    ("document", "checks"),
    [("/platform/openapi.json?strict=1", PLATFORM), ("/openapi.json?strict=1", CONTROL)],
    ids=["platform", "control"],
)
def test_every_answer_to_made_up_requests_is_as_the_document_says(tmp_path, document, checks):
    seed = SEED or "1"
    with serving("--clock", NOW) as server:
        server.control("POST", "/worlds", json={"id": "beside"})
        beside = server.control("GET", "/worlds/beside/snapshot").content
        described = tmp_path / "openapi.json"
        described.write_text(document_of(server, document), encoding="utf-8")
        run(
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", CONFIG, "run", described),
            *("--url", server.url, "--header", f"x-service-apikey: {server.key('partner')}"),
            *("--checks", checks, "--phases", "examples,coverage,fuzzing"),
            *("--max-examples", str(examples(EXAMPLES)), "--seed", seed),
            *([] if SEED else ["--generation-deterministic"]),
            # A retired path allows no method at all, and so sends no Allow header (assumed C3).
            *("--exclude-deprecated", "--continue-on-failure", "--no-color", "--warnings", "off"),
            cwd=tmp_path,
            timeout=SECONDS_MAX,
        )

        assert server.control("GET", "/worlds/beside/snapshot").content == beside
