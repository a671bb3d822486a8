"""How a payment is written: as its shapes say, whatever a client sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.app import build
from sandbox.domain.payments.transactions import Attempt, Payment, Transaction, change
from sandbox.domain.records import to_bytes
from sandbox.settings import Settings
from tests.driving import InProcess
from tests.support.payments import ready_for


def record_of(sandbox: InProcess, id: str) -> Payment:
    payment = sandbox.sandbox.worlds.default.store.begin().get(Payment, id)
    assert payment is not None
    return payment


@pytest.mark.proves("spec 2.4")
@pytest.mark.parametrize("operation", ["capture", "refund", "confirm"])
def test_every_field_of_the_shape_is_written_in_its_order(sandbox, operation):
    payment = record_of(sandbox, ready_for(sandbox, operation))

    shown = json.loads(to_bytes(payment))

    assert list(shown) == list(Transaction.__struct_fields__)
    assert [list(one) for one in shown["history"]] == [
        list(Attempt.__struct_fields__) for _ in payment.history
    ]


@pytest.mark.proves("spec 2.4-event-id", "assumed 1.8-details")
@given(text=st.text(min_size=1), more=st.dictionaries(st.text(), st.text() | st.integers()))
def test_whatever_a_client_sent_comes_back_as_it_was(text, more):
    sandbox = InProcess(build(Settings()))
    payment = record_of(sandbox, ready_for(sandbox, "refund"))
    taken = {"authorized_amount", "captured_amount", "remaining_amount"}
    details = {name: value for name, value in more.items() if name not in taken}
    payment = change(
        payment,
        event_id=text,
        device_id=text,
        reader_identifier=text,
        additional_details=details,
    )

    shown = json.loads(to_bytes(payment))

    assert (shown["event_id"], shown["device_id"], shown["reader_identifier"]) == (text,) * 3
    assert shown["additional_details"] == details | {
        "authorized_amount": 1000,
        "captured_amount": 1000,
    }
