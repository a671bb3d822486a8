"""What is special about a file in JSON: people and TinyDB read it, and people write it."""

import json
import logging
from contextlib import closing
from pathlib import Path

import pytest
from tinydb import TinyDB, where

from sandbox import __version__
from sandbox.store.files import json_file
from sandbox.store.files.json_file import JsonFile
from sandbox.store.files.port import FORMAT, RECORDS, Change, StoreError
from tests.store.state_files import contents, document, loaded, put, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


def test_tinydb_opens_the_file_and_finds_the_documents(path: Path):
    write(path, document("b", 7, name="second"), document("a", 3, name="first"))
    write(path, document("m", 1, said="é"), table=RECORDS)

    with TinyDB(path, access_mode="r", encoding="utf-8") as database:
        accounts = database.table("demo.accounts")

        assert database.tables() == {"file", "demo.accounts", "demo.records"}
        assert [(one.doc_id, one["name"]) for one in accounts] == [(3, "first"), (7, "second")]
        found = accounts.get(where("_id") == "b")
        assert found == {"_id": "b", "name": "second"}
        assert database.table("demo.records").get(doc_id=1) == {"_id": "m", "said": "é"}


def test_edited_added_and_removed_documents_are_read(path: Path):
    write(path, document("a", 1, amount=100, tip=5))
    text = path.read_text(encoding="utf-8")

    path.write_text("\ufeff" + text.replace('"amount": 100', '"amount": 2500'), encoding="utf-8")

    assert loaded(path) == {"demo": {"accounts": [("a", 1, {"amount": 2500, "tip": 5})]}}

    content = json.loads(path.read_bytes().decode("utf-8-sig"))
    del content["demo.accounts"]["1"]
    content["demo.accounts"]["9"] = {"name": "new", "_id": "c"}
    path.write_text(json.dumps(content), encoding="utf-8")
    assert loaded(path) == {"demo": {"accounts": [("c", 9, {"name": "new"})]}}


ABOUT = f'"file": {{"1": {{"program": "uat-sandbox", "format": {FORMAT}}}}}'


BADLY_EDITED = {
    "": "it is not JSON: EOF while parsing a value at line 1 column 0",
    '{\n  "file": {},\n  "a": {"1" {}}\n}': "it is not JSON: .* at line 3 column 13",
    "[]": "it is not an object of tables",
    "{}": "table 'file' does not say that uat-sandbox wrote it",
    '{"file": {"1": {"program": "another", "format": 2}}}': "does not say that uat-sandbox",
    **{
        f'{{"file": {{"1": {{"program": "uat-sandbox", "format": {written}}}}}}}': (
            f"it has format {read}, .* reads? format {FORMAT}; .*name another file"
        )
        for written, read in ((FORMAT - 1, FORMAT - 1), (FORMAT + 1, FORMAT + 1), ("true", "True"))
    },
    '{"file": {"1": {"program": "uat-sandbox"}}}': "it has format None",
    "[" * 100_000: "it is not JSON: recursion limit exceeded",
    '{"a": 1' + "0" * 5000 + "}": "it is not JSON: number out of range",
} | {
    f"{{{ABOUT}, {table}}}": message
    for table, message in {
        '"demo.accounts": []': "table 'demo.accounts' is not an object of doc",
        '"d.a": {"1": 7}': "table 'd.a', document '1' is not an object",
        '"d.a": {"x": {}}': "table 'd.a': 'x' is not the number of a document",
        '"d.a": {"01": {}}': "table 'd.a': '01' is not the number",
        '"d.a": {"1": {}}': "table 'd.a', document '1': _id is not a text",
        '"accounts": {}': "table 'accounts' is not named <world>.<table>",
        '"Demo.accounts": {}': "is not named <world>.<table>",
        '"d.a": {}, "d.a": {}': 'the key "d.a" occurs more than once',
        '"d.a": {"7": {"_id": "x", "in": [{"b": 1, "b": 2}]}}': 'the key "b" occurs more than once',
        '"d.a": {"7": {}, "7": {}}': 'the key "7" occurs more than once',
        '"d.a": {"7": {"_id": "x", "amount": NaN}}': "it is not JSON: expected value at line 1",
        '"d.a": {"7": {"_id": "x"}, "8": {"_id": "x"}}': "table 'd.a': _id 'x' appears twice",
    }.items()
}


def test_a_file_that_was_edited_badly_is_refused_with_the_place(path: Path):
    texts = {text.encode(): message for text, message in BADLY_EDITED.items()}
    for content, message in (texts | {b'{\n  "caf\xe9": {}\n}': r"not UTF-8 .byte 8."}).items():
        path.write_bytes(content)

        with closing(JsonFile(path)) as file, pytest.raises(StoreError, match=message) as refused:
            file.load()

        assert str(refused.value).startswith(f"{path}: cannot be read: ")
        assert path.read_bytes() == content


def test_documents_that_could_not_be_read_again_are_not_written(path: Path):
    write(path, document("a", 1))
    changes = [Change("demo", puts=[("a", document("x", 1)), ("a", document("y", 1))])]

    with closing(JsonFile(path)) as file, pytest.raises(StoreError, match="already exists"):
        file.write(changes)

    assert loaded(path) == {"demo": {"accounts": [("a", 1, {})]}}


def test_a_file_that_a_killed_server_was_writing_is_not_in_the_way(path: Path):
    write(path, document("a", 1))
    path.with_name("state.json.new").write_bytes(b'{"file": {"1"')

    write(path, document("b", 2))

    assert len(loaded(path)["demo"]["accounts"]) == 2
    assert sorted(contents(path.parent)) == ["state.json"]


def test_a_json_file_of_many_documents_recommends_sqlite_once(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(json_file, "DOCUMENTS_MAX", 3)
    caplog.set_level(logging.WARNING, "sandbox.store")
    with closing(JsonFile(path)) as file:
        put(file, document("1", 1), document("2", 2), document("3", 3))
        assert caplog.messages == []

        put(file, document("m", 1), table=RECORDS)
        put(file, document("n", 2), table=RECORDS)

    [said] = caplog.messages
    assert "has 4 documents" in said
    assert "`sandbox world convert`" in said


def test_the_last_good_copy_is_there_before_the_second_start(path: Path):
    good = path.with_name("state.json.good")
    with closing(JsonFile(path)) as file:
        put(file, document("a", 1))
        put(file, document("b", 2))
        killed = good.read_bytes()
    stopped = good.read_bytes()

    assert stopped == path.read_bytes()
    path.write_bytes(killed)
    assert loaded(path) == {"demo": {"accounts": [("a", 1, {})]}}


def test_the_file_is_written_in_a_readable_order_however_its_documents_came(path: Path):
    write(path, document("b", 7, name="second"))
    write(path, document("a", 3, tip=None))

    head = {"program": "uat-sandbox", "format": FORMAT, "version": __version__}
    accounts = {"3": {"_id": "a", "tip": None}, "7": {"_id": "b", "name": "second"}}
    written = json.dumps({"file": {"1": head}, "demo.accounts": accounts}, indent=2)
    assert path.read_text(encoding="utf-8") == written + "\n"
