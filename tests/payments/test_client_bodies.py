"""Bodies that real clients send and the spec does not forbid. Source: assumed D27, 2.8-stated."""

import pytest

from tests.support.payments import parts

READER = {"paymentCardData": "tok_visa_credit"}


def sale(sandbox, by="merchant", **body):
    return sandbox.post("/v3/payment", {"amount": 1000} | body, by=by)


def notes(sandbox, answer):
    return [one["reason"] for one in sandbox.journal(answer)["decisions"] if one["step"] == "rule"]


@pytest.mark.proves("assumed D27")
def test_a_payment_that_names_no_place_is_made_at_the_only_terminal_of_the_keys_merchant(sandbox):
    for _ in range(2):
        answer = sale(sandbox, by="second_merchant")

        tx = answer.expect(200)
        assert tx["account_id"] == sandbox.account_id("second_merchant")
        assert tx["tid"] == sandbox.terminal_id("second_merchant")
        assert notes(sandbox, answer) == ["the body names no place"]
    sandbox.set_status("account", "second_merchant")
    assert sale(sandbox, by="second_merchant").status == 423
    sandbox.set_status("account", "second_merchant", "active")
    # It is refused where it could be several.
    sandbox.a_terminal("second_merchant")
    assert "terminal_id" in sandbox.refused(sale(sandbox, by="second_merchant"))


@pytest.mark.proves("assumed D27")
def test_a_location_is_read_as_clients_write_it(sandbox):
    shop, patio = (sandbox.location_id(name) for name in ("merchant", "merchant_patio"))
    for place in (
        lambda one: {"locationID": one},
        lambda one: {"card_reader_data": READER | {"locationID": one}},
    ):
        assert sale(sandbox, **place(shop)).expect(200)["location_id"] == shop
        foreign = sale(sandbox, **place(sandbox.location_id("other_merchant")))
        sandbox.refused(foreign, 404, "not_found", clause="spec 7-404")
        assert "locationID" in sandbox.refused(sale(sandbox, location_id=patio, **place(shop)))


DINNER = {"subtotal": 10_000, "taxAmount": 875, "tipAmount": 2_000}


@pytest.mark.proves("assumed 2.8-stated")
def test_a_surcharge_may_be_a_rate_beside_an_amount_that_agrees_with_it(sandbox):
    for rate in ({"percentage": 3.5}, {"rate": 3.5}, {"percentage": 0.035}):
        breakdown = DINNER | {"surcharge": {"amount": 451, **rate}}
        sold_, hold = sandbox.pay(13_326, breakdown=breakdown), sandbox.held(13_000)
        captured = sandbox.acted(hold, "capture", amount=13_326, breakdown=breakdown)
        for tx in (sold_.expect(200), captured):
            assert parts(tx) == (10_000, 875, 2_000, 451, 13_326)
            assert (tx["surcharge_rate"], tx["surcharge_applied"]) == (3.5, True)
    breakdown = DINNER | {"surcharge": {"amount": 451, "percentage": 4}}
    said = sandbox.refused(sandbox.pay(13_326, breakdown=breakdown))
    assert "451" in said
    assert "4 % of 12875 is 515" in said
    tx = sandbox.pay(1030, breakdown={"subtotal": 1000, "surcharge": {"rate": 3}}).expect(200)
    assert (tx["surcharge_amount"], tx["surcharge_rate"]) == (30, 3)


@pytest.mark.proves("assumed 2.8-units")
def test_the_journal_notes_a_rate_below_one_percent(sandbox):
    small = sandbox.pay(1001, breakdown={"subtotal": 1000, "taxRate": 0.0875})
    usual = sandbox.pay(1088, breakdown={"subtotal": 1000, "taxRate": 8.75})
    tip = sandbox.act(sandbox.sold(), "adjust", type="percentage", percentage=0.18)

    assert notes(sandbox, small) == ["breakdown.taxRate: 0.0875 is read as 0.0875 %, not as 8.75 %"]
    assert notes(sandbox, usual) == []
    assert notes(sandbox, tip) == ["percentage: 0.18 is read as 0.18 %, not as 18 %"]


@pytest.mark.proves("assumed C8")
def test_an_unknown_field_is_noted_with_its_path_and_that_of_the_nearest_known_one(sandbox):
    wrong = {"breakdown": {"subtotal": 1000, "surcharge": {"amout": 0}}, "tip": 1, "tip_amount": 1}
    answer = sandbox.pay(1000, card_reader_data={"paymentcarddata": "tok_lost"}, **wrong)

    assert {tuple(note.split("'")[1::2]) for note in sandbox.journal(answer)["notes"]} == {
        ("card_reader_data.paymentcarddata", "card_reader_data.paymentCardData"),
        ("breakdown.surcharge.amout", "breakdown.surcharge.amount"),
        *(("tip", "breakdown.tipAmount"), ("tip_amount", "breakdown.tipAmount")),
    }


@pytest.mark.proves("assumed 2.8-caps")
def test_the_journal_notes_a_surcharge_above_the_brands_cap(sandbox):
    for card, surcharge, said in (
        ("tok_visa_credit", 31, []),
        ("tok_visa_credit", 40, ["the surcharge of 40 is above Visa's cap of 3 %"]),
        ("tok_mc_credit", 41, []),
        ("tok_mc_credit", 50, ["the surcharge of 50 is above MasterCard's cap of 4 %"]),
    ):
        breakdown = {"subtotal": 1000, "surcharge": {"amount": surcharge}}
        answer = sandbox.pay(1000 + surcharge, card=card, breakdown=breakdown)
        assert answer.expect(200)["surcharge_amount"] == surcharge
        assert notes(sandbox, answer) == said
    tx = sandbox.held(1000)
    capture = sandbox.act(tx, "capture", breakdown=breakdown)
    assert notes(sandbox, capture) == ["the surcharge of 50 is above Visa's cap of 3 %"]
    assert notes(sandbox, sandbox.act(tx, "refund", amount=5)) == []


def code(tx):
    return tx["gateway_transaction_response"]["approvalCode"]


@pytest.mark.proves("assumed D28")
def test_the_approval_code_of_an_authorization_stays_until_a_refund_gets_its_own(sandbox):
    tx, void = sandbox.held(1000), sandbox.held(1000)
    tip = {"type": "fixed", "amount": 200}

    for action, body in (("increment", {"amount": 500}), ("capture", {}), ("adjust", tip)):
        assert code(sandbox.acted(tx, action, **body)) == code(tx)

    assert code(sandbox.acted(tx, "refund", amount=100)) not in (None, code(tx))
    assert code(sandbox.acted(void, "reverse")) == code(void)
