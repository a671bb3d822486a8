"""The tables in PostgreSQL, in a schema of their own: a database may hold other things as well."""

from typing import Final

import asyncpg

from sandbox.store.files.port import StoreError

PROGRAM: Final = "uat-sandbox"
VERSION: Final = 2

OWNERS: Final = 7_265_316
"""The class of the advisory locks that sessions hold on their numbers."""

_LOCK: Final = 7_265_316_201
"""The number of the advisory lock under which one server at a time makes the tables."""

_TABLES: Final = """
CREATE SCHEMA uat_sandbox;
CREATE TABLE uat_sandbox.meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE uat_sandbox.sessions (
    number integer PRIMARY KEY,
    name text NOT NULL,
    url text NOT NULL,
    control_url text NOT NULL,
    machine text NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    is_leaving boolean NOT NULL DEFAULT false
);
CREATE VIEW uat_sandbox.living AS
SELECT s.*, l.pid FROM uat_sandbox.sessions s JOIN pg_locks l ON l.objid::bigint = s.number
WHERE l.locktype = 'advisory' AND l.classid = 7265316 AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());
CREATE TABLE uat_sandbox.worlds (
    id text PRIMARY KEY,
    wid bigint NOT NULL UNIQUE,
    team text NOT NULL,
    session integer,
    n bigint NOT NULL,
    format integer NOT NULL,
    state text,
    payments bigint NOT NULL DEFAULT 0,
    requests bigint NOT NULL DEFAULT 0,
    next_due timestamptz,
    touched_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE VIEW uat_sandbox.owned AS
SELECT w.*, l.number AS owner, l.name, l.url, l.control_url
FROM uat_sandbox.worlds w LEFT JOIN uat_sandbox.living l ON l.number = w.session;
CREATE TABLE uat_sandbox.documents (
    wid bigint NOT NULL,
    tbl text NOT NULL,
    id text NOT NULL,
    number text NOT NULL,
    text text NOT NULL,
    lookup text,
    PRIMARY KEY (wid, tbl, id)
);
CREATE INDEX keys ON uat_sandbox.documents (lookup) WHERE lookup IS NOT NULL;
CREATE TABLE uat_sandbox.leftovers (
    wid bigint PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE uat_sandbox.brought_keys (
    fingerprint text PRIMARY KEY,
    world text NOT NULL,
    at timestamptz NOT NULL
);
"""
"""`living` are the sessions whose lock, of the class `OWNERS`, is held; `owned` are worlds with the
living session that owns them. `n` counts the commits of a world, and is 0 until it is written for
the first time. `wid` numbers the rows of a world; one that is written anew gets another, and its
former rows are left over until they are swept. Numbers of documents are texts, since they may have
more than 64 bits. API keys have the `lookup` by which their world is found."""


async def prepare(connection: asyncpg.Connection, name: str) -> None:
    """Have the database hold the tables of this version. Raises StoreError."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if await connection.fetchval("SELECT to_regnamespace('uat_sandbox') IS NULL"):
            await connection.execute(_TABLES)
            await put_meta(connection, "program", PROGRAM)
            await put_meta(connection, "schema", str(VERSION))
            return
        found: dict[str, str] = {}
        if await connection.fetchval("SELECT to_regclass('uat_sandbox.meta') IS NOT NULL"):
            found = dict(await connection.fetch("SELECT name, value FROM uat_sandbox.meta"))
    if found.get("program") != PROGRAM:
        raise StoreError(
            f"{name} cannot be used: its schema 'uat_sandbox' was made by another program; name "
            "another database"
        )
    if (version := found.get("schema")) != str(VERSION):
        raise StoreError(
            f"{name} cannot be used: its tables have version {version}, and this server knows "
            f"version {VERSION}; start a server of the version that made them, or name another "
            "database"
        )


async def put_meta(connection: asyncpg.Connection, name: str, value: str) -> None:
    """Store a value that all servers share."""
    await connection.execute(
        "INSERT INTO uat_sandbox.meta VALUES ($1, $2) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
    )
