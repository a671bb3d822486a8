"""Playing the stories of the library by hand, as a client of a running server does."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

from sandbox import library
from tests.driving import Served, serving
from tests.webhooks.receiving import Receiver, receiving

WAIT_S = 10.0


class Live:
    """A server on a socket with a scenario, and a receiver of its webhooks."""

    def __init__(self, server: Served, receiver: Receiver) -> None:
        self.server, self.receiver = server, receiver

    def sale(self, **more: Any) -> Any:
        """The answer to a sale of 1000."""
        body = {"amount": 1000, "terminal_id": self.server.facts["terminals"]["merchant"]} | more
        return self.server.ask("POST", "/v3/payment", key="merchant", json=body)

    def transaction(self, id: str) -> dict[str, Any]:
        """The payment, as the PSP sees it."""
        shown: dict[str, Any] = self.server.ask("GET", f"/v1/transactions/{id}", key="psp").json()
        return shown

    def close(self, batch_id: str) -> Any:
        """The batch, once it was closed."""
        return self.server.ask("POST", f"/v1/batches/{batch_id}/close", key="psp", json={}).json()

    def advance(self, by: str) -> None:
        """Let time pass."""
        answer = self.server.control("POST", "/worlds/default/clock/advance", json={"by": by})
        assert answer.status_code == 200, answer.text

    def events_of(self, id: str, count: int) -> list[tuple[str, str]]:
        """The first webhooks about a payment, with their statuses, as they arrived."""
        end = monotonic() + WAIT_S
        while len(found := self._events(id)) < count:
            assert monotonic() < end, found
            sleep(0.02)
        return found

    def _events(self, id: str) -> list[tuple[str, str]]:
        listed = self.server.control("GET", "/worlds/default/messages", params={"limit": 200})
        types = {one["id"]: one["event_type"] for one in listed.json()["messages"]}
        return [
            (types[one.id], one.json()["status"])
            for one in list(self.receiver.requests)
            if one.json().get("transaction_id") == id
        ]


@contextmanager
def live(name: str, *changes: tuple[str, str], clock: str | None = None) -> Iterator[Live]:
    """A server that runs this scenario of the library, with changes of its text."""
    text = library.scenario_text(name)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    options = () if clock is None else ("--clock", clock)
    with serving(*options) as server, receiving() as receiver:
        made = server.control("POST", "/worlds/default/endpoints", json={"url": receiver.url})
        assert made.status_code == 201, made.text
        put = server.control("PUT", "/worlds/default/scenario", json={"toml": text})
        assert put.status_code == 200, put.text
        yield Live(server, receiver)


def play_the_day_at_the_till(till: Live, *, time_out_s: float) -> None:
    """The five sales end as the scenario says."""
    declined = till.sale().json()
    assert declined["status"] == "declined"

    before = monotonic()
    timed_out = till.sale(event_id="order-2").json()
    assert monotonic() - before >= time_out_s
    assert (timed_out["status"], timed_out["status_reason"]) == ("error", "processor_timeout")
    id = timed_out["transaction_id"]
    assert till.events_of(id, 3) == [
        ("transaction.create", "pending"),
        ("transaction.sale", "error"),
        ("transaction.sale", "captured"),
    ]
    late = till.transaction(id)
    assert (late["status"], late["additional_details"]["captured_amount"]) == ("captured", 1000)

    part = till.sale().json()
    assert part["status_reason"] == "partial_approval"
    assert part["additional_details"]["captured_amount"] == 600
    assert part["additional_details"]["remaining_amount"] == 400

    twice = till.sale().json()["transaction_id"]
    assert [event for event, _ in till.events_of(twice, 3)] == [
        *("transaction.create", "transaction.sale", "transaction.sale")
    ]
    mixed = till.sale().json()["transaction_id"]
    assert [event for event, _ in till.events_of(mixed, 2)] == [
        *("transaction.sale", "transaction.create")
    ]


def sale_that_waits(till: Live) -> Any:
    """A sale under way in another thread, whose answer comes later."""
    pool = ThreadPoolExecutor(1)
    return pool.submit(till.sale, event_id="order-1")
