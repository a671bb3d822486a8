"""Requests that arrive at once, on a real socket: money moves once, and never too much of it.

Source: assumed 2.6-serial, M4, M11, D2.
"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from threading import Barrier
from typing import Any

import httpx2
import pytest

from tests.driving import Served

AT_ONCE = 50
NUMBERS = count()


@dataclass
class World:
    """A world of its own on the shared server, asked over as many connections as are wanted."""

    served: Served
    facts: dict[str, Any]
    client: httpx2.Client

    def ask(
        self, method: str, path: str, body: Any = None, *, outcome: str = "", by: str = "merchant"
    ) -> httpx2.Response:
        key = self.facts["keys"][by]["key"] if by in self.facts["keys"] else by
        headers = {"x-service-apikey": key, "accept": "application/json"}
        if outcome:
            headers["x-sandbox-outcome"] = outcome
        return self.client.request(method, self.served.url + path, headers=headers, json=body)

    def pay(self, amount: int, *, path: str = "/v3/payment", **more: Any) -> httpx2.Response:
        body = {"amount": amount, "terminal_id": self.facts["terminals"]["merchant"]}
        outcome = more.pop("outcome", "")
        return self.ask("POST", path, body | more, outcome=outcome)

    def made(self, amount: int, **more: Any) -> dict[str, Any]:
        answer = self.pay(amount, **more)
        assert answer.status_code == 200, answer.text
        tx: dict[str, Any] = answer.json()
        return tx

    def read(self, tx: dict[str, Any]) -> dict[str, Any]:
        read: dict[str, Any] = self.ask("GET", f"/v1/transactions/{tx['transaction_id']}").json()
        return read

    def events(self) -> Counter[str]:
        path = f"/worlds/{self.facts['id']}/messages"
        listed = self.served.control("GET", path).json()["messages"]
        return Counter(message["event_type"] for message in listed)


@pytest.fixture
def world(served):
    """A world of the shared server, gone afterwards."""
    body = {"id": f"parallel-{next(NUMBERS)}", "clock": "2026-03-01T12:00:00Z"}
    answer = served.control("POST", "/worlds", json=body)
    assert answer.status_code < 300, answer.text
    limits = httpx2.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
    with httpx2.Client(timeout=30, limits=limits) as client:
        yield World(served, answer.json(), client)
    served.control("DELETE", f"/worlds/{body['id']}")


def at_once(ask: Callable[[int], httpx2.Response]) -> list[httpx2.Response]:
    """The answers to requests that all begin when the last of their threads is ready."""
    ready = Barrier(AT_ONCE)

    def one(number: int) -> httpx2.Response:
        ready.wait()
        return ask(number)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(one, range(AT_ONCE)))


def statuses(answers: list[httpx2.Response]) -> Counter[tuple[int, str]]:
    """Status and code of each answer; no code where it is no refusal."""
    return Counter((one.status_code, one.json().get("error", "")) for one in answers)


# --- one payment, many actions ----------------------------------------------------------------


@pytest.mark.proves("assumed 2.6-serial, F32")
def test_of_many_captures_of_one_authorization_exactly_one_captures(world):
    tx = world.made(1000, path="/v3/preauth")
    path = f"/v3/payments/{tx['transaction_id']}/capture"

    answers = at_once(lambda _: world.ask("POST", path, {}))

    assert statuses(answers) == {(200, ""): 1, (400, "invalid_capture_sequence"): AT_ONCE - 1}
    after = world.read(tx)
    assert (after["status"], after["total_amount"]) == ("captured", 1000)
    assert after["additional_details"]["captured_amount"] == 1000
    batch = world.ask("GET", f"/v1/batches/{after['batch_id']}").json()
    assert (batch["captured_amount"], batch["transaction_count"]) == (1000, 1)
    # A rule failure is announced as well (assumed 2.1-rule, Q4).
    assert world.events()["transaction.capture"] == AT_ONCE


@pytest.mark.proves("assumed 2.6-serial, M4")
def test_many_refunds_at_once_never_give_back_more_than_was_captured(world):
    tx = world.made(1000)
    path = f"/v3/payments/{tx['transaction_id']}/refund"

    answers = at_once(lambda _: world.ask("POST", path, {"amount": 70}))

    # 14 times 70 is 980; a fifteenth would be 1050.
    assert statuses(answers) == {(200, ""): 14, (400, "refund_exceeds_captured"): AT_ONCE - 14}
    after = world.read(tx)
    assert (after["refunded"], after["status"]) == (980, "captured")
    batch = world.ask("GET", f"/v1/batches/{after['batch_id']}").json()
    assert (batch["captured_amount"], batch["refunded_amount"]) == (1000, 980)
    assert batch["transaction_count"] == 15
    assert world.events()["transaction.refund"] == 14
    assert len({attempt["event_id"] for attempt in after["history"]}) == 15


# --- one event_id, one terminal ---------------------------------------------------------------


@pytest.mark.proves("assumed 2.6-serial, M11")
def test_many_sales_with_one_event_id_make_one_sale(world):
    answers = at_once(lambda _: world.pay(1000, event_id="once"))

    assert statuses(answers) == {(200, ""): 1, (400, "duplicate_event"): AT_ONCE - 1}
    found = world.ask("GET", "/v2/transactions").json()
    assert (found["total"], found["transactions"][0]["event_id"]) == (1, "once")
    assert world.events() == {"transaction.create": 1, "batch.opened": 1, "transaction.sale": 1}


@pytest.mark.proves("assumed B2, M12")
def test_first_sales_at_once_open_one_batch_and_all_count_in_it(world):
    answers = at_once(lambda number: world.pay(100 + number))

    assert statuses(answers) == {(200, ""): AT_ONCE}
    (batch,) = world.ask("GET", "/v1/batches").json()["batches"]
    assert {answer.json()["batch_id"] for answer in answers} == {batch["id"]}
    assert (batch["transaction_count"], batch["captured_amount"]) == (
        AT_ONCE,
        sum(range(100, 100 + AT_ONCE)),
    )
    assert world.events()["batch.opened"] == 1


@pytest.mark.proves("assumed B1")
def test_batches_that_are_opened_or_closed_at_once_are_opened_and_settle_once(world):
    body = {"terminal_id": world.facts["terminals"]["merchant"]}

    answers = at_once(lambda _: world.ask("POST", "/v1/batches/open", body))
    assert statuses(answers) == {(201, ""): 1, (409, "conflict"): AT_ONCE - 1}
    tx = world.made(1000)
    answers = at_once(lambda _: world.ask("POST", f"/v1/batches/{tx['batch_id']}/close"))

    assert statuses(answers) == {(200, ""): 1, (400, "validation_error"): AT_ONCE - 1}
    assert world.read(tx)["status"] == "settled"
    assert world.events()["batch.submitted"] == world.events()["batch.accepted"] == 1


def test_while_a_sale_waits_its_event_id_is_taken_and_other_sales_go_on(world):
    # The processor takes a third of its nominal 900 ms (assumed 5.1-latency).
    path = f"/worlds/{world.facts['id']}/switches"
    assert world.served.control("PUT", path, json={"latency.scale": 0.3}).status_code == 200

    answers = at_once(
        lambda number: world.pay(500) if number % 2 else world.pay(1000, event_id="once")
    )

    assert statuses(answers) == {
        (200, ""): AT_ONCE // 2 + 1,
        (400, "duplicate_event"): AT_ONCE // 2 - 1,
    }
    assert world.ask("GET", "/v2/transactions").json()["total"] == AT_ONCE // 2 + 1
