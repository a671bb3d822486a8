"""A file has one server, under whatever name it is opened, and whatever became of its lock file."""

import json
import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.store.files.file_kinds import open_file
from sandbox.store.files.port import StoreError
from tests.store.state_files import document, full_disk, ids, loaded, put, write

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="locks of what was opened")


@pytest.fixture(params=["state.json", "state.db"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


def linked(path: Path) -> Path:
    """Another name of the file, in a folder of its own."""
    other = path.parent / "other" / path.name
    other.parent.mkdir()
    os.link(path, other)
    return other


def without_lock(path: Path) -> Path:
    path.with_name(path.name + ".lock").unlink()
    return path


# --- locks ------------------------------------------------------------------------------------


@ON_LINUX
def test_a_file_in_use_is_refused_under_every_name_and_without_its_lock_file(path: Path):
    write(path, document("a", 1))
    with closing(open_file(path)):
        with pytest.raises(StoreError, match=f"another server uses it .process {os.getpid()}."):
            open_file(path)
        for name in (linked(path), without_lock(path)):
            for _ in range(2):
                with pytest.raises(StoreError, match="another server uses it"):
                    open_file(name)

    open_file(path).close()


@ON_LINUX
def test_a_file_that_was_rewritten_is_refused_as_well(path: Path):
    with closing(open_file(path)) as file:
        put(file, document("a", 1))
        put(file, document("b", 2))

        with pytest.raises(StoreError, match="another server uses it"):
            open_file(without_lock(path))

        put(file, document("c", 3))

    assert ids(path) == ["a", "b", "c"]


# --- what becomes of the file meanwhile -------------------------------------------------------


@pytest.mark.parametrize("became", ["removed", "replaced", "moved", "without its log"])
def test_nothing_is_acknowledged_that_goes_into_a_file_without_a_name(tmp_path: Path, became: str):
    path = tmp_path / "state.db"
    with closing(open_file(path)) as file:
        put(file, document("a", 1))
        if became == "removed":
            path.unlink()
        elif became == "replaced":
            write(tmp_path / "new.db", document("z", 1))
            (tmp_path / "new.db").replace(path)
        elif became == "moved":
            path.rename(tmp_path / "elsewhere.db")
        else:
            (tmp_path / "state.db-wal").unlink()

        with pytest.raises(StoreError, match=r"was removed.*stop this server"):
            put(file, document("b", 2))

        if became == "moved":
            (tmp_path / "elsewhere.db").rename(path)
            put(file, document("b", 2))

    if became == "moved":
        assert ids(path) == ["a", "b"]


def test_an_edit_of_a_file_in_use_is_not_overwritten(tmp_path: Path):
    path = tmp_path / "state.json"
    with closing(open_file(path)) as file:
        put(file, document("a", 1, name="ours"))
        edited = json.loads(path.read_bytes())
        edited["demo.accounts"]["1"]["name"] = "theirs"
        path.write_text(json.dumps(edited), encoding="utf-8")

        with pytest.raises(StoreError, match="another program has changed it"):
            put(file, document("b", 2))

    assert loaded(path) == {"demo": {"accounts": [("a", 1, {"name": "theirs"})]}}


def test_a_removed_json_file_is_written_whole_again_and_a_database_is_not(tmp_path: Path):
    path = tmp_path / "state.json"
    with closing(open_file(path)) as file:
        put(file, document("a", 1))
        path.unlink()
        put(file, document("b", 2))
        path.unlink()
        write(tmp_path / "another.json", document("z", 1))
        (tmp_path / "another.json").rename(path)

        with pytest.raises(StoreError, match="another program has changed it"):
            put(file, document("c", 3))

    assert ids(path) == ["z"]


def test_a_replacement_that_failed_leaves_the_file_ours(tmp_path: Path):
    path = tmp_path / "state.json"
    with closing(open_file(path)) as file:
        put(file, document("a", 1))
        with full_disk(0), pytest.raises(StoreError, match="try again"):
            put(file, document("b", 2))
        # What was not written is not written with what comes next.
        path.unlink()
        put(file, document("c", 3))
        # Root may open every folder.
        if os.geteuid() != 0:
            tmp_path.chmod(0o300)
            with pytest.raises(StoreError, match="Permission denied"):
                put(file, document("b", 2))
            tmp_path.chmod(0o700)
        put(file, document("d", 4))

    assert ids(path) == ["a", "c", "d"]
