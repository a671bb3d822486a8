"""What servers agree on before they serve: the tables, and what all must have in common."""

import asyncio
import json
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import asyncpg

from sandbox.cluster.database import FAILURES, Database
from sandbox.cluster.tables import OWNERS, prepare
from sandbox.store.files.port import SECRET_BYTES, StoreError


def agree(url: str, common: Mapping[str, str]) -> tuple[bytes, str]:
    """Prepare the database, and learn what its servers share. Raises StoreError.

    Returns the secret of keys, and the tokens of teams as JSON.

    It is asked before anything is served, so what is wrong is said in one sentence.
    """
    # A loop may be running already where a sandbox is built inside another program.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _agree(url, common)).result()


async def _agree(url: str, common: Mapping[str, str]) -> tuple[bytes, str]:
    database = Database(url)
    await database.open()
    try:
        async with database.connection() as one, database.connection() as other:
            await refuse_pooler(one, other, database.name)
            await prepare(one, database.name)
            found = await share(one, database.name, common, secrets.token_hex(SECRET_BYTES))
    except FAILURES as error:
        raise database.refusal(error) from error
    finally:
        await database.close()
    return bytes.fromhex(found["secret"]), found.get("tokens", "")


_A_LOCK: Final = f"{OWNERS}, 0"
_MUST_BE_TAKEN: Final = f"""
DO $$ BEGIN
    IF NOT pg_try_advisory_lock({_A_LOCK}) THEN RAISE lock_not_available; END IF;
END $$"""


async def refuse_pooler(one: asyncpg.Connection, other: asyncpg.Connection, name: str) -> None:
    """Refuse a pooler that gives each transaction another session. Raises StoreError.

    Two sessions never get the same lock. These statements need nothing prepared, which such a
    pooler may lose.
    """
    await one.execute(f"SELECT pg_advisory_lock({_A_LOCK})")
    try:
        await other.execute(_MUST_BE_TAKEN)
    except asyncpg.LockNotAvailableError:
        return
    finally:
        await one.execute("SELECT pg_advisory_unlock_all()")
    await other.execute("SELECT pg_advisory_unlock_all()")
    raise StoreError(
        f"{name} cannot be used: a pooler in transaction mode is in between, and servers need "
        "sessions of their own; name PostgreSQL itself in --store, or a pooler in session mode"
    )


async def share(
    connection: asyncpg.Connection, name: str, own: Mapping[str, str], secret: str
) -> dict[str, str]:
    """What all servers share. `own` is what they must have in common.

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
    return found
