"""`sandbox world new`, `list`, `show`, `reset`, `delete`, `save`, `capture` and `open`."""

import gzip
import json
import os
import re
import shlex
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from tests.cli.asking import Shell, add_world, ask, assert_refused, at_terminal, read_until, told


def test_a_new_world_is_as_the_options_say_and_has_a_request_to_paste(served, tmp_path):
    story = tmp_path / "mine.toml"
    story.write_text('name = "All declined"\n[[rule]]\nthen.outcome = "insufficient_funds"\n')

    shown = told(
        *("world", "new", "--id", "cli-new", "--name", "Mine", "--seed", "7"),
        *("--clock", "2026-03-01T12:00:00Z", "--scenario", str(story)),
        *("--switch", "batch.settlement=manual", "--switch", "strict_headers=true"),
        *("--reading", "delete_answers=resource"),
        *("--invent", "merchants=2,terminals_per_merchant=1", "--webhook", "9000/hook"),
        server=served,
    )

    shell = Shell(served, "cli-new")
    switches = shell.look("switches")
    assert shown.startswith(
        "world cli-new (Mine): fixture demo, seed 7, scenario All declined, "
        "reading missing_headers=refused, reading delete_answers=resource, "
        "clock frozen at 2026-03-01T12:00:00.000Z\n"
    )
    assert (switches["batch.settlement"], switches["strict_headers"]) == ("manual", True)
    (endpoint,) = shell.look("endpoints")["endpoints"]
    assert f"http://127.0.0.1:9000/hook  {endpoint['secret']}\n" in shown
    words = shlex.split(shown.splitlines()[-1])
    assert words[:3] == ["curl", "-s", f"{served.url}/v3/payment"]
    assert words[4] == f"x-service-apikey: {shell.view['keys']['merchant']['key']}"
    assert shell.paid(**json.loads(words[6]))["status"] == "declined"


def test_a_new_world_needs_no_options(served):
    made = json.loads(told("world", "new", "--json", server=served))
    empty = told("world", "new", "--fixture", "empty", "--clock", "running", server=served)

    read = served.control("GET", f"/worlds/{made['id']}").json()
    assert made == read | {"clock": made["clock"], "endpoints": []}
    assert made["clock"]["mode"] == "running"
    # Without a merchant the first request is another.
    assert "/v5/apikeys -H" in empty.splitlines()[-1]


def test_the_worlds_of_a_server_are_listed(served):
    add_world(served, "cli-listed", name="Mine")

    lines = told("world", "list", server=served).splitlines()

    assert lines[0].split() == ["id", "name", "seed", "fixture", "scenario", "clock"]
    (mine,) = [line for line in lines if line.startswith("cli-listed ")]
    assert mine.split()[:5] == ["cli-listed", "Mine", "1", "demo", "-"]
    assert mine.split()[5:] == ["2026-03-01T12:00:00.000Z", "frozen"]
    listed = json.loads(told("world", "list", "--json", server=served))
    assert "default" in [world["id"] for world in listed["worlds"]]


def test_a_world_is_shown_whole_reset_with_the_same_keys_and_deleted(shell):
    shown, named = shell("world show"), shell(f"world show {shell.world}")

    for cast in ("accounts", "terminals", "locations"):
        assert all(id in shown for id in shell.view[cast].values())
    assert all(key["key"] in shown for key in shell.view["keys"].values())
    assert named == shown
    assert shell.json("world show") == shell.view
    path = f"/v1/transactions/{shell.paid()['transaction_id']}"
    copy = shell.json("world fork --name Copy")
    assert (copy["name"], copy["accounts"]) == ("Copy", shell.view["accounts"])
    told("world", "delete", copy["id"], "--yes", server=shell.server)
    reset = shell(f"world reset {shell.world}")
    assert reset == f"{shell.world} is reset to the fixture demo\n"
    assert shell.get(path).status == 404
    assert shell(f"world delete {shell.world} --yes") == f"{shell.world} is deleted\n"
    assert shell.server.control("GET", f"/worlds/{shell.world}").status_code == 404


def test_on_a_terminal_it_asks_before_it_deletes(shell):
    line = ("world", "delete", shell.world, "--url", shell.server.url)
    for answer, expected, status in ((b"n\n", 1, 200), (b"\x04", 130, 200), (b"y\n", 0, 404)):
        with at_terminal(*line) as (process, person):
            read_until(person, f"Delete the world {shell.world} with all its data?")
            os.write(person, answer)
            assert process.wait(20) == expected, answer
        left = shell.server.control("GET", f"/worlds/{shell.world}").status_code
        assert left == status, answer


@pytest.mark.skipif(os.name == "nt", reason="modes of files are those of POSIX")
@pytest.mark.parametrize("mode", [None, 0o644, 0o400])
def test_a_saved_world_is_its_owners_alone_whatever_was_there_before(served, tmp_path, mode):
    """It holds the secrets of endpoints, and keys that can be read again."""
    file = tmp_path / "friday.json"
    if mode is not None:
        file.write_text("{}", encoding="utf-8")
        file.chmod(mode)

    told("world", "save", str(file), server=served)

    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_bytes())["file"]["1"]["program"] == "uat-sandbox"


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
    other, again, page = (tmp_path / name for name in ("a week <b>.gz", "friday-2.gz", "page.html"))
    other.write_bytes(file.read_bytes())

    told("world", "open", str(file), str(other), "--no-browser")
    made = json.loads(told("world", "capture", str(again), "--json", server=served))
    options = ("--to", str(page), "--no-browser", "--json")
    opened = json.loads(told("world", "open", str(again), str(file), *options))

    beside = file.with_name("friday.capture.html")
    assert captures_in(beside) == {"friday": content_of(file), "a-week-b--2": content_of(file)}
    assert "a week &lt;b&gt;.gz" in beside.read_text()
    assert made == {"world": "default", "file": str(again), "bytes": again.stat().st_size}
    assert opened == {"page": str(page), "worlds": ["default"] * 2}
    assert list(captures_in(page)) == ["friday-2", "friday-2-2"], "each can be found by its link"


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


def test_impossible_files_are_refused(served, file, tmp_path):
    missing, deep, dated = (tmp_path / name for name in ("missing.gz", "deep.toml", "dated.toml"))
    deep.write_text("name = " + "[" * 5_000)
    dated.write_text("name = 'Dated'\n[[rule]]\nwhen.from = 2026-03-01T12:00:00Z\n")

    for arguments, said in (
        (["open", str(missing)], f"{missing}: cannot be read: No such file"),
        (["open", str(file), "--to", str(file)], f"--to: {file} is one of the captures"),
        (["open", str(file), "--to", str(missing / "x.html")], "cannot be written"),
        (["capture", str(missing / "x.gz")], "cannot be written"),
        (["capture", "."], ".: cannot be written: Device or resource busy"),
        (["new", "--scenario", str(deep)], f"{deep}: cannot be read: it is nested too deeply"),
        (["new", "--scenario", str(dated)], "rule 1, when.from: Input should be a valid string"),
    ):
        assert_refused(ask("world", *arguments, server=served), 2, said)
