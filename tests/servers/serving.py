"""How tests start several servers on one database."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.state.saved_worlds import SavedWorld, command, serving_with


@contextlib.contextmanager
def serving(url: str, folder: Path, name: str, *options: str) -> Iterator[SavedWorld]:
    """A server of that name on that database, ready; ended when the block ends."""
    arguments = command(url, "--name", name, *options)
    with serving_with(arguments, folder / f"{name}.log") as server:
        yield server
