"""Bodies that real clients send and the spec does not forbid. Source: assumed D27, 2.8-stated."""

import pytest

from tests.directory.making import a_terminal, location_id, terminal_id
from tests.support.payments import (
    act,
    acted,
    ask,
    held,
    parts,
    pay,
    refused,
    set_status,
    shown,
    sold,
)

READER = {"paymentCardData": "tok_visa_credit"}


def sale(sandbox, by="merchant", **body):
    return ask(sandbox, "POST", "/v3/payment", {"amount": 1000} | body, by=by)


def notes(sandbox, answer):
    return [one["reason"] for one in sandbox.journal(answer)["decisions"] if one["step"] == "rule"]


@pytest.mark.proves("assumed D27")
def test_a_payment_that_names_no_place_is_made_at_the_only_terminal_of_the_keys_merchant(sandbox):
    for _ in range(2):
        answer = sale(sandbox, by="second_merchant")

        tx = shown(answer)
        assert (tx["account_id"], tx["tid"]) == (
            sandbox.account("second_merchant"),
            terminal_id(sandbox, "second_merchant"),
        )
        assert notes(sandbox, answer) == ["the body names no place"]
    set_status(sandbox, "account", "second_merchant")
    assert sale(sandbox, by="second_merchant").status == 423
    set_status(sandbox, "account", "second_merchant", "active")
    # It is refused where it could be several.
    a_terminal(sandbox, "second_merchant")
    assert "terminal_id" in refused(sandbox, sale(sandbox, by="second_merchant"))


@pytest.mark.proves("assumed D27")
def test_a_location_is_read_as_clients_write_it(sandbox):
    shop, patio = (location_id(sandbox, name) for name in ("merchant", "merchant_patio"))
    for place in (
        lambda one: {"locationID": one},
        lambda one: {"card_reader_data": READER | {"locationID": one}},
    ):
        assert shown(sale(sandbox, **place(shop)))["location_id"] == shop
        foreign = sale(sandbox, **place(location_id(sandbox, "other_merchant")))
        refused(sandbox, foreign, 404, "not_found", clause="spec 7-404")
        assert "locationID" in refused(sandbox, sale(sandbox, location_id=patio, **place(shop)))


DINNER = {"subtotal": 10_000, "taxAmount": 875, "tipAmount": 2_000}


@pytest.mark.proves("assumed 2.8-stated")
def test_a_surcharge_may_be_a_rate_beside_an_amount_that_agrees_with_it(sandbox):
    for rate in ({"percentage": 3.5}, {"rate": 3.5}, {"percentage": 0.035}):
        breakdown = DINNER | {"surcharge": {"amount": 451, **rate}}
        sold_, hold = pay(sandbox, 13_326, breakdown=breakdown), held(sandbox, 13_000)
        captured = acted(sandbox, hold, "capture", amount=13_326, breakdown=breakdown)
        for tx in (shown(sold_), captured):
            assert parts(tx) == (10_000, 875, 2_000, 451, 13_326)
            assert (tx["surcharge_rate"], tx["surcharge_applied"]) == (3.5, True)
    breakdown = DINNER | {"surcharge": {"amount": 451, "percentage": 4}}
    said = refused(sandbox, pay(sandbox, 13_326, breakdown=breakdown))
    assert "451" in said
    assert "4 % of 12875 is 515" in said
    tx = shown(pay(sandbox, 1030, breakdown={"subtotal": 1000, "surcharge": {"rate": 3}}))
    assert (tx["surcharge_amount"], tx["surcharge_rate"]) == (30, 3)


@pytest.mark.proves("assumed 2.8-units")
def test_the_journal_notes_a_rate_below_one_percent(sandbox):
    small = pay(sandbox, 1001, breakdown={"subtotal": 1000, "taxRate": 0.0875})
    usual = pay(sandbox, 1088, breakdown={"subtotal": 1000, "taxRate": 8.75})
    tip = act(sandbox, sold(sandbox), "adjust", type="percentage", percentage=0.18)

    assert notes(sandbox, small) == ["breakdown.taxRate: 0.0875 is read as 0.0875 %, not as 8.75 %"]
    assert notes(sandbox, usual) == []
    assert notes(sandbox, tip) == ["percentage: 0.18 is read as 0.18 %, not as 18 %"]


@pytest.mark.proves("assumed 2.8-caps")
def test_the_journal_notes_a_surcharge_above_the_brands_cap(sandbox):
    for card, surcharge, said in (
        ("tok_visa_credit", 31, []),
        ("tok_visa_credit", 40, ["the surcharge of 40 is above Visa's cap of 3 %"]),
        ("tok_mc_credit", 41, []),
        ("tok_mc_credit", 50, ["the surcharge of 50 is above MasterCard's cap of 4 %"]),
    ):
        breakdown = {"subtotal": 1000, "surcharge": {"amount": surcharge}}
        answer = pay(sandbox, 1000 + surcharge, card=card, breakdown=breakdown)
        assert shown(answer)["surcharge_amount"] == surcharge
        assert notes(sandbox, answer) == said
    tx = held(sandbox, 1000)
    capture = act(sandbox, tx, "capture", breakdown=breakdown)
    assert notes(sandbox, capture) == ["the surcharge of 50 is above Visa's cap of 3 %"]
    assert notes(sandbox, act(sandbox, tx, "refund", amount=5)) == []


def code(tx):
    return tx["gateway_transaction_response"]["approvalCode"]


@pytest.mark.proves("assumed D28")
def test_the_approval_code_of_an_authorization_stays_until_a_refund_gets_its_own(sandbox):
    tx, void = held(sandbox, 1000), held(sandbox, 1000)
    tip = {"type": "fixed", "amount": 200}

    for action, body in (("increment", {"amount": 500}), ("capture", {}), ("adjust", tip)):
        assert code(acted(sandbox, tx, action, **body)) == code(tx)

    assert code(acted(sandbox, tx, "refund", amount=100)) not in (None, code(tx))
    assert code(acted(sandbox, void, "reverse")) == code(void)
