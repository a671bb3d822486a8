"""The documents of `state.db` as migrations see them, and back."""

import json
import sqlite3
from typing import Final

from sandbox.store.files.migrations import Plain, World
from sandbox.store.files.port import MESSAGES, RECORDS, Document

_ALL: Final = (
    "SELECT world, tbl, id, number, text FROM documents UNION ALL "
    "SELECT world, ?, id, number, text FROM records UNION ALL "
    "SELECT world, ?, id, number, text FROM messages"
)


def plain_worlds(database: sqlite3.Connection) -> dict[str, World]:
    """Everything that a file has. Raises sqlite3.Error and ValueError."""
    worlds: dict[str, World] = {}
    for world, table, id, number, text in database.execute(_ALL, (RECORDS, MESSAGES)):
        found = worlds.setdefault(world, {}).setdefault(table, [])
        found.append(Plain(id, int(number), json.loads(text)))
    return worlds


def puts_of(world: World) -> list[tuple[str, Document]]:
    """The documents of a migrated world; the caller works their claims out."""
    return [
        (table, Document(one.id, one.number, json.dumps(one.fields, ensure_ascii=False)))
        for table, documents in world.items()
        for one in documents
    ]
