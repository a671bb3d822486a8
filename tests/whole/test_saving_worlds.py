"""`sandbox world`: worlds of a real server saved and loaded, and state files converted."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pytest_httpserver import HTTPServer

from sandbox.cli.main import main
from tests.conftest import NOW
from tests.driving import Served, serving
from tests.whole.installing import free_port


def run(*arguments: str | Path, stdin: bytes = b"") -> Result:
    """The command, run to its end."""
    return CliRunner().invoke(main, ["world", *map(str, arguments)], input=stdin)


def succeeded(*arguments: str | Path, **more: Any) -> bytes:
    done = run(*arguments, **more)
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout_bytes


def assert_refused(done: Result, *words: str) -> None:
    """Status 2, a message with these words in one line, and nothing of Python's."""
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert [word for word in words if word not in done.stderr] == [], done.stderr
    assert done.stderr.startswith("sandbox: ")
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """One server for all tests that need one; its worlds are theirs."""
    with serving("--clock", NOW) as one:
        yield one


def add_world(server: Served, id: str, **more: Any) -> dict[str, Any]:
    answer = server.control("POST", "/worlds", json={"id": id, "clock": NOW} | more)
    assert answer.status_code == 201, answer.text
    world: dict[str, Any] = answer.json()
    return world


def pay(server: Served, world: dict[str, Any], amount: int = 1000) -> dict[str, Any]:
    answer = server.ask(
        "POST",
        "/v3/payment",
        key=world["keys"]["merchant"]["key"],
        json={"amount": amount, "terminal_id": world["terminals"]["merchant"]},
    )
    assert answer.status_code == 200, answer.text
    paid: dict[str, Any] = answer.json()
    return paid


def read(server: Served, world: dict[str, Any], tx: dict[str, Any]) -> int:
    key = world["keys"]["merchant"]["key"]
    return server.ask("GET", f"/v1/transactions/{tx['transaction_id']}", key=key).status_code


def snapshot(server: Served, id: str = "default") -> bytes:
    return server.control("GET", f"/worlds/{id}/snapshot").content


# --- save and load ----------------------------------------------------------------------------


def test_a_world_that_was_saved_comes_back(server, tmp_path):
    world = add_world(server, "there-and-back")
    before = pay(server, world)
    file = tmp_path / "friday.json"

    out = succeeded("save", file, "--world", "there-and-back", "--url", server.url)
    after = pay(server, world)
    succeeded("load", file, "--world", "there-and-back", "--url", server.url)

    assert out == b""
    assert snapshot(server, "there-and-back") == file.read_bytes()
    assert (read(server, world, before), read(server, world, after)) == (200, 404)
    assert json.loads(file.read_bytes())["file"]["1"]["program"] == "uat-sandbox"
    assert [path.name for path in tmp_path.iterdir()] == ["friday.json"]

    # A file that is there is replaced whole, and can be served.
    file.write_text("x" * 1_000_000, encoding="utf-8")
    succeeded("save", file, "--world", "there-and-back", "--url", server.url)
    with serving("--fixture", str(file)) as another:
        shown = another.control("GET", "/worlds/default").json()
        assert shown["fixture"] == "friday"
        assert read(another, shown, before) == 200


def test_a_world_goes_to_standard_output_and_comes_from_standard_input_and_json_says_so(
    server, tmp_path
):
    one, other = add_world(server, "one"), add_world(server, "other")
    paid = pay(server, one)
    file = tmp_path / "told.json"

    content = succeeded("save", "--world", "one", "--url", server.facts["control_url"])
    succeeded("load", "-", "--world", "other", "--url", server.url, stdin=content)
    options = ["--world", "other", "--url", server.url, "--json"]
    saved = json.loads(succeeded("save", file, *options))
    loaded = json.loads(succeeded("load", file, *options))

    assert content == snapshot(server, "one")
    assert read(server, other, paid) == 200
    assert saved == {"world": "other", "file": str(file), "bytes": file.stat().st_size}
    assert loaded == server.control("GET", "/worlds/other").json()


# --- what is refused --------------------------------------------------------------------------


def test_what_cannot_be_saved_or_loaded_is_refused_in_one_sentence(server, tmp_path):
    add_world(server, "uat-seven")
    at = ("--url", server.url)
    refused: list[tuple[tuple[str | Path, ...], tuple[str, ...]]] = [
        (("save", "--world", "uat-sevn", *at), ("no world 'uat-sevn'", "mean 'uat-seven'?")),
        (("load", "-", "--world", "uat-sevn", *at), ("no world 'uat-sevn'", "mean 'uat-seven'?")),
        (("save", "--json", *at), ("--json", "FILE")),
    ]
    refused += [
        (("save", "--url", url), ("--url", "http://127.0.0.1:8080"))
        for url in ("", "127.0.0.1:8080", "ftp://127.0.0.1", "http://[::", "http://")
    ]
    refused += [
        ((command, file, *at), (str(file), why))
        for command, why in (("save", "cannot be written"), ("load", "cannot be read"))
        for file in (tmp_path / "nowhere" / "friday.json", tmp_path)
    ]
    for arguments, words in refused:
        assert_refused(run(*arguments, stdin=b"{}"), *words)
    for world in ("../health", "a b", "", "%2e%2e"):
        done = run("save", "--world", world, *at)

        assert done.exit_code in (1, 2), world
        assert (isinstance(done.exception, SystemExit), done.stdout) == (True, ""), world


def test_a_snapshot_that_is_refused_says_why_and_changes_nothing(server):
    before = snapshot(server)

    for content, why in {
        b"": "is not JSON",
        b"[]": "must be an object of tables",
        b"{}": "another program",
        b"\xff\x00": "is not JSON",
    }.items():
        done = run("load", "-", "--url", server.url, stdin=content)

        assert_refused(done, why, "nothing was changed")
        assert snapshot(server) == before


def test_an_answer_of_another_program_is_told_from_that_of_a_control_api(
    tmp_path, httpserver: HTTPServer
):
    httpserver.expect_request(re.compile("")).respond_with_data("<html>It works!</html>")
    page = run("save", tmp_path / "page.json", "--url", httpserver.url_for(""))
    with serving("--control-port", str(free_port())) as server:
        assert_refused(run("save", "--url", server.url), "404", "--control-port")
        assert succeeded("save", "--url", server.facts["control_url"])

    assert_refused(page, "not as a sandbox's control API does")
    assert list(tmp_path.iterdir()) == []


# --- convert ----------------------------------------------------------------------------------


def fill(path: Path) -> dict[str, bytes]:
    """Have a server keep two worlds in this file; their snapshots."""
    with serving("--store", str(path), "--clock", NOW) as server:
        worlds = [server.control("GET", "/worlds/default").json(), add_world(server, "second")]
        for world in worlds:
            pay(server, world)
        server.control("POST", "/worlds/second/endpoints", json={"url": "http://127.0.0.1:9/"})
        return {world["id"]: snapshot(server, world["id"]) for world in worlds}


def test_a_state_file_of_one_kind_becomes_one_of_the_other_and_back_again(tmp_path):
    one, other, again = (tmp_path / name for name in ("a.json", "b.db", "c.json"))
    before = fill(one)
    content = one.read_bytes()

    done = json.loads(succeeded("convert", one, other, "--json"))
    succeeded("convert", other, again)

    assert done["worlds"] == ["default", "second"]
    assert one.read_bytes() == again.read_bytes() == content
    refused = run("convert", one, other)
    assert_refused(refused, "b.db", "holds the worlds default, second", "name a file")
    with serving("--store", str(other), "--clock", NOW) as server:
        assert {id: snapshot(server, id) for id in before} == before


def test_a_source_that_a_server_uses_is_refused(tmp_path):
    with serving("--store", str(tmp_path / "a.json")) as server:
        done = run("convert", tmp_path / "a.json", tmp_path / "b.db")

        assert_refused(done, "a.json", "another server uses it", str(server.process.pid))
    assert not (tmp_path / "b.db").exists()


def test_what_cannot_be_converted_is_refused_and_leaves_no_target(tmp_path):
    (tmp_path / "a.json").write_text("{}", encoding="utf-8")
    (tmp_path / "a.txt").write_text("{}", encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "saved.json").write_text('{"file": {}, "accounts": {}}', encoding="utf-8")
    for source, target, *words in [
        ("gone.json", "b.db", "gone.json: there is no such file"),
        ("a.json", "b.txt", "b.txt", ".json", ".db"),
        ("a.txt", "b.db", "a.txt", ".json", ".db"),
        ("a.json", "a.json", "a.json: is the file that is to be converted"),
        ("a.json", "nowhere/b.db", "nowhere", "there is no folder"),
        ("broken.json", "b.db", "broken.json", "cannot be read"),
        ("saved.json", "b.db", "saved.json", "cannot be read"),
    ]:
        done = run("convert", tmp_path / source, tmp_path / target)

        assert_refused(done, *words)
        assert source == target or not (tmp_path / target).exists()
