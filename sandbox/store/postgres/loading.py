"""Reading a whole world from PostgreSQL."""

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from sandbox.store.files.port import MESSAGES, RECORDS, Document
from sandbox.store.postgres.rows import Places
from sandbox.store.saved_world import SavedWorld

if TYPE_CHECKING:
    import asyncpg

_READ_AHEAD: Final = 500
"""Rows that are taken at a time; other requests get their turn in between."""


class Loaded(NamedTuple):
    """A world as PostgreSQL has it, and the places of its documents."""

    saved: SavedWorld
    places: Places


async def load(connection: "asyncpg.Connection", wid: int) -> Loaded:
    """The world whose rows have this number, as of one moment."""
    tables: dict[str, list[Document]] = defaultdict(list)
    places: list[tuple[tuple[str, str], int]] = []
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        async for place, table, id, number, text in connection.cursor(
            "SELECT place, tbl, id, number, text FROM uat_sandbox.documents "
            "WHERE wid = $1 ORDER BY place",
            wid,
            prefetch=_READ_AHEAD,
        ):
            tables[table].append(Document(id, int(number), text))
            places.append(((table, id), place))
        async for number, id, text, body in connection.cursor(
            "SELECT number, id, text, said FROM uat_sandbox.messages WHERE wid = $1 "
            "ORDER BY number",
            wid,
            prefetch=_READ_AHEAD,
        ):
            tables[MESSAGES].append(Document(id, number, text))
            tables[RECORDS].append(Document(id, number, body))
    for documents in tables.values():
        documents.sort(key=lambda document: document.number)

    return Loaded(SavedWorld(tables, is_from_file=True, is_trusted=True), Places(places))
