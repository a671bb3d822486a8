"""`sandbox world capture` and `sandbox world open`."""

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from tests.cli.asking import ask, assert_refused, told


@pytest.fixture(scope="module")
def file(served, tmp_path_factory) -> Path:
    """A capture of the default world."""
    path = tmp_path_factory.mktemp("captured") / "friday.capture.json.gz"
    said = told("world", "capture", str(path), server=served)
    assert said.startswith(f"captured default in {path}, ")
    return path


def content_of(file: Path) -> dict[str, Any]:
    return json.loads(gzip.decompress(file.read_bytes()))


def captures_in(page: Path) -> dict[str, dict[str, Any]]:
    """The captures in the page, by the ids that links have."""
    found = re.findall(r'data-capture="([^"]*)"[^>]*>([^<]+)</script>', page.read_text())
    return {id: json.loads(gzip.decompress(b64decode(text))) for id, text in found}


def test_captures_are_put_into_one_page_beside_the_first(served, file, tmp_path):
    other, again, page = (tmp_path / name for name in ("a week <b>.gz", "again.gz", "page.html"))
    other.write_bytes(file.read_bytes())

    told("world", "open", str(file), str(other), "--no-browser")
    made = json.loads(told("world", "capture", str(again), "--json", server=served))
    options = ("--to", str(page), "--no-browser", "--json")
    opened = json.loads(told("world", "open", str(file), *options))

    beside = file.with_name("friday.capture.html")
    assert captures_in(beside) == {"friday": content_of(file), "a-week-b--2": content_of(file)}
    assert "a week &lt;b&gt;.gz" in beside.read_text()
    assert made == {"world": "default", "file": str(again), "bytes": again.stat().st_size}
    assert opened == {"page": str(page), "worlds": ["default"]}


@pytest.mark.proves("assumed D25-reports")
def test_a_file_that_is_not_a_capture_is_refused_and_nothing_is_written(file, tmp_path):
    content, bad = content_of(file), tmp_path / "bad.gz"
    without = {name: value for name, value in content.items() if name != "requests"}
    for changed, said in (
        (b"{}", "is not a capture: it is not gzipped"),
        (gzip.compress(b"no JSON"), "is not a capture: "),
        ([], "is not a capture of this program"),
        (file.read_bytes()[:-20], "is not a capture: it ends too early"),
        (content | {"program": "other"}, "is not a capture of this program"),
        (content | {"capture": 2}, "has the format 2, and this version reads 1"),
        (content | {"extra": 1}, "has 'extra', which no capture has"),
        (without, "has no requests"),
        (content | {"requests": {}}, "requests: must be a list"),
        (content | {"requests": [1]}, "requests: must be a list of objects"),
        (content | {"scenario": []}, "scenario: must be an object"),
    ):
        is_raw = isinstance(changed, bytes)
        bad.write_bytes(changed if is_raw else gzip.compress(json.dumps(changed).encode()))

        assert_refused(ask("world", "open", str(bad), "--no-browser"), 2, f"{bad}: {said}")
        assert list(tmp_path.iterdir()) == [bad]


def test_files_that_cannot_be_are_refused(served, file, tmp_path):
    missing = tmp_path / "missing.gz"

    for arguments, said in (
        (["open", str(missing)], f"{missing}: cannot be read: No such file"),
        (["open", str(file), "--to", str(file)], f"--to: {file} is one of the captures"),
        (["open", str(file), "--to", str(missing / "x.html")], "cannot be written"),
        (["capture", str(missing / "x.gz")], "cannot be written"),
    ):
        assert_refused(ask("world", *arguments, server=served), 2, said)
