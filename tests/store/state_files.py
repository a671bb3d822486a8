"""What the tests of state files share."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sandbox.store.files.file_kinds import open_file
from sandbox.store.files.port import Change, Document, StateFile, fields_of

PROJECT = Path(__file__).parents[2]


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
def running(program: str, arguments: Sequence[object]) -> Iterator[subprocess.Popen[str]]:
    """Another process with this program; killed at the end as `kill -9` does."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


HOLDING = """
import sys
from pathlib import Path
from sandbox.store.files.file_kinds import open_file
file = open_file(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""
