"""The tables in PostgreSQL, and the settings on which servers agree before they serve.

The tables have their own schema, since a database may contain other things.
"""

import asyncio
import json
import secrets
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from asyncpg import Connection, LockNotAvailableError

from sandbox.cluster.database import ANSWER_S, Database
from sandbox.store.files.port import PROGRAM, SECRET_BYTES, StoreError

VERSION: Final = 3

OWNERS: Final = 7_265_316
"""The class of the advisory locks that sessions hold on their numbers."""

_LOCK: Final = 7_265_316_201
"""The number of the advisory lock under which one server at a time creates the tables."""

_TABLES: Final = """
CREATE SCHEMA uat_sandbox;
CREATE TABLE uat_sandbox.meta (name text PRIMARY KEY, value text NOT NULL);
INSERT INTO uat_sandbox.meta VALUES ('program', 'uat-sandbox'), ('schema', '3');
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
    tbl text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    number text NOT NULL,
    text text NOT NULL,
    lookup text,
    body text,
    PRIMARY KEY (wid, tbl, id)
);
DO $$ BEGIN
    ALTER TABLE uat_sandbox.documents
        ALTER text SET COMPRESSION lz4, ALTER body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
CREATE INDEX keys ON uat_sandbox.documents (lookup) WHERE lookup IS NOT NULL;
CREATE TABLE uat_sandbox.leftovers (
    wid bigint PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE uat_sandbox.brought_keys (
    fingerprint text PRIMARY KEY,
    world text NOT NULL,
    at timestamptz NOT NULL
);
"""
"""`living` has the sessions that hold their lock, of the class `OWNERS`; `owned` has the worlds
with the live session that owns them. `n` counts the commits of a world, and is 0 until its first
one. `wid` identifies the rows of a world; a rewritten world gets a new one, and its former rows are
leftovers until they are swept. Numbers of documents are text, since they may have more than 64
bits. API keys have the `lookup` by which their world is found."""

_SAME_URL: Final = """
SELECT name, machine FROM uat_sandbox.living WHERE url = $1 AND machine <> $2"""


def agree(url: str, common: Mapping[str, str], own_url: str) -> tuple[bytes, str]:
    """Prepare the database, and return the secret of keys and the tokens of teams as JSON.

    `common` has the settings that all servers must share; `own_url` is where the others reach this
    server. Raises StoreError with one sentence; this runs before anything is served.
    """
    # In a thread, since another program that builds a sandbox may already run a loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _agree(url, common, own_url)).result()


async def _agree(url: str, common: Mapping[str, str], own_url: str) -> tuple[bytes, str]:
    database = Database(url)
    async with database.opened() as one, database.opened() as other, asyncio.timeout(ANSWER_S):
        await refuse_pooler(one, other, database.name)
        await prepare(one, database.name)
        found = await share(one, database.name, common)
        await refuse_same_url(one, own_url)
    return bytes.fromhex(found["secret"]), found.get("tokens", "")


async def prepare(connection: Connection, name: str) -> dict[str, str]:
    """Create the tables unless they exist, and return the values that all servers share.

    Raises StoreError if they are of another program or version.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if await connection.fetchval("SELECT to_regnamespace('uat_sandbox') IS NULL"):
            await connection.execute(_TABLES)
        found: dict[str, str] = {}
        if await connection.fetchval("SELECT to_regclass('uat_sandbox.meta') IS NOT NULL"):
            found = dict(await connection.fetch("SELECT name, value FROM uat_sandbox.meta"))
    if found.get("program") != PROGRAM:
        raise StoreError(
            f"{name} cannot be used: another program created its schema 'uat_sandbox'; name "
            "another database"
        )
    if (version := found.get("schema")) != str(VERSION):
        raise StoreError(
            f"{name} cannot be used: its tables have version {version}, and this server knows "
            f"version {VERSION}; start a server of the version that created them, or name another "
            "database"
        )
    return found


async def put_meta(connection: Connection, name: str, value: str) -> None:
    """Store a value that all servers share."""
    await connection.execute(
        "INSERT INTO uat_sandbox.meta VALUES ($1, $2) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
    )


_A_LOCK: Final = f"{OWNERS}, 0"
_MUST_BE_TAKEN: Final = f"""
DO $$ BEGIN
    IF NOT pg_try_advisory_lock({_A_LOCK}) THEN RAISE lock_not_available; END IF;
END $$"""


async def refuse_pooler(one: Connection, other: Connection, name: str) -> None:
    """Refuse a pooler that gives each transaction another session. Raises StoreError.

    Two sessions never get the same lock. These statements are not prepared, because such a pooler
    may lose prepared ones.
    """
    await one.execute(f"SELECT pg_advisory_lock({_A_LOCK})")
    try:
        await other.execute(_MUST_BE_TAKEN)
    except LockNotAvailableError:
        return
    finally:
        await one.execute("SELECT pg_advisory_unlock_all()")
    await other.execute("SELECT pg_advisory_unlock_all()")
    raise StoreError(
        f"{name} cannot be used: there is a pooler in transaction mode in between, and servers "
        "need their own sessions; name PostgreSQL itself in --store, or a pooler in session mode"
    )


async def refuse_same_url(connection: Connection, url: str) -> None:
    """Refuse the URL of a live server on another machine. Raises StoreError."""
    other = await connection.fetchrow(_SAME_URL, url, socket.gethostname())
    if other is not None:
        raise StoreError(
            f"the server {other['name']!r} on {other['machine']} also has the address {url}; give "
            "the address of this one with --advertise"
        )


async def share(connection: Connection, name: str, own: Mapping[str, str]) -> dict[str, str]:
    """Return the values that all servers share. `own` are the settings that must be the same.

    The first server decides. Raises StoreError if this one differs.
    """
    first = ("common", json.dumps(dict(own))), ("secret", secrets.token_hex(SECRET_BYTES))
    insert = "INSERT INTO uat_sandbox.meta VALUES ($1, $2) ON CONFLICT DO NOTHING"
    await connection.executemany(insert, first)
    found = dict(await connection.fetch("SELECT name, value FROM uat_sandbox.meta"))
    theirs = json.loads(found["common"])
    for option, value in own.items():
        if theirs.get(option) != value:
            raise StoreError(
                f"{name} cannot be used: its servers have {option} {theirs.get(option)!r}, and "
                f"this one {value!r}; start it like the others, or name another database"
            )
    return found
