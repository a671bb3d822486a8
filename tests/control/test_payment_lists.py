"""Operators search the payments of a world, whoever made them."""

import json

import pytest

from tests.driving import fresh


@pytest.fixture(scope="module")
def till():
    """A sandbox with four payments of two merchants: by name, its id."""
    sandbox = fresh()
    ids = {
        "small": sandbox.paid_id(500),
        "hold": sandbox.paid_id(9000, operation="auth", card="tok_amex"),
        "declined": sandbox.pay(700, outcome="insufficient_funds").json()["transaction_id"],
        "hotel": sandbox.paid_id(4000, at="second_merchant"),
    }
    sandbox.acted(ids["hotel"], "refund", amount=1500)
    return sandbox, ids


def test_a_row_fits_into_500_bytes(till):
    sandbox, ids = till

    row = sandbox.look("payments", q=ids["hotel"])["payments"][0]

    whole = sandbox.read(ids["hotel"])
    told = {"type": "refund", "total": 4000, "refunded": 1500, "brand": "Visa", "last4": "0011"}
    told |= {"updated_at": "2026-03-01T12:00:00.002Z", "merchant": whole["merchant_name"]}
    told |= {name: whole[name] for name in ("status", "status_reason", "currency", "batch_id")}
    assert row.items() >= told.items()
    assert sandbox.look("payments", q=ids["hotel"], shape="full")["payments"] == [whole]
    assert len(json.dumps(row, separators=(",", ":"))) <= 500


def test_each_parameter_narrows_or_orders_the_search(till):
    sandbox, ids = till
    for query, expected in (
        ({}, ["hotel", "declined", "hold", "small"]),
        ({"order": "oldest"}, ["small", "hold", "declined", "hotel"]),
        ({"order": "largest"}, ["hold", "hotel", "declined", "small"]),
        ({"order": "smallest", "limit": 2}, ["small", "declined"]),
        ({"status": "captured"}, ["hotel", "small"]),
        ({"status": "authorized, declined"}, ["declined", "hold"]),
        ({"status": "captured", "account": "second_merchant"}, ["hotel"]),
        ({"status_reason": "insufficient_funds"}, ["declined"]),
        ({"type": "refund"}, ["hotel"]),
        ({"account": "merchant"}, ["declined", "hold", "small"]),
        ({"account": "psp", "amount_min": 600, "amount_max": 4000}, ["hotel", "declined"]),
        ({"card_brand": "Amex"}, ["hold"]),
        ({"terminal": "merchant"}, ["declined", "hold", "small"]),
        ({"terminal": sandbox.terminal_id("merchant")}, ["declined", "hold", "small"]),
        ({"batch": sandbox.read(ids["small"])["batch_id"]}, ["small"]),
        ({"since": "2026-03-01T12:00:00Z", "until": "2026-03-01T12:00:00Z", "limit": 1}, ["hotel"]),
        ({"since": "2026-03-02T00:00:00Z"}, []),
        ({"q": "no such text"}, []),
    ):
        found = [row["id"] for row in sandbox.look("payments", **query)["payments"]]
        assert found == [ids[name] for name in expected], query


def test_pages_show_each_payment_once_even_while_new_ones_come(sandbox):
    ids = [sandbox.paid_id() for _ in range(5)]
    first = sandbox.look("payments", limit=2)
    sandbox.paid_id()

    second = sandbox.look("payments", limit=2, before=first["next"])
    third = sandbox.look("payments", limit=2, before=second["next"])

    seen = [row["id"] for page in (first, second, third) for row in page["payments"]]
    assert seen == ids[::-1]
    assert (first["total"], second["total"], third["next"]) == (5, 6, None)
