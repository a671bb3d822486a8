"""A snapshot or state file of another format is refused in a sentence that says what to do."""

import json
import re
import sqlite3
from contextlib import closing

import pytest

from sandbox.app import build
from sandbox.settings import Settings
from sandbox.store.files.port import FORMAT, StoreError
from tests.driving import InProcess
from tests.state.looping import a_looping_sandbox

OTHERS = [0, FORMAT - 1, FORMAT + 1, "1", None]


@pytest.mark.parametrize("found", OTHERS)
def test_a_snapshot_of_another_format_is_refused(found):
    sandbox = InProcess(build(Settings()))
    document = sandbox.ask("GET", "/_sandbox/worlds/default/snapshot").json()
    document["file"]["1"]["format"] = found

    answer = sandbox.control("PUT", "/worlds/default/snapshot", document)

    assert (answer.status, answer.json()["error"]) == (400, "not_restored")
    assert f"of format {found!r}" in answer.json()["message"]
    assert "save the world again with this version" in answer.json()["message"]


@pytest.mark.parametrize("found", OTHERS)
def test_a_json_file_of_another_format_is_refused_and_left_as_it_is(tmp_path, found):
    path = tmp_path / "state.json"
    with a_looping_sandbox(store=path):
        pass
    document = json.loads(path.read_bytes())
    document["file"]["1"]["format"] = found
    path.write_text(edited := json.dumps(document), encoding="utf-8")

    with pytest.raises(StoreError, match=f"^{re.escape(str(path))}: .*of format {found!r}.*name a"):
        build(Settings(store=path))

    assert path.read_text(encoding="utf-8") == edited


@pytest.mark.parametrize("found", [0, FORMAT - 1, FORMAT + 1])
def test_a_database_of_another_format_is_refused_and_left_as_it_is(tmp_path, found):
    path = tmp_path / "state.db"
    with a_looping_sandbox(store=path):
        pass
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {found}")
    before = path.read_bytes()

    with pytest.raises(StoreError, match=f"^{re.escape(str(path))}: .*of format {found}.*name a"):
        build(Settings(store=path))

    assert path.read_bytes() == before


def test_a_database_of_the_first_formats_is_refused(tmp_path):
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE meta (name, value); CREATE TABLE documents (place);")

    with pytest.raises(StoreError, match=r"it is of an earlier format.*name another file"):
        build(Settings(store=path))
