"""The kinds of state files, chosen by the suffix of the name, and copying one into another."""

import re
from pathlib import Path
from typing import Final

from sandbox.store.files.json_file import JsonFile
from sandbox.store.files.port import Change, StateFile, StoreError
from sandbox.store.files.sqlite_file import SqliteFile

JSON: Final = (".json",)
SQLITE: Final = (".db", ".sqlite", ".sqlite3")


def open_file(path: Path) -> StateFile:
    """Open the state file at this path, which need not exist yet. Raises StoreError."""
    suffix = path.suffix.lower()
    if suffix in JSON:
        return JsonFile(path)
    if suffix in SQLITE:
        return SqliteFile(path)
    # A misspelt URL may contain a password.
    shown = re.sub(".*@", "***@", str(path))
    raise StoreError(
        f"{shown}: cannot tell what kind of file this is; name one that ends in .json (to read and "
        f"edit) or in .db (for many documents; {' and '.join(SQLITE[1:])} are the same)"
    )


def copy(source: StateFile, target: StateFile) -> None:
    """Copy the content of a file into an empty one, all or nothing.

    Raises StoreError, also if the target has worlds.
    """
    worlds = source.load()
    if there := target.load():
        raise StoreError(
            f"{target.name}: cannot copy {source.name} into it: it holds the worlds "
            f"{', '.join(sorted(there))}; name a file that is not there yet"
        )
    # The keys of the worlds are derived from the secret.
    target.keep(**{name: source.head[name] for name in ("secret", "tokens") if name in source.head})
    puts = {
        world: [(table, one) for table, documents in tables.items() for one in documents]
        for world, tables in worlds.items()
    }
    target.write([Change(world, puts[world], is_replacement=True) for world in worlds])
