"""Test cards: what each is, what its issuer answers, and what is refused. Source: assumed 6.4."""

import pytest

from tests.payments.card_rows import CARDS
from tests.payments.outcome_rows import ROWS
from tests.support.payments import (
    all_transactions,
    chosen,
    event_types,
    operate,
    paid_id,
    pay,
    read,
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
        answer = pay(sandbox, 1000, card=sent)

        shown = answer.json()
        assert card_of(shown) == (row.brand, row.type, row.masked)
        assert shown["status"] == ("captured" if outcome.status == "ok" else outcome.status)
        assert shown["status_reason"] == outcome.status_reason
        assert chosen(answer) == (ORDINARY if row.outcome == "approved" else rule)


@pytest.mark.proves("assumed 6.4")
@pytest.mark.parametrize("token", CARDS)
def test_a_card_answers_an_authorization_as_it_does_a_sale(sandbox, token):
    outcome = ROWS[CARDS[token].outcome]

    answer = pay(sandbox, 1000, operation="auth", card=token)

    assert answer.json()["status_reason"] == outcome.status_reason
    assert answer.json()["status"] == ("authorized" if outcome.status == "ok" else outcome.status)


@pytest.mark.proves("assumed 1.8-reader")
def test_a_card_may_stand_flat_beside_the_rest(sandbox):
    answer = pay(sandbox, paymentCardData="tok_amex", generalCardData="anything")

    assert card_of(answer.json()) == ("Amex", "Credit", "371449*****8431")


def test_other_fields_of_the_reader_do_not_tell_the_card(sandbox):
    reader = {"id": "reader-1", "generalCardData": "tok_declined", "outcome": 3}

    answer = pay(sandbox, card_reader_data=reader)

    assert card_of(answer.json()) == (DEFAULT.brand, DEFAULT.type, DEFAULT.masked)
    assert answer.json()["status"] == "captured"


# --- later operations -------------------------------------------------------------------------


@pytest.mark.proves("assumed 6.4")
def test_a_refund_to_a_card_that_refuses_refunds_is_declined_every_time(sandbox):
    id = paid_id(sandbox, card="tok_refund_fails")

    answers = [operate(sandbox, id, "refund") for _ in range(2)]

    for answer in answers:
        assert chosen(answer) == "refund_declined; source=card; rule=tok_refund_fails"
        assert (answer.json()["status"], answer.json()["transaction_type"]) == (
            "declined",
            "refund",
        )
    assert (read(sandbox, id)["status"], read(sandbox, id)["refunded"]) == ("captured", 0)


@pytest.mark.proves("assumed 6.4")
def test_an_increment_on_a_card_that_refuses_increments_is_declined_every_time(sandbox):
    id = paid_id(sandbox, operation="auth", card="tok_increment_fails")

    answers = [operate(sandbox, id, "incremental_auth") for _ in range(2)]

    for answer in answers:
        rule = "incremental_auth_declined; source=card; rule=tok_increment_fails"
        assert chosen(answer) == rule
        assert answer.json()["status_reason"] == "incremental_auth_declined"
    assert read(sandbox, id)["total_amount"] == 1000


@pytest.mark.parametrize("token", ["tok_refund_fails", "tok_increment_fails"])
def test_such_a_card_leaves_all_other_operations_alone(sandbox, token):
    id = paid_id(sandbox, operation="auth", card=token)
    others = [("capture", {}), ("tip_adjust", {}), ("reverse", {})]

    answers = [operate(sandbox, id, operation, **more) for operation, more in others]

    assert [chosen(answer) for answer in answers] == [ORDINARY] * 3


@pytest.mark.parametrize("token", ["tok_declined", "tok_timeout", "tok_bad_luhn"])
def test_what_a_card_answers_at_first_it_does_not_answer_to_later_operations(sandbox, token):
    id = paid_id(sandbox, operation="auth", card=token, outcome="approved")

    answers = [operate(sandbox, id, operation) for operation in ("incremental_auth", "capture")]

    assert [chosen(answer) for answer in answers] == [ORDINARY] * 2


# --- the prepaid card -------------------------------------------------------------------------


@pytest.mark.proves("assumed 6.4, 2.7")
@pytest.mark.parametrize("amount", [5001, 5002, 10_000, 99_999_999])
@pytest.mark.parametrize(("operation", "captured"), [("sale", 5000), ("auth", 0)])
def test_the_prepaid_card_approves_five_thousand_of_what_is_more(
    sandbox, amount, operation, captured
):
    answer = pay(sandbox, amount, operation=operation, card="tok_mc_prepaid")

    shown = answer.json()
    assert (shown["status_reason"], shown["total_amount"]) == ("partial_approval", amount)
    assert shown["additional_details"] == {
        "authorized_amount": 5000,
        "captured_amount": captured,
        "remaining_amount": amount - 5000,
    }
    assert shown["gateway_transaction_response"]["responseCode"] == "P"
    assert chosen(answer) == "partial_approval; source=card; rule=tok_mc_prepaid"


@pytest.mark.parametrize("amount", [1, 4999, 5000])
def test_the_prepaid_card_approves_all_of_what_is_not_more(sandbox, amount):
    answer = pay(sandbox, amount, card="tok_mc_prepaid")

    assert answer.json()["status_reason"] == "approved"
    assert answer.json()["additional_details"] == {
        "authorized_amount": amount,
        "captured_amount": amount,
    }
    assert chosen(answer) == ORDINARY


# --- what is no card of the table -------------------------------------------------------------

BLOBS = [
    "ARjtB1o8wkI5ZHPxQ1ypVqGmSL0cN2",
    "eyJhbGciOiJSUzI1NiJ9.e30.c2ln",
    "TOK_DECLINED",
    "token",
    "\uff10\uff10\uff10",  # digits, but none of ASCII
    "",
    " ",
]


@pytest.mark.parametrize(
    "data",
    [
        "4000000000000002",
        "4000 0000 0000 0002",
        "4000-0000-0000-0002",
        ";4000000000000002=2512101?",  # the second track of a stripe (ISO/IEC 7813)
        "%B4000000000000002^DOE/JANE^2512101?",  # the first
    ],
)
def test_the_number_of_a_test_card_is_understood_however_it_is_written(sandbox, data):
    answer = pay(sandbox, card=data)

    assert card_of(answer.json()) == ("Visa", "Credit", "400000******0002")
    assert answer.json()["status"] == "declined"


@pytest.mark.parametrize(
    "data", [";5555555555554444=2512101?", "4000000000000002 4111111111111111"]
)
def test_the_data_of_another_stripe_is_refused(sandbox, data):
    answer = pay(sandbox, card=data)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")


@pytest.mark.proves("assumed D13")
@pytest.mark.parametrize("blob", BLOBS)
def test_an_opaque_blob_of_a_reader_means_the_default_card(sandbox, blob):
    answer = pay(sandbox, card=blob)

    assert card_of(answer.json()) == (DEFAULT.brand, DEFAULT.type, DEFAULT.masked)
    assert (answer.json()["status"], chosen(answer)) == ("captured", ORDINARY)


@pytest.mark.proves("assumed 1.8-reader, D13")
def test_without_a_reader_the_default_card_is_meant(sandbox):
    answer = pay(sandbox)

    assert card_of(answer.json()) == (DEFAULT.brand, DEFAULT.type, DEFAULT.masked)


@pytest.mark.proves("assumed D13")
@pytest.mark.parametrize(
    ("token", "nearest"),
    [
        ("tok_decline", "tok_declined"),
        ("tok_visa_debt", "tok_visa_debit"),
        ("tok_insuficient", "tok_insufficient"),
    ],
)
def test_an_unknown_token_is_a_400_that_names_the_nearest(sandbox, token, nearest):
    answer = pay(sandbox, card=token)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert nearest in answer.json()["detail"]
    assert sandbox.journal(answer)["decisions"][-1]["clause"] == "assumed 6.4-unknown"
    assert event_types(sandbox, answer) == []
    assert all_transactions(sandbox) == 0


UNKNOWN_NUMBERS = [
    "4242424242424242",  # another platform's test card
    "4761 7300 0000 0029",
    "5555555555554444",
    "4000000000000003",
    "1",
    "0000000000000000",
]


@pytest.mark.proves("assumed D13, 6.4-unknown")
@pytest.mark.parametrize("number", UNKNOWN_NUMBERS)
def test_a_number_that_is_not_of_the_table_is_a_400_that_does_not_repeat_it(sandbox, number):
    answer = pay(sandbox, card=number)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert answer.json()["detail"].endswith(
        "only the card numbers of the test cards may be sent to a sandbox"
    )
    assert sandbox.journal(answer)["request"]["card_reader_data"] == {"paymentCardData": "****"}
    assert all_transactions(sandbox) == 0


@pytest.mark.parametrize("card", ["tok_unknown", "5555555555554444"])
def test_a_refund_refuses_an_unknown_card_as_well(sandbox, card):
    id = paid_id(sandbox)

    answer = operate(sandbox, id, "refund", card_reader_data={"paymentCardData": card})

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert read(sandbox, id)["status"] == "captured"


def test_a_refund_with_another_card_of_the_table_is_served(sandbox):
    id = paid_id(sandbox)

    answer = operate(sandbox, id, "refund", card_reader_data={"paymentCardData": "tok_declined"})

    # It goes back to the card that paid; what the reader saw now does not choose.
    assert (answer.json()["status"], answer.json()["card"]) == ("refunded", DEFAULT.masked)
