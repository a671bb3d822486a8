"""A snapshot or state file of another format is refused in a sentence that says what to do."""

import sqlite3
from contextlib import closing

import pytest

from sandbox.app import build
from sandbox.settings import Settings
from sandbox.store.files.port import FORMAT, StoreError
from tests.driving import InProcess

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


def test_a_database_of_the_first_formats_is_refused(tmp_path):
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE meta (name, value); CREATE TABLE documents (place);")

    with pytest.raises(StoreError, match=r"it is of an earlier format.*name another file"):
        build(Settings(store=path))
