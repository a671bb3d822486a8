"""A damaged document of a large file: said in words when it is read, and once on the log."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.app import build
from sandbox.settings import Settings
from sandbox.store.files import sqlite_file
from sandbox.store.files.port import StoreError
from tests.state.mutating import a_looping_sandbox
from tests.support.payments import paid

WORDS = "A part of the state cannot be read."


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Path, str, str]:
    """A file with two payments, of which the second is damaged, as is all that messages say."""
    path = tmp_path / "state.db"
    with a_looping_sandbox(store=path) as sandbox:
        good, damaged = (str(paid(sandbox)["transaction_id"]) for _ in range(2))
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "UPDATE documents SET text = replace(text, '\"captured\"', '\"capturef\"') "
            "WHERE id = ?",
            (damaged,),
        )
        database.execute("UPDATE records SET text = replace(text, '1000', '1001')")
        database.commit()
    return path, good, damaged


def test_it_is_refused_in_words_and_logged_once(
    kept: tuple[Path, str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    path, good, damaged = kept
    monkeypatch.setattr(sqlite_file, "CHECKED_BYTES_MAX", -1)
    with a_looping_sandbox(store=path) as sandbox:
        for _ in range(3):
            answers = [
                sandbox.ask("GET", f"/v1/transactions/{id}", key="psp") for id in (good, damaged)
            ]
            shown = sandbox.control("GET", "/worlds/default/messages")

        assert [answer.status for answer in answers] == [200, 500]
        assert answers[1].json()["detail"] == WORDS
        assert (shown.status, shown.json()["error"]) == (500, "not_read")
        assert str(path) in shown.json()["details"]
        # What is not damaged goes on.
        paid(sandbox)
    said = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(said) == 2 == len({record.getMessage() for record in said})
    assert all("is damaged" in record.getMessage() for record in said)
    assert [record for record in said if record.exc_info] == []


def test_a_small_file_is_looked_through_and_refused_at_the_start(kept: tuple[Path, str, str]):
    path, _, _ = kept

    with pytest.raises(StoreError, match=r"the document .* is damaged"):
        build(Settings(store=path))
