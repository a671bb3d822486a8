"""`sandbox world`: worlds of a real server saved and loaded, and state files converted."""

import json
import re
from pathlib import Path

from click.testing import Result
from pytest_httpserver import HTTPServer

from tests.cli.asking import Shell, add_world, ask, assert_refused, shell_in, told
from tests.driving import NOW, serving
from tests.whole.installing import free_port


def assert_refused_in_a_sentence(done: Result, *words: str) -> None:
    assert_refused(done, 2, *words)
    assert done.stderr.startswith("sandbox: ")
    assert done.stderr.count("\n") == 1


def found(shell: Shell, id: str) -> bool:
    """Whether the world has the payment."""
    return shell.get(f"/v1/transactions/{id}").status == 200


# --- save and load ----------------------------------------------------------------------------


def test_a_world_that_was_saved_comes_back(served, tmp_path):
    shell = shell_in(served, "there-and-back")
    before = shell.paid_id()
    file = tmp_path / "friday.json"

    out = shell(f"world save {file}")
    after = shell.paid_id()
    shell(f"world load {file}")

    assert out == ""
    assert shell.saved() == file.read_bytes()
    assert (found(shell, before), found(shell, after)) == (True, False)
    assert json.loads(file.read_bytes())["file"]["1"]["program"] == "uat-sandbox"
    assert [path.name for path in tmp_path.iterdir()] == ["friday.json"]

    # A file that is there is replaced whole, and can be served.
    file.write_text("x" * 1_000_000, encoding="utf-8")
    shell(f"world save {file}")
    with serving("--fixture", str(file)) as server:
        another = Shell(server)
        assert another.view["fixture"] == "friday"
        assert found(another, before)


def test_a_world_is_saved_to_standard_output_and_loaded_from_standard_input(served, tmp_path):
    one = shell_in(served, "one")
    paid = one.paid_id()
    file = tmp_path / "told.json"

    content = told("world", "save", "--world", "one", "--url", served.facts["control_url"])
    told("world", "load", "-", "--new", "other", stdin=content, server=served)
    other = Shell(served, "other")
    saved, loaded = (other.json(f"world {way} {file}") for way in ("save", "load"))

    assert content.encode() == one.saved()
    assert found(other, paid)
    assert saved == {"world": "other", "file": str(file), "bytes": file.stat().st_size}
    assert loaded == other.look("/worlds/other")


# --- what is refused --------------------------------------------------------------------------


def test_an_unusable_file_is_refused_in_one_sentence(served, tmp_path):
    add_world(served, "uat-seven")
    for arguments, words in [
        (("save", "--world", "uat-sevn"), ("no world 'uat-sevn'", "mean 'uat-seven'?")),
        (("load", "-", "--world", "uat-sevn"), ("no world 'uat-sevn'", "mean 'uat-seven'?")),
        (("load", "-"), ("does not say that uat-sandbox wrote", "nothing was changed")),
        (("load", "-", "--new", "half"), ("does not say that uat-sandbox wrote",)),
        (("save", "--world", "half"), ("no world 'half'",)),
        (("save", "--json"), ("--json", "FILE")),
        *(
            (("save", "--url", url), ("--url", "http://127.0.0.1:8080"))
            for url in ("", "127.0.0.1:8080", "ftp://127.0.0.1", "http://[::", "http://")
        ),
        *(
            ((command, str(file)), (str(file), why))
            for command, why in (("save", "cannot be written"), ("load", "cannot be read"))
            for file in (tmp_path / "nowhere" / "friday.json", tmp_path)
        ),
    ]:
        assert_refused_in_a_sentence(ask("world", *arguments, server=served, stdin="{}"), *words)
    for world in ("../health", "a b", "", "%2e%2e"):
        done = ask("world", "save", "--world", world, server=served)

        assert done.exit_code in (1, 2), world
        assert (isinstance(done.exception, SystemExit), done.stdout) == (True, ""), world


def test_an_answer_of_another_program_is_recognized(tmp_path, httpserver: HTTPServer):
    httpserver.expect_request(re.compile("")).respond_with_data("<html>It works!</html>")
    page = ask("world", "save", str(tmp_path / "page.json"), "--url", httpserver.url_for(""))
    with serving("--control-port", str(free_port())) as server:
        elsewhere = ask("world", "save", server=server)
        assert told("world", "save", "--url", server.facts["control_url"])

    assert_refused_in_a_sentence(elsewhere, "404", "--control-port")
    assert_refused_in_a_sentence(page, "not as a sandbox's control API does")
    assert list(tmp_path.iterdir()) == []


# --- convert ----------------------------------------------------------------------------------


def convert(source: Path, target: Path, *options: str) -> Result:
    return ask("world", "convert", str(source), str(target), *options)


def fill(path: Path) -> dict[str, bytes]:
    """Have a server keep two worlds in this file; their snapshots."""
    with serving("--store", str(path), "--clock", NOW) as server:
        shells = [Shell(server), shell_in(server, "second")]
        for shell in shells:
            shell.paid()
        shells[1].add_endpoint()
        return {shell.world: shell.saved() for shell in shells}


def test_a_state_file_of_one_kind_becomes_one_of_the_other_and_back_again(tmp_path):
    one, other, again = (tmp_path / name for name in ("a.json", "b.db", "c.json"))
    before = fill(one)
    content = one.read_bytes()

    done = json.loads(convert(one, other, "--json").stdout)
    assert convert(other, again).exit_code == 0

    assert done["worlds"] == ["default", "second"]
    assert one.read_bytes() == again.read_bytes() == content
    refused = convert(one, other)
    assert_refused_in_a_sentence(refused, "b.db", "holds the worlds default, second", "name a file")
    with serving("--store", str(other), "--clock", NOW) as server:
        assert {id: Shell(server, id).saved() for id in before} == before
        in_use = convert(other, tmp_path / "d.json")

        assert_refused_in_a_sentence(in_use, "b.db", "another server uses", str(server.process.pid))
    assert not (tmp_path / "d.json").exists()


def test_a_file_that_cannot_be_converted_is_refused_and_leaves_no_target(tmp_path):
    (tmp_path / "a.json").write_text("{}", encoding="utf-8")
    (tmp_path / "a.txt").write_text("{}", encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "saved.json").write_text('{"file": {}, "accounts": {}}', encoding="utf-8")
    for source, target, *words in [
        ("gone.json", "b.db", "gone.json: there is no such file"),
        ("a.json", "b.txt", "b.txt", ".json", ".db"),
        ("a.txt", "b.db", "a.txt", ".json", ".db"),
        ("a.json", "a.json", "a.json: is the file to convert"),
        ("a.json", "nowhere/b.db", "nowhere", "there is no folder"),
        ("a.json", f"{'b' * 300}.db", "cannot be opened"),
        ("broken.json", "b.db", "broken.json", "cannot be read"),
        ("saved.json", "b.db", "saved.json", "cannot be read"),
    ]:
        assert_refused_in_a_sentence(convert(tmp_path / source, tmp_path / target), *words)
        made = {one.name for one in tmp_path.glob(f"{target}*")}
        assert source == target or made <= {f"{target}.lock"}
    misspelt = convert(Path("POSTGRESQL://me:it@db/x"), tmp_path / "b.db")
    assert_refused_in_a_sentence(misspelt, "a URL that begins with POSTGRESQL:// cannot be used")
