"""The fixture `busy`: a month that obeys every rule, and worlds that begin with it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.payments.transactions import STATUSES, TRANSACTION_TYPES
from sandbox.settings import Settings
from tests.driving import InProcess
from tests.payments.driving_money import (
    check_event_ids,
    check_open_batches,
    check_payment,
    shown_sums,
    sums_of,
)
from tests.worlds.worlds import add_world
from tools.busy_fixture import MERCHANTS

END = "2026-03-01T06:00:00.000Z"
FROZEN = ClockSetting(now=parse_rfc3339(END), mode="frozen")


def a_busy_sandbox() -> InProcess:
    return InProcess(build(Settings(fixture="busy", clock=FROZEN)))


@pytest.fixture(scope="module")
def busy() -> InProcess:
    """One for all tests that only look."""
    return a_busy_sandbox()


def pages(sandbox: InProcess, key: str, query: str = "") -> Iterator[dict[str, Any]]:
    """Everything that a search finds, page by page."""
    offset, total = 0, 1
    while offset < total:
        asked = f"limit=50&offset={offset}&{query}".rstrip("&")
        answer = sandbox.ask("GET", "/v2/transactions", key=key, query=asked)
        assert answer.status == 200, answer.body
        page = answer.json()
        yield from page["transactions"]
        offset, total = offset + 50, page["total"]


@pytest.fixture(scope="module")
def payments(busy: InProcess) -> dict[str, list[dict[str, Any]]]:
    """All payments with their histories, by merchant."""
    return {merchant: list(pages(busy, merchant)) for merchant in MERCHANTS}


@pytest.fixture(scope="module")
def every_payment(payments: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [one for found in payments.values() for one in found]


def batches(sandbox: InProcess, merchant: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sandbox.ask(
        "GET", "/v1/batches", key=merchant, query="limit=100"
    ).json()["batches"]
    return found


# --- the month --------------------------------------------------------------------------------


def test_it_has_the_size_that_people_page_through_and_the_money_of_every_payment_fits(
    payments, every_payment
):
    assert 300 <= len(every_payment) <= 500
    for one in every_payment:
        check_payment(one)
    for found in payments.values():
        check_event_ids(found)


def test_the_sums_of_every_batch_are_those_of_its_payments(busy, payments):
    # assumed M10; what an answer in part did not take is in no batch any more.
    for merchant in MERCHANTS:
        there = batches(busy, merchant)

        check_open_batches(there)
        assert len(there) > 20
        for batch in there:
            if batch["status"] != "partially_accepted":
                assert shown_sums(batch) == sums_of(batch["id"], payments[merchant]), batch["id"]


@pytest.mark.proves("spec 2.4-type, 3.2")
def test_every_status_and_type_of_a_transaction_is_there(every_payment):
    assert {one["status"] for one in every_payment} == set(STATUSES)
    attempts = [attempt for one in every_payment for attempt in one["history"]]
    assert {attempt["transaction_type"] for attempt in attempts} == set(TRANSACTION_TYPES)


def test_it_tells_what_a_month_brings(every_payment):
    attempts = Counter(
        (attempt["transaction_type"], attempt["status_reason"])
        for one in every_payment
        for attempt in one["history"]
    )

    for told in [
        ("tip_adjust", "approved"),
        ("sale", "insufficient_funds"),
        ("sale", "partial_approval"),
        ("sale", "surcharge_declined_by_payer"),
        ("sale", "surcharge_expired"),
        ("sale", "processor_timeout"),
        ("auth", "timed_out"),
        ("incremental_auth", "approved"),
        ("refund", "approved"),
        ("refund", "declined"),
        ("reverse", "approved"),
    ]:
        assert attempts[told] > 0, told


def test_every_day_but_the_last_is_closed_and_accepted(busy):
    there = [batch for merchant in MERCHANTS for batch in batches(busy, merchant)]

    by_status = Counter(batch["status"] for batch in there)
    still_open = [batch["opened_at"] for batch in there if batch["status"] == "open"]
    assert set(by_status) == {"accepted", "partially_accepted", "open"}
    assert by_status["partially_accepted"] == 1
    assert min(still_open) > "2026-02-28T06:00"

    days = [
        parse_rfc3339(batch["closed_at"]) - parse_rfc3339(batch["opened_at"])
        for batch in batches(busy, "grill")
        if batch["status"] == "accepted"
    ]
    # One was accepted only when it was closed again.
    assert sum(day.days >= 1 for day in days) >= 1
    held = list(pages(busy, "hotel", "status=authorized"))
    assert len(held) >= 2
    assert all(one["total_amount"] > 0 for one in held)


def test_only_the_messages_of_the_last_two_days_are_there(busy):
    shown = busy.control("GET", "/worlds/default/messages", query="limit=1&offset=0").json()

    assert shown["total"] > 50
    assert shown["messages"][0]["created_at"] >= "2026-02-27T06:00"
    assert shown["messages"][0]["body"]


# --- worlds made from it ----------------------------------------------------------------------


def test_a_world_made_from_it_goes_on_from_the_end_of_the_month_or_at_its_own_clock(sandbox):
    clocks = []
    for id, clock in (("busy", None), ("timed", "2026-02-28T12:00:00Z")):
        add_world(sandbox, id, fixture="busy", clock=clock)
        clocks.append(sandbox.control("GET", f"/worlds/{id}/clock").json())

    assert clocks[0]["mode"] == "running"
    assert END <= clocks[0]["now"] < "2026-03-01T06:05"
    assert clocks[1] == {"now": "2026-02-28T12:00:00.000Z", "mode": "frozen", "rate": 1.0}


def test_a_month_can_be_gone_on_with():
    busy = a_busy_sandbox()
    (batch,) = [one for one in batches(busy, "taqueria") if one["status"] == "open"]

    closed = busy.ask("POST", f"/v1/batches/{batch['id']}/close", key="taqueria")

    assert closed.status == 200
    (after,) = [one for one in batches(busy, "taqueria") if one["id"] == batch["id"]]
    assert after["status"] == "accepted"
