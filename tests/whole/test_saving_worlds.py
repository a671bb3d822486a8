"""`sandbox world`: worlds of a real server saved and loaded, and state files converted."""

import json
import socket
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests import processes
from tests.conftest import NOW
from tests.driving import Served, serving


def run(
    *arguments: str | Path, stdin: bytes = b"", **env: str
) -> "subprocess.CompletedProcess[bytes]":
    """The command, run to its end."""
    return processes.run("world", *map(str, arguments), stdin=stdin, **env)


def succeeded(*arguments: str | Path, **more: Any) -> bytes:
    done = run(*arguments, **more)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def assert_refused(done: "subprocess.CompletedProcess[bytes]", code: int, *words: str) -> None:
    """This exit status, a message with these words in one line, and nothing of Python's."""
    err = done.stderr.decode()
    assert (done.returncode, done.stdout) == (code, b""), err
    assert [word for word in words if word not in err] == [], err
    assert err.startswith("sandbox: ")
    assert err.count("\n") == 1


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


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


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


def test_without_a_file_the_world_goes_to_standard_output_and_comes_from_standard_input(server):
    one, other = add_world(server, "one"), add_world(server, "other")
    paid = pay(server, one)

    content = succeeded("save", "--world", "one", "--url", server.facts["control_url"])
    succeeded("load", "-", "--world", "other", "--url", server.url, stdin=content)

    assert content == snapshot(server, "one")
    assert read(server, other, paid) == 200


def test_json_says_what_was_done(server, tmp_path):
    add_world(server, "told")
    file = tmp_path / "told.json"
    options = ["--world", "told", "--url", server.url, "--json"]

    saved = json.loads(succeeded("save", file, *options))
    loaded = json.loads(succeeded("load", file, *options))

    assert saved == {"world": "told", "file": str(file), "bytes": file.stat().st_size}
    assert loaded == server.control("GET", "/worlds/told").json()


# --- what the server says ---------------------------------------------------------------------


def test_an_unknown_world_is_refused_with_the_nearest(server):
    add_world(server, "uat-seven")

    for command in (["save"], ["load", "-"]):
        done = run(*command, "--world", "uat-sevn", "--url", server.url, stdin=b"{}")

        assert_refused(done, 2, "there is no world 'uat-sevn'", "did you mean 'uat-seven'?")


def test_an_invalid_id_of_a_world_is_refused(server):
    for world in ("../health", "a b", "", "%2e%2e"):
        done = run("save", "--world", world, "--url", server.url)

        assert done.returncode in (1, 2)
        assert b"Traceback" not in done.stderr
        assert done.stdout == b""


def test_a_snapshot_that_is_refused_says_why_and_changes_nothing(server):
    before = snapshot(server)

    for content, why in {
        b"": "is not JSON",
        b"[]": "must be an object of tables",
        b"{}": "another program",
        b"\xff\x00": "is not JSON",
    }.items():
        done = run("load", "-", "--url", server.url, stdin=content)

        assert_refused(done, 2, why, "nothing was changed")
        assert snapshot(server) == before


# --- no server, no file -----------------------------------------------------------------------


def test_an_invalid_url_is_refused():
    for url in ("", "127.0.0.1:8080", "ftp://127.0.0.1", "http://[::", "http://"):
        assert_refused(run("save", "--url", url), 2, "--url", "http://127.0.0.1:8080")


def test_the_platform_s_own_port_is_not_a_control_surface():
    with serving("--control-port", str(free_port())) as server:
        assert_refused(run("save", "--url", server.url), 2, "404", "--control-port")
        assert succeeded("save", "--url", server.facts["control_url"])


class _Page(BaseHTTPRequestHandler):
    """Something else that listens."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>It works!</html>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_another_server_that_answers_is_not_taken_for_a_sandbox(tmp_path):
    page = HTTPServer(("127.0.0.1", 0), _Page)
    Thread(target=page.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{page.server_port}"
        done = run("save", tmp_path / "page.json", "--url", url)
    finally:
        page.shutdown()
        page.server_close()

    assert_refused(done, 2, "not as a sandbox's control API does")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_or_read_is_refused(server, tmp_path):
    for command, why in (("save", "cannot be written"), ("load", "cannot be read")):
        for file in (tmp_path / "nowhere" / "friday.json", tmp_path):
            done = run(command, file, "--url", server.url)
            assert_refused(done, 2, str(file), why)
    assert_refused(run("save", "--json", "--url", server.url), 2, "--json", "FILE")


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
    assert_refused(refused, 2, "b.db", "holds the worlds default, second", "name a file")
    with serving("--store", str(other), "--clock", NOW) as server:
        assert {id: snapshot(server, id) for id in before} == before


def test_a_source_that_a_server_uses_is_refused(tmp_path):
    with serving("--store", str(tmp_path / "a.json")) as server:
        done = run("convert", tmp_path / "a.json", tmp_path / "b.db")

        assert_refused(done, 2, "a.json", "another server uses it", str(server.process.pid))
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

        assert_refused(done, 2, *words)
        assert source == target or not (tmp_path / target).exists()
