"""What tests of several servers ask them."""

import threading
import time
from collections.abc import Callable
from itertools import count

import httpx2

from tests.driving import Served

PAGE = 200
WAITS_S = 15.0


def until(has_come: Callable[[], bool], within_s: float = WAITS_S) -> float:
    """Wait until it is so; returns how long it took."""
    began = time.monotonic()
    while not has_come():
        assert time.monotonic() - began < within_s
        threading.Event().wait(0.02)
    return time.monotonic() - began


def works(server: Served) -> bool:
    try:
        return server.pay().status_code == 200
    except httpx2.TransportError:
        return False


def payments(server: Served) -> set[str]:
    found: set[str] = set()
    for offset in count(0, PAGE):
        query = {"limit": PAGE, "offset": offset}
        page = server.ask("GET", "/v2/transactions", key="merchant", params=query).json()
        found |= {one["transaction_id"] for one in page["transactions"]}
        if len(page["transactions"]) < PAGE:
            break
    return found
