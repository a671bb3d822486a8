"""What the tests of state files share."""

import json
import resource
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sandbox.store.files.file_kinds import open_file
from sandbox.store.files.port import Change, Document, StateFile, fields_of


def document(id: str, number: int = 1, /, **fields: Any) -> Document:
    return Document(id, number, json.dumps(fields, ensure_ascii=False, separators=(",", ":")))


def put(file: StateFile, *documents: Document, world: str = "demo", table: str = "accounts"):
    file.write([Change(world, puts=[(table, one) for one in documents])])


def write(path: Path, *documents: Document, world: str = "demo", table: str = "accounts") -> None:
    """Open, write, close."""
    with closing(open_file(path)) as file:
        put(file, *documents, world=world, table=table)


def loaded(path: Path) -> dict[str, dict[str, list[tuple[str, int, Any]]]]:
    """What a file that is opened anew has: by world and table, ids, numbers and values."""
    with closing(open_file(path)) as file:
        return plain(file)


def ids(path: Path) -> list[str]:
    return [id for id, _, _ in loaded(path)["demo"]["accounts"]]


def plain(file: StateFile) -> dict[str, dict[str, list[tuple[str, int, Any]]]]:
    return {
        world: {
            table: [(one.id, one.number, fields_of(one)) for one in documents]
            for table, documents in tables.items()
        }
        for world, tables in file.load().items()
    }


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but locks and good copies."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.suffix not in (".lock", ".good")
    }


@contextmanager
def full_disk(room: int = 100_000) -> Iterator[None]:
    """No file may grow beyond so many bytes, as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
