"""The tables in PostgreSQL, and their versions.

They have a schema of their own, so a database may hold other things as well. No statement relies
on the state of a session, so a pooler may give each transaction another connection.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sandbox.store.files.port import StoreError

if TYPE_CHECKING:
    import asyncpg

PROGRAM: Final = "uat-sandbox"

_LOCK: Final = 7_265_316_201
"""The number of the advisory lock under which one server at a time changes the schema."""

_FIRST: Final = """
CREATE SCHEMA uat_sandbox;
CREATE TABLE uat_sandbox.meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE uat_sandbox.servers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    url text NOT NULL,
    control_url text NOT NULL,
    machine text NOT NULL,
    version text NOT NULL,
    format integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    beat_until timestamptz NOT NULL,
    state text NOT NULL
);
CREATE SEQUENCE uat_sandbox.wids;
CREATE TABLE uat_sandbox.worlds (
    id text PRIMARY KEY,
    wid bigint NOT NULL UNIQUE,
    team text NOT NULL,
    owner bigint,
    epoch bigint NOT NULL,
    n bigint NOT NULL,
    format integer NOT NULL,
    state text,
    payments bigint NOT NULL DEFAULT 0,
    requests bigint NOT NULL DEFAULT 0,
    next_due timestamptz,
    touched_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE TABLE uat_sandbox.documents (
    wid bigint NOT NULL,
    place bigint NOT NULL,
    tbl text NOT NULL,
    id text NOT NULL,
    number text NOT NULL,
    text text NOT NULL,
    claims text NOT NULL,
    PRIMARY KEY (wid, place)
);
CREATE TABLE uat_sandbox.messages (
    wid bigint NOT NULL,
    number bigint NOT NULL,
    id text NOT NULL,
    text text NOT NULL,
    said text NOT NULL,
    PRIMARY KEY (wid, number)
);
CREATE TABLE uat_sandbox.keys (
    lookup text NOT NULL,
    wid bigint NOT NULL,
    id text NOT NULL,
    salt text NOT NULL,
    digest text NOT NULL,
    PRIMARY KEY (lookup, wid, id)
);
CREATE INDEX keys_of_a_world ON uat_sandbox.keys (wid);
CREATE TABLE uat_sandbox.leftovers (wid bigint PRIMARY KEY);
CREATE TABLE uat_sandbox.brought_keys (
    fingerprint text PRIMARY KEY,
    world text NOT NULL,
    at timestamptz NOT NULL
);
"""
"""`place` is given by the server that owns the world, in the order of the first write, so the index
of documents grows at its end. Numbers are texts, as they may have more than 64 bits. `n` counts the
commits of a world, and is 0 until it is written for the first time. `wid` numbers the rows of a
world; one that is written anew gets another, and its former one is left over until it is swept."""

MIGRATIONS: Final = (_FIRST,)
"""What leads from each version of the schema to the next. Each only adds, so that servers of the
version before go on while others are upgraded."""

VERSION: Final = len(MIGRATIONS)


async def prepare(connection: "asyncpg.Connection", name: str) -> None:
    """Have the database hold the tables of this version. Raises StoreError."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        version = await _version(connection, name)
        if version > VERSION:
            raise StoreError(
                f"{name} cannot be used: its tables have version {version}, and this server knows "
                f"up to {VERSION}; start a server of the version that others here have"
            )
        for statements in MIGRATIONS[version:]:
            await connection.execute(statements)
        if version < VERSION:
            await put_meta(connection, "program", PROGRAM)
            await put_meta(connection, "schema", str(VERSION))


async def _version(connection: "asyncpg.Connection", name: str) -> int:
    """The version of the tables that are there; 0 if there are none. Raises StoreError."""
    is_there = await connection.fetchval(
        "SELECT count(*) FROM pg_namespace WHERE nspname = 'uat_sandbox'"
    )
    if not is_there:
        return 0
    if await connection.fetchval("SELECT to_regclass('uat_sandbox.meta') IS NOT NULL"):
        found = dict(await connection.fetch("SELECT name, value FROM uat_sandbox.meta"))
        version = found.get("schema", "")
        if found.get("program") == PROGRAM and version.isdecimal():
            return int(version)
    raise StoreError(
        f"{name} cannot be used: its schema 'uat_sandbox' was made by another program; name "
        "another database"
    )


async def put_meta(connection: "asyncpg.Connection", name: str, value: str) -> None:
    """Store a value that all servers share."""
    await connection.execute(
        "INSERT INTO uat_sandbox.meta VALUES ($1, $2) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
    )


async def share(
    connection: "asyncpg.Connection", name: str, own: Mapping[str, str], secret: str
) -> str:
    """The secret that all servers share. `own` is what they must have in common.

    The first server decides. Raises StoreError where this one differs.
    """
    text = json.dumps(dict(own), sort_keys=True)
    for key, value in (("common", text), ("secret", secret)):
        await connection.execute(
            "INSERT INTO uat_sandbox.meta VALUES ($1, $2) ON CONFLICT DO NOTHING", key, value
        )
    found = dict(await connection.fetch("SELECT name, value FROM uat_sandbox.meta"))
    theirs = json.loads(found["common"])
    for option, value in own.items():
        if theirs.get(option) != value:
            raise StoreError(
                f"{name} cannot be used: its servers have {option} {theirs.get(option)!r}, and "
                f"this one {value!r}; start it as the others, or name another database"
            )
    return str(found["secret"])
