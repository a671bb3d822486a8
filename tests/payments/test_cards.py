"""Test cards: what each is, what its issuer answers, and what is refused. Source: assumed 6.4."""

import pytest

from tests.payments.card_rows import CARDS
from tests.payments.outcome_rows import ROWS
from tests.support.payments import (
    chosen,
    error,
    operate,
    paid_id,
    pay,
    read,
    unchanged,
)

ORDINARY = "approved; source=default; rule=default"
DEFAULT = CARDS["tok_visa_credit"]


def in_fours(pan):
    return " ".join(pan[at : at + 4] for at in range(0, len(pan), 4))


def card_of(shown):
    return shown["card_brand"], shown["card_type"], shown["card"]


# --- what a card is ---------------------------------------------------------------------------


@pytest.mark.proves("spec 2.10-values", "assumed 6.4, 7.1-values")
@pytest.mark.parametrize("token", CARDS)
def test_a_card_is_told_by_its_token_and_by_its_number_with_and_without_spaces(sandbox, token):
    row = CARDS[token]
    outcome = ROWS[row.outcome]
    # A card that is plainly approved does not choose (assumed D13).
    rule = f"{row.outcome}; source=card; rule={token}"

    for sent in (token, row.pan, in_fours(row.pan), " ".join(row.pan)):
        for operation, success in (("sale", "captured"), ("auth", "authorized")):
            answer = pay(sandbox, 1000, card=sent, operation=operation)

            shown = answer.json()
            assert card_of(shown) == (row.brand, row.type, row.masked)
            assert shown["status"] == (success if outcome.status == "ok" else outcome.status)
            assert shown["status_reason"] == outcome.status_reason
            assert chosen(answer) == (ORDINARY if row.outcome == "approved" else rule)


@pytest.mark.proves("assumed 1.8-reader, D13")
def test_the_card_is_that_of_the_reader_however_it_is_written_and_else_the_default(sandbox):
    declined = CARDS["tok_declined"]
    for sent in (
        "4000-0000-0000-0002",
        ";4000000000000002=2512101?",  # the second track of a stripe (ISO/IEC 7813)
        "%B4000000000000002^DOE/JANE^2512101?",  # the first
    ):
        answer = pay(sandbox, card=sent)
        assert (card_of(answer.json())[2], answer.json()["status"]) == (
            *(declined.masked, "declined"),
        )
    flat = pay(sandbox, paymentCardData="tok_amex", generalCardData="anything")
    assert card_of(flat.json()) == ("Amex", "Credit", "371449*****8431")
    other = {"id": "reader-1", "generalCardData": "tok_declined", "outcome": 3}
    blobs = (
        *("ARjtB1o8wkI5ZHPxQ1ypVqGmSL0cN2", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "TOK_DECLINED"),
        *("token", "\uff10\uff10\uff10", "", " "),  # digits, but none of ASCII
    )
    for more in (*({"card": blob} for blob in blobs), {}, {"card_reader_data": other}):
        answer = pay(sandbox, **more)
        assert card_of(answer.json()) == (DEFAULT.brand, DEFAULT.type, DEFAULT.masked)
        assert (answer.json()["status"], chosen(answer)) == ("captured", ORDINARY), more


# --- later operations -------------------------------------------------------------------------


@pytest.mark.proves("assumed 6.4")
@pytest.mark.parametrize(
    ("token", "operation", "outcome", "reason"),
    [
        ("tok_refund_fails", "refund", "refund_declined", "declined"),
        *[("tok_increment_fails", "incremental_auth", *["incremental_auth_declined"] * 2)],
    ],
)
def test_a_card_declines_one_later_operation_every_time_and_no_other(
    sandbox, token, operation, outcome, reason
):
    first = "auth" if operation == "incremental_auth" else "sale"
    id = paid_id(sandbox, operation=first, card=token)
    before = read(sandbox, id)

    for _ in range(2):
        answer = operate(sandbox, id, operation)
        assert chosen(answer) == f"{outcome}; source=card; rule={token}"
        assert (answer.json()["status_reason"], answer.json()["transaction_type"]) == (
            *(reason, operation),
        )

    assert read(sandbox, id) | {"history": []} == before | {"history": []}
    other = paid_id(sandbox, operation="auth", card=token)
    answers = [operate(sandbox, other, one) for one in ("capture", "tip_adjust", "reverse")]
    assert [chosen(one) for one in answers] == [ORDINARY] * 3


@pytest.mark.parametrize("token", ["tok_declined", "tok_timeout", "tok_bad_luhn"])
def test_what_a_card_answers_at_first_it_does_not_answer_to_later_operations(sandbox, token):
    id = paid_id(sandbox, operation="auth", card=token, outcome="approved")

    answers = [operate(sandbox, id, operation) for operation in ("incremental_auth", "capture")]

    assert [chosen(answer) for answer in answers] == [ORDINARY] * 2


# --- the prepaid card -------------------------------------------------------------------------


@pytest.mark.proves("assumed 6.4, 2.7")
@pytest.mark.parametrize("amount", [1, 4999, 5000, 5001, 5002, 10_000, 99_999_999])
@pytest.mark.parametrize("operation", ["sale", "auth"])
def test_the_prepaid_card_approves_five_thousand_of_what_is_more(sandbox, amount, operation):
    answer = pay(sandbox, amount, operation=operation, card="tok_mc_prepaid")

    shown, approved = answer.json(), min(amount, 5000)
    details = {
        "authorized_amount": approved,
        "captured_amount": approved if operation == "sale" else 0,
    }
    if amount > 5000:
        details["remaining_amount"] = amount - 5000
        assert (shown["status_reason"], shown["total_amount"]) == ("partial_approval", amount)
        assert shown["gateway_transaction_response"]["responseCode"] == "P"
        assert chosen(answer) == "partial_approval; source=card; rule=tok_mc_prepaid"
    else:
        assert (shown["status_reason"], chosen(answer)) == ("approved", ORDINARY)
    assert shown["additional_details"] == details


# --- what is no card of the table -------------------------------------------------------------

UNKNOWN_NUMBERS = [
    "4242424242424242",  # another platform's test card
    "4761 7300 0000 0029",
    "5555555555554444",
    "4000000000000003",
    "1",
    "0000000000000000",
]


@pytest.mark.proves("assumed D13, 6.4-unknown")
def test_a_card_that_is_not_of_the_table_is_a_400_that_does_not_repeat_a_number(sandbox):
    id = paid_id(sandbox)
    other_stripes = (";5555555555554444=2512101?", "4000000000000002 4111111111111111")

    with unchanged(sandbox):
        for token, nearest in {
            "tok_decline": "tok_declined",
            "tok_visa_debt": "tok_visa_debit",
            "tok_insuficient": "tok_insufficient",
        }.items():
            answer = pay(sandbox, card=token)
            assert error(answer) == (400, "validation_error")
            assert nearest in answer.json()["detail"]
            assert sandbox.journal(answer)["decisions"][-1]["clause"] == "assumed 6.4-unknown"
        for number in UNKNOWN_NUMBERS:
            answer = pay(sandbox, card=number)
            assert error(answer) == (400, "validation_error")
            assert answer.json()["detail"].endswith(
                "only the card numbers of the test cards may be sent to a sandbox"
            )
            shown = sandbox.journal(answer)["request"]["card_reader_data"]
            assert shown == {"paymentCardData": "****"}
        for data in other_stripes:
            assert error(pay(sandbox, card=data)) == (400, "validation_error")
        for card in ("tok_unknown", "5555555555554444"):
            read_now = {"paymentCardData": card}
            answer = operate(sandbox, id, "refund", card_reader_data=read_now)
            assert error(answer) == (400, "validation_error")
    # A refund goes back to the card that paid; what the reader saw now does not choose.
    answer = operate(sandbox, id, "refund", card_reader_data={"paymentCardData": "tok_declined"})
    assert (answer.json()["status"], answer.json()["card"]) == ("refunded", DEFAULT.masked)
