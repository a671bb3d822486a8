"""A damaged document of a state file: it is refused at the start, in words."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.app import build
from sandbox.settings import Settings
from sandbox.store.files.port import StoreError
from tests.state.mutating import a_looping_sandbox
from tests.support.payments import paid


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


def test_a_file_is_looked_through_and_refused_at_the_start(kept: tuple[Path, str, str]):
    path, _, _ = kept

    with pytest.raises(StoreError, match=r"the document .* is damaged"):
        build(Settings(store=path))
