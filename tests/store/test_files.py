"""What every file that keeps worlds promises, of whatever kind it is."""

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.store.files.file_kinds import copy, open_file
from sandbox.store.files.json_file import JsonFile
from sandbox.store.files.port import RECORDS, Change, Document, StoreError
from sandbox.store.files.sqlite_file import SqliteFile
from tests.store.state_files import (
    contents,
    document,
    full_disk,
    ids,
    loaded,
    plain,
    put,
    write,
)

KINDS = {"state.json": JsonFile, "state.db": SqliteFile}
HUGE = (1_795_000_000_000 << 40) + 7


@pytest.fixture(params=KINDS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


# --- what is written --------------------------------------------------------------------------


def test_written_documents_are_read_again_in_the_order_of_their_numbers(path: Path):
    write(path, document("b", HUGE, amount=100, tip=None), document("a", 9, name="first"))
    write(path, document("z", HUGE + 1), document("d", 10), document("e", -1))
    write(path, document('i"d\n', 1), document("日本", 2), table="a.b c")
    write(path, document("a", 1, name="other"), world="other-1")

    assert loaded(path) == {
        "demo": {
            "accounts": [
                ("e", -1, {}),
                ("a", 9, {"name": "first"}),
                ("d", 10, {}),
                ("b", HUGE, {"amount": 100, "tip": None}),
                ("z", HUGE + 1, {}),
            ],
            "a.b c": [('i"d\n', 1, {}), ("日本", 2, {})],
        },
        "other-1": {"accounts": [("a", 1, {"name": "other"})]},
    }


TEXTS = [
    r'{"name":"Café Zürich 日本 🍣"}',
    r'{"name":"she said \"no\" and \\ left"}',
    '{"it\'s":"; DROP TABLE documents; --"}',
    r'{"name":"a\nb\tc\u0000d\u2028e"}',
    '{"amount":123456789012345678901234567890,"rate":0.1,"small":1e-9}',
    '{"b":1,"a":{"z":[],"y":{},"x":[{"b":[1,[2]],"a":null}]},"":true}',
    "{}",
]


def test_a_text_keeps_its_values_and_their_order(path: Path):
    write(path, *(Document(str(number), number, text) for number, text in enumerate(TEXTS)))

    with closing(open_file(path)) as file:
        found = file.load()["demo"]["accounts"]

    in_order = [json.loads(text, object_pairs_hook=list) for text in TEXTS]
    assert [json.loads(one.text, object_pairs_hook=list) for one in found] == in_order


def test_a_change_removes_documents_and_replaces_others(path: Path):
    write(path, document("a", 1, name="first"), document("b", 2), document("c", 3))
    write(path, document("m", 1), document("n", 2), table=RECORDS)
    puts = [("accounts", document("a", 5, name="after")), ("accounts", document("c", 0))]
    gone = [("accounts", "a"), ("accounts", "b"), (RECORDS, "m"), ("accounts", "-"), ("-", "a")]

    with closing(open_file(path)) as file:
        file.write([Change("demo", puts=puts, gone=gone)])

    assert loaded(path) == {
        "demo": {"accounts": [("c", 0, {}), ("a", 5, {"name": "after"})], RECORDS: [("n", 2, {})]}
    }


def test_a_world_that_begins_again_forgets_what_it_had_and_no_other_does(path: Path):
    for world in ("demo", "demo-2", "gone"):
        write(path, document("a", 1), document("b", 2), world=world)
        write(path, document("m", 1), world=world, table=RECORDS)

    with closing(open_file(path)) as file:
        file.write(
            [
                Change("demo", puts=[("accounts", document("c", 3))]),
                Change("demo", puts=[("terminals", document("t", 1))], is_replacement=True),
                Change("demo", puts=[("accounts", document("d", 4)), ("x", document("e", 5))]),
                Change("demo", gone=[("x", "e")]),
                Change("gone", is_replacement=True),
            ]
        )

    assert loaded(path) == {
        "demo": {"accounts": [("d", 4, {})], "terminals": [("t", 1, {})]},
        "demo-2": {"accounts": [("a", 1, {}), ("b", 2, {})], RECORDS: [("m", 1, {})]},
    }


# --- all or nothing ---------------------------------------------------------------------------


def test_on_a_full_disk_nothing_is_lost_and_the_same_changes_can_be_tried_again(path: Path):
    file = open_file(path)
    put(file, document("a", 1, name="before"))
    changes = [
        Change("demo", puts=[("accounts", document("a", 1, name="x" * 1000))], is_replacement=True),
        Change("demo", puts=[("accounts", document("b", 2, name="x" * 200_000))]),
    ]

    with full_disk(), pytest.raises(StoreError) as refused:
        file.write(changes)

    assert str(path) in str(refused.value)
    assert "cannot write the committed changes" in str(refused.value)
    assert "try again" in str(refused.value)
    assert plain(file) == {"demo": {"accounts": [("a", 1, {"name": "before"})]}}
    put(file, document("c", 3))
    assert [one.id for one in file.load()["demo"]["accounts"]] == ["a", "c"]
    file.write(changes)
    file.close()
    assert ids(path) == ["a", "b"]
    assert not [name for name in contents(path.parent) if name.endswith((".new", "-journal"))]


@pytest.mark.parametrize("room", [0, 4_096, 16_384])
def test_a_file_begun_on_a_full_disk_begins_again_once_there_is_room(path: Path, room: int):
    with full_disk(room), pytest.raises(StoreError, match=r"try again|restart"):
        write(path, document("a", 1, name="x" * 20_000))

    write(path, document("b", 2))
    with full_disk(0), pytest.raises(StoreError, match=r"try again|restart"):
        write(path, document("c", 3))
    assert ids(path) == ["b"]


# --- one server at a time ---------------------------------------------------------------------


def test_a_link_is_the_file_that_it_leads_to(path: Path):
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    real = elsewhere / path.name
    write(real, document("a", 1))
    path.symlink_to(real)

    with closing(open_file(path)) as file:
        put(file, document("b", 2))
        with pytest.raises(StoreError, match=f"another server uses it .process {os.getpid()}."):
            open_file(real)

    assert path.is_symlink()
    assert ids(real) == ["a", "b"]


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_a_new_file_is_for_its_owner_only_and_keeps_a_changed_mode(path: Path):
    write(path, document("a", 1))
    assert path.stat().st_mode & 0o077 == 0

    path.chmod(0o640)
    write(path, document("b", 2))
    assert path.stat().st_mode & 0o777 == 0o640


# --- what cannot be used ----------------------------------------------------------------------


def test_a_path_that_leads_to_no_file_is_refused(path: Path):
    (path.parent / "file").write_text("")
    (path.parent / f"folder{path.suffix}").mkdir()
    circle = path.parent / f"circle{path.suffix}"
    circle.symlink_to(circle)

    for name, why in {
        f"nowhere/{path.name}": r"there is no folder .*nowhere; create it first",
        f"file/{path.name}": "there is no folder",
        f"folder{path.suffix}": "it is not a file",
        circle.name: "name another file",
    }.items():
        with pytest.raises(StoreError, match=why):
            open_file(path.parent / name)

    assert not (path.parent / "nowhere").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_is_read_only_is_refused(path: Path):
    path.parent.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="is read-only"):
            open_file(path)
    finally:
        path.parent.chmod(0o700)


def unusable(path: Path, message: str) -> None:
    """The file is refused with such a message, stays as it is, and can be held by the next."""
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreError, match=message) as refused:
            _open_and_load(path)
        assert str(path) in str(refused.value)
    assert path.read_bytes() == before


def _open_and_load(path: Path) -> None:
    with closing(open_file(path)) as file:
        try:
            file.load()
        except StoreError:
            # What was not understood is not written over, either.
            with pytest.raises(StoreError):
                put(file, document("z", 1))
            raise


def test_a_damaged_file_is_refused_and_left_unchanged(path: Path):
    for table in ("accounts", RECORDS):
        write(path, *[document(str(n), n, name="x" * 400) for n in range(100)], table=table)
    whole = path.read_bytes()

    torn = [whole[: int(len(whole) * part)] for part in (0.02, 0.3, 0.5, 0.9, 0.999)]
    for content in (*torn, b"nonsense", b"\x00" * 5000, b"\xff\xfe{}", b"[1, 2]\n" * 99):
        path.write_bytes(content)
        unusable(path, "cannot be read.*the file was not changed")


# --- the last good copy -----------------------------------------------------------------------


def test_the_good_copy_is_the_file_as_it_was_opened_and_can_take_its_place(path: Path):
    write(path, document("a", 1))
    good = path.with_name(path.name + ".good")

    with closing(open_file(path)) as file:
        file.load()
        file.keep_good_copy()
        put(file, document("b", 2))
        copied = good.read_bytes()

    # One that cannot be used names its good copy, which stays.
    for content in (b"", b"nonsense"):
        good.write_bytes(copied)
        path.write_bytes(content)
        unusable(path, f"the last good copy is {good}")
        assert good.read_bytes() == copied
    path.write_bytes(copied)
    assert loaded(path) == {"demo": {"accounts": [("a", 1, {})]}}


def test_a_good_copy_that_cannot_be_written_is_reported(path: Path):
    write(path, document("a", 1))
    good = path.with_name(path.name + ".good")
    good.unlink(missing_ok=True)
    good.mkdir()

    with closing(open_file(path)) as file:
        file.load()
        with pytest.raises(StoreError, match="cannot keep the good copy"):
            file.keep_good_copy()
        put(file, document("b", 2))

    assert list(path.parent.glob("*.new*")) == []
    assert ids(path)[:1] == ["a"]


# --- opening and copying ----------------------------------------------------------------------


def test_the_end_of_its_name_says_what_kind_a_file_is(tmp_path: Path):
    for name in ("state", "state.txt", ".json", "state.json.good"):
        with pytest.raises(StoreError, match=r"\.json .*\.db "):
            open_file(tmp_path / name)
    assert list(tmp_path.iterdir()) == []

    for name in ("state.DB", "state.sqlite", "state.sqlite3", "state.JSON"):
        with closing(open_file(tmp_path / name)) as file:
            assert file.name.startswith(name)


@pytest.mark.parametrize("target", KINDS)
def test_a_file_can_be_copied_into_one_of_any_kind_that_holds_no_worlds(path: Path, target: str):
    into = path.parent / f"copy-{target}"
    write(path, document("b", HUGE, name="b"), document("a", 1, name="é"))
    write(path, document("m", HUGE, said="once"), table=RECORDS)
    write(path, document("c", 1), world="quiet")

    with closing(open_file(path)) as one, closing(open_file(into)) as other:
        copy(one, other)
        with pytest.raises(StoreError, match="it holds the worlds demo, quiet; name a file"):
            copy(one, other)

    assert loaded(into) == loaded(path)
