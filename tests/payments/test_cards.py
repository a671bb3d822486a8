"""Test cards: what each is, what its issuer answers, and what is refused. Source: assumed 6.4.

The rows are the product's; docs/reference/cards.md has them for the reader's eye.
"""

from itertools import product

import pytest

from sandbox.domain.payments.cards import CARDS, DEFAULT_CARD
from sandbox.domain.payments.outcomes import OUTCOMES
from tests.scenarios.running import carrying

ORDINARY = "approved; source=default; rule=default"


def in_fours(pan):
    return " ".join(pan[at : at + 4] for at in range(0, len(pan), 4))


def card_of(answer):
    shown = answer.json()
    return shown["card_brand"], shown["card_type"], shown["card"]


def looks(card):
    return card.brand, card.type, card.masked


@pytest.mark.proves("spec 2.10-values", "assumed 6.4, 7.1-values")
def test_a_card_is_named_by_token_or_by_number_with_or_without_spaces(sandbox):
    for token, card in CARDS.items():
        outcome = OUTCOMES[card.outcome or "approved"]
        # A card that is plainly approved does not choose (assumed D13).
        rule = f"{card.outcome}; source=card; rule={token}" if card.outcome else ORDINARY
        for sent in (token, card.pan, in_fours(card.pan), " ".join(card.pan)):
            for operation, success in (("sale", "captured"), ("auth", "authorized")):
                answer = sandbox.pay(1000, card=sent, operation=operation)

                assert card_of(answer) == looks(card)
                expected = success if outcome.is_approval else outcome.verdict
                assert answer.json()["status"] == expected, token
                assert answer.json()["status_reason"] == outcome.status_reason
                assert answer.outcome == rule


@pytest.mark.proves("assumed 1.8-reader, D13")
def test_the_card_is_that_of_the_reader_however_it_is_written_and_else_the_default(sandbox):
    for sent in (
        "4000-0000-0000-0002",
        ";4000000000000002=2512101?",  # the second track of a stripe (ISO/IEC 7813)
        "%B4000000000000002^DOE/JANE^2512101?",  # the first
    ):
        answer = sandbox.pay(card=sent)
        assert card_of(answer) == looks(CARDS["tok_declined"])
        assert answer.json()["status"] == "declined"
    flat = sandbox.pay(paymentCardData="tok_amex", generalCardData="anything")
    assert card_of(flat) == looks(CARDS["tok_amex"])
    other = {"id": "reader-1", "generalCardData": "tok_declined", "outcome": 3}
    blobs = (
        *("ARjtB1o8wkI5ZHPxQ1ypVqGmSL0cN2", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "TOK_DECLINED"),
        *("token", "\uff10\uff10\uff10", "", " "),  # digits, but none of ASCII
    )
    for more in (*({"card": blob} for blob in blobs), {}, {"card_reader_data": other}):
        answer = sandbox.pay(**more)
        assert card_of(answer) == looks(DEFAULT_CARD)
        assert (answer.json()["status"], answer.outcome) == ("captured", ORDINARY), more


@pytest.mark.proves("assumed 6.4")
def test_a_card_declines_its_later_operation_every_time_and_no_other(sandbox):
    for token, operation, first in (
        ("tok_refund_fails", "refund", "sale"),
        ("tok_increment_fails", "incremental_auth", "auth"),
    ):
        id = sandbox.paid_id(operation=first, card=token)
        before = sandbox.read(id)
        outcome = CARDS[token].later[operation]

        for _ in range(2):
            answer = sandbox.operate(id, operation)
            assert answer.outcome == f"{outcome}; source=card; rule={token}"
            assert answer.json()["status_reason"] == OUTCOMES[outcome].status_reason

        assert sandbox.read(id) | {"history": []} == before | {"history": []}
        other = sandbox.paid_id(operation="auth", card=token)
        answers = [sandbox.operate(other, one) for one in ("capture", "tip_adjust", "reverse")]
        assert [one.outcome for one in answers] == [ORDINARY] * 3
    # What a card answers at first it does not answer to later operations.
    for token in ("tok_declined", "tok_timeout"):
        id = sandbox.paid_id(operation="auth", card=token, outcome="approved")
        answers = [sandbox.operate(id, one) for one in ("incremental_auth", "capture")]
        assert [answer.outcome for answer in answers] == [ORDINARY] * 2


@pytest.mark.proves("assumed 6.4, 2.7")
def test_the_prepaid_card_approves_five_thousand_of_what_is_more(sandbox):
    for amount, operation in product((1, 5000, 5001, 99_999_999), ("sale", "auth")):
        answer = sandbox.pay(amount, operation=operation, card="tok_mc_prepaid")

        tx, approved = answer.json(), min(amount, 5000)
        left = {"remaining_amount": amount - 5000} if amount > 5000 else {}
        captured = approved if operation == "sale" else 0
        details = {"authorized_amount": approved, "captured_amount": captured}
        assert (tx["total_amount"], tx["additional_details"]) == (amount, details | left)
        assert tx["status_reason"] == ("partial_approval" if left else "approved")
        by_card = "partial_approval; source=card; rule=tok_mc_prepaid"
        assert answer.outcome == (by_card if left else ORDINARY)


UNKNOWN_NUMBERS = [
    "4242424242424242",  # another platform's test card
    *("4761 7300 0000 0029", "5555555555554444", "4000000000000003", "1", "0000000000000000"),
    *(";5555555555554444=2512101?", "4000000000000002 4111111111111111"),
]


@pytest.mark.proves("assumed D13, 6.4-unknown")
def test_an_unknown_card_is_a_400_that_does_not_repeat_a_number(sandbox):
    id = sandbox.paid_id()

    with sandbox.unchanged():
        answer = sandbox.pay(card="tok_visa_debt")
        assert "tok_visa_debit" in sandbox.refused(answer, clause="assumed 6.4-unknown")
        for number in UNKNOWN_NUMBERS:
            answer = sandbox.pay(card=number)
            assert sandbox.refused(answer).endswith(
                "only the card numbers of the test cards may be sent to a sandbox"
            )
            shown = sandbox.journal(answer)["request"]["card_reader_data"]
            assert shown == {"paymentCardData": "****"}
        for card in ("tok_unknown", "5555555555554444"):
            sandbox.refused(sandbox.operate(id, "refund", **carrying(card)))
    # A refund goes back to the card that paid; what the reader saw now does not choose.
    answer = sandbox.operate(id, "refund", **carrying("tok_declined"))
    assert (answer.json()["status"], card_of(answer)) == ("refunded", looks(DEFAULT_CARD))
