"""The documents of `state.db` as migrations see them, and back."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from sandbox.store.files.migrations import LazyWorld, Migrations, migrate
from sandbox.store.files.plain import Plain
from sandbox.store.files.port import FORMAT, RECORDS, Change, Document, StateFile


def migrated(
    file: StateFile,
    world: str,
    tables: Mapping[str, Sequence[Document]],
    found: int,
    migrations: Migrations,
) -> tuple[Change, set[str]]:
    """What turns a world of an earlier format into one of today, and the tables to empty before.

    Raises UnknownFormat and StoreError.
    """

    def plain(table: str, documents: Iterable[Document]) -> list[Plain]:
        # A load leaves some texts out.
        return [
            Plain(one.id, one.number, json.loads(one.text or file.read(world, table, one.id) or ""))
            for one in documents
        ]

    lazy = LazyWorld(
        {
            **{table: partial(plain, table, documents) for table, documents in tables.items()},
            RECORDS: lambda: plain(RECORDS, file.records(world)),
        }
    )
    migrate(lazy, found, FORMAT, migrations)
    puts = [
        (table, Document(one.id, one.number, json.dumps(one.fields, ensure_ascii=False)))
        for table in lazy.replaced
        for one in lazy.get(table, ())
    ]
    return Change(world, puts=puts), lazy.replaced
