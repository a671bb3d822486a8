"""A letter that changed in `state.db` is seen when the file is opened, or when it is read."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.store.files import sqlite_file
from sandbox.store.files.opening import open_file
from sandbox.store.files.port import MESSAGES, RECORDS, Document, StateFile, StoreError
from sandbox.store.files.sqlite_file import SqliteFile
from tests.properties import IS_THOROUGH, examples
from tests.store.state_files import document, kept, put, write

CLAIMS = '[["used_event","a","e"]]'
DAMAGED = "is damaged"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with something in each table."""
    path = tmp_path / "state.db"
    write(path, document("a", 1, name="Café"), document("b", 2, name="second"))
    write(path, Document("t", 7, '{"event_id":"e"}', CLAIMS), table="transactions")
    write(path, document("m", 1, event_type="sale"), table=MESSAGES)
    write(path, document("m", 1, said="once"), table=RECORDS)
    return path


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(statement).rowcount == 1, statement
        database.commit()


CHANGES = [
    "UPDATE documents SET text = replace(text, 'second', 'secund') WHERE id = 'b'",
    "UPDATE documents SET number = '3' WHERE id = 'b'",
    "UPDATE documents SET id = 'c' WHERE id = 'b'",
    "UPDATE documents SET tbl = 'terminals' WHERE id = 'b'",
    "UPDATE documents SET world = 'dema' WHERE id = 'b'",
    "UPDATE documents SET claims = replace(claims, 'e', 'f') WHERE id = 't'",
    "UPDATE documents SET digest = digest + 1 WHERE id = 'a'",
]
LATER = [
    "UPDATE documents SET text = replace(text, 'e', 'f') WHERE id = 't'",
    "UPDATE records SET text = replace(text, 'once', 'twice')",
    "UPDATE messages SET text = replace(text, 'sale', 'sail')",
    "UPDATE messages SET id = 'n'",
]


@pytest.mark.parametrize("statement", [*CHANGES, *LATER])
def test_a_letter_that_changed_is_seen_when_the_file_is_opened(path: Path, statement: str):
    change(path, statement)

    with closing(open_file(path)) as file, pytest.raises(StoreError, match=DAMAGED) as refused:
        file.load()

    assert str(refused.value).startswith(f"{path}: cannot be read: the document '")


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is too large to be looked through."""
    monkeypatch.setattr(sqlite_file, "CHECKED_BYTES_MAX", -1)


@pytest.mark.parametrize("statement", CHANGES)
def test_in_a_large_file_what_finds_documents_is_looked_at_first(
    path: Path, large: None, statement: str
):
    change(path, statement)

    with closing(open_file(path)) as file, pytest.raises(StoreError, match=DAMAGED):
        file.load()


@pytest.mark.parametrize("statement", LATER)
def test_in_a_large_file_texts_are_looked_at_when_they_are_read(
    path: Path, large: None, statement: str
):
    change(path, statement)

    with closing(open_file(path)) as file:
        file.load()
        with pytest.raises(StoreError, match=DAMAGED):
            _read_all(file)


def _read_all(file: StateFile) -> None:
    file.read("demo", "transactions", "t")
    file.read("demo", RECORDS, "m")
    list(file.load()["demo"][MESSAGES])
    list(file.records("demo"))


def test_a_file_of_a_version_without_digests_opens_and_has_them_from_then_on(tmp_path: Path):
    old = kept(tmp_path / "old.db", 1)
    with closing(open_file(old)) as file:
        file.load()
    write(old, document("new", 9, name="new"), world="demo")
    write(old, document("m-new", 9, event_type="sale"), world="demo", table=MESSAGES)
    write(old, document("m-new", 9, said="new"), world="demo", table=RECORDS)

    with closing(sqlite3.connect(old)) as database:
        for table in ("documents", "records", "messages"):
            has = dict(database.execute(f"SELECT id, digest IS NOT NULL FROM {table}"))
            assert [id for id, is_there in has.items() if is_there] in (["new"], ["m-new"])
    change(old, "UPDATE documents SET text = '{}' WHERE id = 'new'")
    with closing(open_file(old)) as file, pytest.raises(StoreError, match=DAMAGED):
        file.load()


def test_a_secret_in_which_a_letter_changed_is_refused(path: Path):
    with closing(SqliteFile(path)) as file:
        file.keep_secret(b"s" * 32)
        put(file, document("c", 3))
    with closing(SqliteFile(path)) as file:
        assert file.secret == b"s" * 32
    change(path, "UPDATE meta SET value = replace(value, '73', '74') WHERE name = 'secret'")

    with pytest.raises(StoreError, match=r"the secret of the server .* is damaged"):
        SqliteFile(path)


def everything(path: Path) -> object:
    with closing(open_file(path)) as file:
        worlds = file.load()
        tables = {
            (world, table): [
                (one.id, one.number, one.unique_values, one.text or file.read(world, table, one.id))
                for one in documents
            ]
            for world, its in worlds.items()
            for table, documents in its.items()
        }
        return tables, {world: sorted(file.records(world)) for world in worlds}


@pytest.mark.hypothesis
@pytest.mark.parametrize("seed", range(4 if IS_THOROUGH else 1))
def test_a_byte_that_flipped_anywhere_is_seen_or_does_not_matter(path: Path, seed: int):
    for number in range(60):
        write(path, document(f"{number}", 10 + number, name="x" * 300))
        write(path, document(f"{number}", 10 + number, said="x" * 300), table=RECORDS)
    whole, expected = path.read_bytes(), everything(path)
    luck, refused = random.Random(seed), 0
    flips = examples(300)

    for _ in range(flips):
        at, bit = luck.randrange(len(whole)), 1 << luck.randrange(8)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)
        try:
            found = everything(path)
        except StoreError:
            refused += 1
        else:
            assert found == expected, (at, bit)

    assert flips // 4 < refused < flips
