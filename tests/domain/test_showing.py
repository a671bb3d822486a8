"""How a payment is written: as its shapes say, whatever a client sent."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.payments.transactions import change
from sandbox.domain.records import to_bytes
from tests.support.payments import fresh_sandbox, ready_for, record_of

SANDBOX = fresh_sandbox()
SOLD = record_of(SANDBOX, ready_for(SANDBOX, "refund"))


@pytest.mark.proves("spec 2.4-event-id", "assumed 1.8-details")
@given(text=st.text(min_size=1), more=st.dictionaries(st.text(), st.text() | st.integers()))
def test_whatever_a_client_sent_comes_back_as_it_was(text, more):
    taken = {"authorized_amount", "captured_amount", "remaining_amount"}
    details = {name: value for name, value in more.items() if name not in taken}
    payment = change(
        SOLD,
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
