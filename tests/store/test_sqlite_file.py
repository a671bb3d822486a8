"""What is special about a file in SQLite."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.store.files import sqlite_file
from sandbox.store.files.port import FORMAT, RECORDS, Change, Document, StoreError
from sandbox.store.files.sqlite_file import APPLICATION, SqliteFile
from tests.store.state_files import contents, document, loaded, put, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def test_commits_go_into_a_write_ahead_log_which_is_gone_when_the_file_is_closed(path: Path):
    with closing(SqliteFile(path)) as file:
        put(file, document("a", 1))

        assert path.with_name("state.db-wal").stat().st_size > 0
        with closing(sqlite3.connect(path)) as reader:
            assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            query = "SELECT id, body FROM documents WHERE world = 'demo'"
            assert reader.execute(query).fetchall() == [("a", "{}")]

    assert list(contents(path.parent)) == ["state.db"]


def test_an_empty_new_file_is_taken_for_a_new_store(path: Path):
    """As it is when a process was killed while it made it, and as `mktemp` leaves it."""
    path.write_bytes(b"")

    write(path, document("a", 1))

    assert loaded(path) == {"demo": {"accounts": [("a", 1, {})]}}


def test_a_file_that_is_torn_or_lost_beside_its_log_is_refused(path: Path):
    write(path, *[document(f"before-{n}", n, name="x" * 500) for n in range(500)])
    log = path.with_name("state.db-wal")
    with closing(SqliteFile(path)) as file:
        put(file, *[document(str(n), n, name="x" * 500) for n in range(500)])
        # As it is when the process is killed now.
        whole, logged = path.read_bytes(), log.read_bytes()
    assert logged

    for size, why in ((50_000, r"cannot be read: .*(damaged|malformed)"), (0, "content is gone")):
        path.write_bytes(whole[:size])
        log.write_bytes(logged)
        with pytest.raises(StoreError, match=why):
            SqliteFile(path)


def test_the_database_of_another_program_or_format_is_refused_and_unchanged(path: Path):
    for statements, why in (
        ("CREATE TABLE recipes (name)", "a database that uat-sandbox did not create"),
        (
            "CREATE TABLE meta (name, value); CREATE TABLE documents (place)",
            r"it has an earlier format.*name another file",
        ),
        *(
            (
                f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {other}",
                f"it has format {other}, .* reads? format {FORMAT}; .*name another file",
            )
            for other in (FORMAT - 1, FORMAT + 1)
        ),
    ):
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as database:
            database.executescript(statements)
        before = path.read_bytes()

        with pytest.raises(StoreError, match=why):
            SqliteFile(path)

        assert contents(path.parent) == {"state.db": before}


def test_nan_is_refused_as_a_number(path: Path):
    write(path, document("b", 1))
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE documents SET number = 'many' WHERE id = 'b'")
        database.commit()

    with closing(SqliteFile(path)) as file, pytest.raises(StoreError, match="cannot be read"):
        file.load()


def test_another_program_that_writes_is_waited_for_and_named_and_does_not_stop_the_server(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sqlite_file, "WAITS_MS", 1)
    with closing(SqliteFile(path)) as file, closing(sqlite3.connect(path)) as other:
        put(file, document("a", 1))
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE notes (text)")

        with pytest.raises(StoreError, match="another program is writing to it"):
            put(file, document("b", 2))

        other.commit()
        put(file, document("b", 2))

    assert len(loaded(path)["demo"]["accounts"]) == 2


def test_documents_that_sqlite_cannot_store_are_refused_whole(path: Path):
    with closing(SqliteFile(path)) as file:
        half = Document("b", 2, '{"name":"\ud83c"}')
        change = Change("demo", puts=[("accounts", document("a", 1)), (RECORDS, half)])

        with pytest.raises(StoreError, match="cannot write"):
            file.write([change])

        assert file.load() == {}


def test_no_good_copy_is_made_of_a_large_file(path: Path, monkeypatch: pytest.MonkeyPatch):
    write(path, document("a", 1))
    size = path.stat().st_size

    for limit, is_kept in ((size - 1, False), (size, True)):
        monkeypatch.setattr(sqlite_file, "GOOD_COPY_BYTES_MAX", limit)
        with closing(SqliteFile(path)) as file:
            file.load()
            file.keep_good_copy()
        assert path.with_name(path.name + ".good").exists() == is_kept
