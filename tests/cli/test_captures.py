"""`sandbox world capture` and `sandbox world open`."""

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from tests.cli.asking import ask, told


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


def test_captures_are_put_into_one_page_beside_the_first(file, tmp_path):
    other = tmp_path / "a week <b>.gz"
    other.write_bytes(file.read_bytes())

    told("world", "open", str(file), str(other), "--no-browser")

    page = file.with_name("friday.capture.html")
    assert captures_in(page) == {
        "friday": content_of(file),
        "a-week-b--2": content_of(file),
    }
    assert "a week &lt;b&gt;.gz" in page.read_text()


def test_the_result_is_json_for_programs(served, file, tmp_path):
    again, page = tmp_path / "again.gz", tmp_path / "page.html"

    made = json.loads(told("world", "capture", str(again), "--json", server=served))
    opened = json.loads(
        told("world", "open", str(file), "--to", str(page), "--no-browser", "--json")
    )

    assert made == {"world": "default", "file": str(again), "bytes": again.stat().st_size}
    assert opened == {"page": str(page), "worlds": ["default"]}


def broken(change: dict[str, Any] | None, without: str = "") -> Any:
    def write(file: Path) -> bytes:
        content = content_of(file) | (change or {})
        content.pop(without, None)
        return gzip.compress(json.dumps(content).encode())

    return write


@pytest.mark.proves("assumed D25-reports")
@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda _: b"{}", "is not a capture: it is not gzipped"),
        (lambda _: gzip.compress(b"no JSON"), "is not a capture: "),
        (lambda _: gzip.compress(b"[]"), "is not a capture of this program"),
        (lambda file: file.read_bytes()[:-20], "is not a capture: it ends too early"),
        (broken({"program": "other"}), "is not a capture of this program"),
        (broken({"capture": 2}), "has the format 2, and this version reads 1"),
        (broken({"extra": 1}), "has 'extra', which no capture has"),
        (broken(None, "requests"), "has no requests"),
        (broken({"requests": {}}), "requests: must be a list"),
        (broken({"requests": [1]}), "requests: must be a list of objects"),
        (broken({"scenario": []}), "scenario: must be an object"),
    ],
)
def test_a_file_that_is_not_a_capture_is_refused_and_nothing_is_written(
    file, tmp_path, write, said
):
    bad = tmp_path / "bad.gz"
    bad.write_bytes(write(file))

    done = ask("world", "open", str(bad), "--no-browser")

    assert done.exit_code == 2
    assert done.stderr.startswith(f"sandbox: {bad}: {said}")
    assert list(tmp_path.iterdir()) == [bad]


def test_files_that_cannot_be_are_refused(served, file, tmp_path):
    missing = tmp_path / "missing.gz"

    for arguments, said in (
        (["open", str(missing)], f"{missing}: cannot be read: No such file"),
        (["open", str(file), "--to", str(file)], f"--to: {file} is one of the captures"),
        (["open", str(file), "--to", str(missing / "x.html")], "cannot be written"),
    ):
        done = ask("world", *arguments, "--no-browser")
        assert (done.exit_code, said in done.stderr) == (2, True), done.output
    done = ask("world", "capture", str(missing / "x.gz"), server=served)
    assert (done.exit_code, "cannot be written" in done.stderr) == (2, True), done.output
