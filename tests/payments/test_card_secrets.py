"""No card number, and nothing that a reader read, is kept or said.

Source: assumed 6.4; spec 6.1.7.
"""

import pytest

from sandbox.domain.payments.cards import CARDS
from tests.platform.secret_texts import everything_kept

LIVE = "5555555555554444"
"""A number of no test card, as a real one would be."""

BLOB = "ARjtB1o8wkI5ZHPxQ1ypVqGmSL0cN2kOaUzSpRtTbYd="


def kept_by(sandbox):
    """All that the world and its journal hold, as text."""
    return everything_kept(sandbox) + sandbox.saved().decode()


READERS = (
    lambda data: {"card_reader_data": {"paymentCardData": data}},
    lambda data: {"card_reader_data": {"track2": data}},
    lambda data: {"card_reader_data": {"a": [{"b": [data]}]}},
    lambda data: {"card_reader_data": data},
    lambda data: {"paymentCardData": data},
)
"""Where it belongs and where it does not: tests/openapi/test_secrets_by_row has every field."""


@pytest.mark.proves("spec 6.1.7", "assumed D13")
def test_reader_data_is_neither_stored_nor_answered(sandbox):
    for data in (BLOB, LIVE):
        sent = {"card_reader_data": {"paymentCardData": data}}
        answers = [sandbox.pay(**place(data)) for place in READERS]
        for operation in ("refund", "capture", "reverse", "tip_adjust"):
            answers.append(sandbox.operate(sandbox.ready_for(operation), operation, **sent))
        for body in (
            '{"card_reader_data": {"paymentCardData": "%s"',
            '[{"paymentCardData": "%s"}]',
            "paymentCardData=%s&amount=1",
            '{"paymentCardData": "%s"} and more',
            '{"paymentCardData": ["%s"], "paymentCardData": 7}',
        ):
            payload = (body % data).encode()
            answers.append(sandbox.ask("POST", "/v3/payment", key="partner", body=payload))
            assert answers[-1].status == 400
        for answer in answers:
            assert answer.status in (200, 400)
            assert data not in answer.body.decode()
        assert data not in kept_by(sandbox)


@pytest.mark.proves("spec 2.4-card, 6.1.7", "assumed 2.11")
def test_a_record_holds_no_number_of_a_test_card_and_the_journal_masks_a_readers_data(sandbox):
    for row in CARDS.values():
        answer = sandbox.pay(card=row.pan)
        assert answer.json()["card"] == row.masked
    sandbox.paid_id(additional_details={"table": "t-42"}, device_id="till-7")
    kept = kept_by(sandbox)
    # It would be found.
    assert all(text in kept for text in ("t-42", "till-7", "476173******0011"))
    assert [row.pan for row in CARDS.values() if row.pan in kept] == []
    reader = {"paymentCardData": "tok_declined", "generalCardData": BLOB, "id": "reader-1"}

    answer = sandbox.pay(card_reader_data=reader)

    shown = sandbox.journal(answer)["request"]["card_reader_data"]
    assert (shown["paymentCardData"], shown["generalCardData"]) == ("tok_declined", "****")


def test_a_card_number_as_a_json_number_or_in_a_header_is_refused_and_not_kept(sandbox):
    for number in (int(LIVE), float(LIVE), [int(LIVE)]):
        assert sandbox.pay(additional_details={"note": number}).status == 400
    forced = sandbox.pay(outcome=LIVE)

    assert (forced.status, LIVE in forced.body.decode()) == (400, False)
    assert LIVE not in kept_by(sandbox)
