"""Opening a file by its name, and copying one into another."""

from pathlib import Path
from typing import Final

from sandbox.store.files.port import RECORDS, TAKEN_IDS, Change, Document, StateFile, StoreError

JSON: Final = (".json",)
SQLITE: Final = (".db", ".sqlite", ".sqlite3")


def open_file(path: Path) -> StateFile:
    """The state file at this path, ready to load; it need not exist yet. Raises StoreError.

    The modules of a kind of file are imported only when one is opened.
    """
    suffix = path.suffix.lower()
    if suffix in JSON:
        from sandbox.store.files.json_file import JsonFile

        return JsonFile(path)
    if suffix in SQLITE:
        from sandbox.store.files.sqlite_file import SqliteFile

        return SqliteFile(path)
    raise StoreError(
        f"{path}: cannot tell what kind of file this is; name one that ends in .json (to read and "
        f"edit) or in .db (for many documents; {' and '.join(SQLITE[1:])} are the same)"
    )


def copy(source: StateFile, target: StateFile) -> None:
    """Write everything that one file has into another that is empty, all or nothing.

    Raises StoreError, also when the target holds worlds.
    """
    worlds = source.load()
    if there := target.load():
        raise StoreError(
            f"{target.name}: cannot copy {source.name} into it: it holds the worlds "
            f"{', '.join(sorted(there))}; name a file that is not there yet"
        )
    changes = []
    for world, tables in worlds.items():
        puts: list[tuple[str, Document]] = [
            (table, _whole(source, world, table, document))
            for table, documents in tables.items()
            # The draw count of a file that people edit is not trusted, and may be missing.
            if table != TAKEN_IDS or not target.is_for_people
            for document in documents
        ]
        puts += [(RECORDS, document) for document in source.records(world)]
        if source.is_for_people and not target.is_for_people:
            puts.append((TAKEN_IDS, Document(TAKEN_IDS, 0, "{}")))
        changes.append(Change(world, puts=puts, anew=True))
    if source.secret:
        # The keys of the worlds are made of it.
        target.keep_secret(source.secret)
    if source.tokens:
        target.keep_tokens(source.tokens)
    target.write(changes)


def _whole(source: StateFile, world: str, table: str, document: Document) -> Document:
    """The document with its text, which a load may leave out."""
    if document.text:
        return document
    return document._replace(text=source.read(world, table, document.id) or "{}")
