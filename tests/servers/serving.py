"""How tests start several servers on one database."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.servers.postgres import Postgres
from tests.state.saved_worlds import SavedWorld, command, serving_with


@contextlib.contextmanager
def serving(url: str, folder: Path, name: str, *options: str) -> Iterator[SavedWorld]:
    """A server of that name on that database, ready; ended when the block ends."""
    arguments = command(url, "--name", name, *options)
    with serving_with(arguments, folder / f"{name}.log") as server:
        yield server


class Database:
    """A database in place of the file that `serving_saved` takes: its log is in that folder."""

    suffix = ".postgres"

    def __init__(self, postgres: Postgres, folder: Path) -> None:
        self._folder = folder
        self._url = postgres.new_database()
        self.name = "state.postgres"

    def __str__(self) -> str:
        return self._url

    def with_name(self, name: str) -> Path:
        return self._folder / name
