"""How tests start several servers on one database, and what they ask them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import httpx2

from tests.driving import Served
from tests.state.remote import Remote
from tests.state.saved_worlds import SavedWorld, command, serving_with

WAITS_S = 15.0


@contextlib.contextmanager
def serving(url: str, folder: Path, name: str, *options: str) -> Iterator[SavedWorld]:
    """A server of that name on that database, ready; ended when the block ends."""
    arguments = command(url, "--name", name, *options)
    with serving_with(arguments, folder / f"{name}.log") as server:
        yield server


def works(server: Served) -> bool:
    try:
        return server.pay().status_code == 200
    except httpx2.TransportError:
        return False


def payments(server: SavedWorld) -> set[str]:
    found = Remote(server).list_all("/v2/transactions", "transactions", by="merchant")
    return {one["transaction_id"] for one in found}
