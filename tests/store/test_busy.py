"""The fixture `busy`: a month that obeys every rule, and worlds that begin with it."""

from collections import Counter
from typing import Any

import pytest

from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.payments.transactions import STATUSES, TRANSACTION_TYPES
from tests.driving import InProcess, fresh
from tests.payments.driving_money import check_batches, check_payments, shown_sums, sums_of

MERCHANTS = ("grill", "taqueria", "rooftop", "hotel")
END = "2026-03-01T06:00:00.000Z"
Payments = dict[str, list[dict[str, Any]]]
"""With their histories, by merchant."""


@pytest.fixture(scope="module")
def busy() -> InProcess:
    """One for all tests: they only look."""
    return fresh(fixture="busy", clock=ClockSetting(now=parse_rfc3339(END), mode="frozen"))


def found(sandbox: InProcess, merchant: str, query: str = "") -> list[dict[str, Any]]:
    return sandbox.list_all("/v2/transactions", "transactions", by=merchant, query=query)


@pytest.fixture(scope="module")
def payments(busy: InProcess) -> Payments:
    return {merchant: found(busy, merchant) for merchant in MERCHANTS}


# --- the month --------------------------------------------------------------------------------


def test_it_has_pages_of_payments_and_the_money_of_each_fits(payments: Payments):
    assert 300 <= sum(map(len, payments.values())) <= 500
    for found in payments.values():
        check_payments(found)


def test_the_sums_of_every_batch_are_those_of_its_payments(busy: InProcess, payments: Payments):
    # assumed M10; what an answer in part did not take is in no batch any more.
    for merchant in MERCHANTS:
        there, own = busy.batches(by=merchant), payments[merchant]
        in_part = {one["id"]: one for one in there if one["status"] == "partially_accepted"}
        frozen = {id: shown_sums(one) for id, one in in_part.items()}
        given_back = {id: sums[0] - sums_of(id, own)[0] for id, sums in frozen.items()}

        assert len(there) > 20
        check_batches(own, there, frozen=frozen, given_back=given_back)


@pytest.mark.proves("spec 2.4-type, 3.2")
def test_the_busy_month_has_every_status_and_type(payments: Payments):
    every = [one for found in payments.values() for one in found]
    told = {
        (attempt["transaction_type"], attempt["status_reason"])
        for one in every
        for attempt in one["history"]
    }

    assert {one["status"] for one in every} == set(STATUSES)
    assert {type for type, _ in told} == set(TRANSACTION_TYPES)
    assert told >= {
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
    }


def test_every_day_but_the_last_is_closed_and_accepted(busy: InProcess):
    there = [batch for merchant in MERCHANTS for batch in busy.batches(by=merchant)]

    by_status = Counter(batch["status"] for batch in there)
    still_open = [batch["opened_at"] for batch in there if batch["status"] == "open"]
    assert set(by_status) == {"accepted", "partially_accepted", "open"}
    assert by_status["partially_accepted"] == 1
    assert min(still_open) > "2026-02-28T06:00"

    days = [
        parse_rfc3339(batch["closed_at"]) - parse_rfc3339(batch["opened_at"])
        for batch in busy.batches(by="grill")
        if batch["status"] == "accepted"
    ]
    # One was accepted only when it was closed again.
    assert sum(day.days >= 1 for day in days) >= 1
    held = found(busy, "hotel", "&status=authorized")
    assert len(held) >= 2
    assert all(one["total_amount"] > 0 for one in held)


def test_only_the_messages_of_the_last_two_days_are_there(busy: InProcess):
    shown = busy.look("messages", limit=1, offset=0)

    assert shown["total"] > 50
    assert shown["messages"][0]["created_at"] >= "2026-02-27T06:00"
    assert shown["messages"][0]["body"]


# --- worlds made from it ----------------------------------------------------------------------


def test_a_world_made_from_it_runs_from_the_end_of_the_month_or_at_its_own_clock(sandbox):
    month = sandbox.add_world("timed", fixture="busy", clock="2026-02-28T12:00:00Z")
    worlds = (sandbox.add_world("busy", fixture="busy", clock=None), month)
    clocks = [one.look("clock") for one in worlds]

    assert clocks[0]["mode"] == "running"
    assert END <= clocks[0]["now"] < "2026-03-01T06:05"
    assert clocks[1] == {"now": "2026-02-28T12:00:00.000Z", "mode": "frozen", "rate": 1.0}
    (batch,) = [one for one in month.batches(by="taqueria") if one["status"] == "open"]
    assert month.settled(batch["id"], by="taqueria")["status"] == "accepted"
