"""`sandbox next` and `sandbox tap`: how payments end, said from a shell."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from tests.cli.asking import following, pay, told

WAITS = {
    "name": "waits",
    "rule": [{"when": {"operation": "sale"}, "then": {"tap": "wait"}}],
    "example": [
        {
            "send": {"operation": "sale", "tap": {"card": "tok_amex"}},
            "expect": {"status": "captured"},
        }
    ],
}


def test_the_next_attempt_that_fits_ends_as_was_said(served, world):
    at = ("--world", world["id"])
    options = ("--operation", "sale", "--approved-amount", "400")
    shown = told("next", "partial_approval", *options, *at, server=served)
    paid = pay(served, world)
    after = told("next", *at, server=served)

    assert shown.splitlines()[1].split() == ["partial_approval", "-", "sale", "-", "400", "0"]
    assert paid["status_reason"] == "partial_approval"
    assert paid["additional_details"]["captured_amount"] == 400
    assert after.startswith("the queue is empty")


def test_what_waits_can_be_forgotten(served, world):
    at = ("--world", world["id"])
    told("next", "--fault", "http_503", "--delay-ms", "5", *at, server=served)

    waiting = json.loads(told("next", "lost_card", "--json", *at, server=served))
    cleared = json.loads(told("next", "--clear", "--json", *at, server=served))

    entries = [(entry["outcome"], entry["fault"], entry["delay_ms"]) for entry in waiting["queue"]]
    assert entries == [(None, "http_503", 5), ("lost_card", None, 0)]
    assert cleared == {"queue": [], "total": 0}


@contextmanager
def a_sale_that_waits(served: Any, world: dict[str, Any]) -> Iterator[Future[dict[str, Any]]]:
    """A sale for whose card its terminal waits; its answer, some time."""
    path = f"/worlds/{world['id']}"
    served.control("PUT", f"{path}/scenario", json=WAITS).raise_for_status()
    # Reading along, one hears of the sale without asking again and again.
    with (
        ThreadPoolExecutor(1) as cashier,
        following(
            "listen",
            "9",
            "--json",
            "--events",
            "transaction.create",
            "--world",
            world["id"],
            server=served,
        ) as listening,
    ):
        listening.until("ready")
        paying = cashier.submit(pay, served, world)
        listening.until("transaction.create")
        yield paying


def test_a_payment_that_waits_is_listed_and_tapped(served, world):
    at = ("--world", world["id"])
    with a_sale_that_waits(served, world) as paying:
        headers, waiting = told("tap", *at, server=served).splitlines()
        done = told("tap", "--card", "tok_amex", *at, server=served)
        paid = paying.result(10)

    assert headers.split()[:3] == ["transaction", "id", "operation"]
    assert waiting.split()[:4] == [paid["transaction_id"], "sale", "10.00", "USD"]
    assert done == f"{paid['transaction_id']}  captured: approved\n"
    assert paid["card_brand"] == "Amex"


def test_a_payment_that_waits_is_called_off_by_its_id(served, world):
    at = ("--world", world["id"])
    with a_sale_that_waits(served, world) as paying:
        (waiting,) = json.loads(told("tap", "--json", *at, server=served))["taps"]
        id = waiting["transaction_id"]
        ended = json.loads(told("tap", id, "--cancel", "user", "--json", *at, server=served))
        paid = paying.result(10)

    assert (ended["transaction_id"], ended["status"]) == (id, "canceled")
    assert paid["status"] == "canceled"
