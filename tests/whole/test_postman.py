"""The exported collection, run by Postman's own runner."""

import json
from pathlib import Path

import pytest

from sandbox.platform.openapi.examples import EXAMPLES
from tests.cli.asking import told
from tests.driving import serving
from tests.whole.installing import npm_packages, run


@pytest.fixture(scope="module")
def newman() -> Path:
    return npm_packages("newman@6") / ".bin" / "newman"


def test_a_request_succeeds_alone_and_the_whole_collection_twice_in_a_row(newman, tmp_path):
    with serving() as server:
        told("export", "postman", "--out", str(tmp_path / "c.json"), "--server", server.url)
        reporter = ("--reporters", "json", "--reporter-json-export", "report.json")
        # In the world that is there anyway.
        run(newman, "run", "c.json", "--folder", "Take a payment", cwd=tmp_path)
        run(newman, "run", "c.json", "--iteration-count", "2", *reporter, cwd=tmp_path)
        worlds = server.control("GET", "/worlds").json()["worlds"]

    report = json.loads((tmp_path / "report.json").read_text())["run"]
    assert report["failures"] == []
    assert report["stats"]["assertions"]["total"] > 2 * len(EXAMPLES)
    assert [world["id"] for world in worlds] == ["default"]
