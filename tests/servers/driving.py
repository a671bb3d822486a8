"""What tests of several servers ask them."""

from itertools import count

import httpx2

from tests.driving import Served

PAGE = 200
WAITS_S = 15.0


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
