"""How a payment is written: as its shapes say, whatever a client sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from sandbox.app import build
from sandbox.domain.payments.transaction_view import (
    AttemptView,
    TransactionView,
    body_of,
    show_history,
    view,
)
from sandbox.domain.payments.transactions import Transaction
from sandbox.settings import Settings
from tests.driving import InProcess
from tests.support.payments import ready_for


def record_of(sandbox: InProcess, id: str) -> Transaction:
    tx = sandbox.sandbox.worlds.default.store.begin().get(Transaction, id)
    assert tx is not None
    return tx


@pytest.fixture
def tx(sandbox):
    return record_of(sandbox, ready_for(sandbox, "refund"))


@pytest.mark.proves("spec 2.4")
@pytest.mark.parametrize("operation", ["capture", "refund", "confirm"])
def test_every_field_of_the_shape_is_written_in_its_order(sandbox, operation):
    tx = record_of(sandbox, ready_for(sandbox, operation))

    shown = json.loads(body_of(tx))

    assert list(shown) == list(TransactionView.__annotations__)
    assert [list(one) for one in shown["history"]] == [
        list(AttemptView.__annotations__) for _ in tx.history
    ]


@pytest.mark.proves("spec 2.4-response", "assumed 0.4-gateway-response")
def test_the_gateways_answer_has_exactly_its_four_fields(tx):
    answer = json.loads(body_of(tx))["gateway_transaction_response"]

    assert list(answer) == [
        "responseCode",
        "responseMessage",
        "approvalCode",
        "processorResponseCode",
    ]


def test_the_history_alone_is_that_of_the_whole(tx):
    assert to_builtins(show_history(tx)) == json.loads(body_of(tx))["history"]


def test_the_view_is_what_the_bytes_say(tx):
    assert view(tx) == json.loads(body_of(tx))


@pytest.mark.proves("spec 2.4-event-id", "assumed 1.8-details")
@given(text=st.text(min_size=1), more=st.dictionaries(st.text(), st.text() | st.integers()))
def test_whatever_a_client_sent_comes_back_as_it_was(text, more):
    sandbox = InProcess(build(Settings()))
    tx = record_of(sandbox, ready_for(sandbox, "refund"))
    taken = {"authorized_amount", "captured_amount", "remaining_amount"}
    details = {name: value for name, value in more.items() if name not in taken}
    tx = replace(
        tx,
        event_id=text,
        origin=replace(tx.origin, device_id=text, reader_identifier=text, details=details),
    )

    shown = json.loads(body_of(tx))

    assert (shown["event_id"], shown["device_id"], shown["reader_identifier"]) == (text,) * 3
    assert shown["additional_details"] == details | {
        "authorized_amount": 1000,
        "captured_amount": 1000,
    }


@pytest.mark.proves("spec 2.4-rates")
@pytest.mark.parametrize("rate", [0, 3, 3.5, 0.1, 8.875, 99.99])
def test_a_rate_is_written_as_a_number(tx, rate):
    tx = replace(tx, rates=replace(tx.rates, tax_rate=rate, surcharge_rate=rate))

    shown = json.loads(body_of(tx))

    assert (shown["tax_rate"], shown["surcharge_rate"]) == (rate, rate)


def test_the_bytes_are_compact(tx):
    assert b'", "' not in body_of(tx)
    assert b'": ' not in body_of(tx)
