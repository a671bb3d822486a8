"""What servers agree on before they serve: the tables, and what all must have in common."""

import asyncio
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from sandbox.cluster.database import FAILURES, Database
from sandbox.cluster.tables import prepare, refuse_pooler, share
from sandbox.store.files.port import SECRET_BYTES


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
        raise database.unreachable(error) from error
    finally:
        await database.close()
    return bytes.fromhex(found["secret"]), found.get("tokens", "")
