"""What a transaction says of itself, its place and its people. Source: spec 2.4, assumed 7.1."""

import json
import re
from pathlib import Path

import pytest

from sandbox.domain.currencies import CURRENCIES

FIELDS = {
    "tip_capture_mode": "sale",
    "tax_rate": 8.75,
    "tax_source": "transaction",
    "tax_basis": "subtotal",
    "card_brand": "MasterCard",
    "card": "541333******4111",
    "apple_transaction_id": "",
}
AS_GOLDEN = (
    *("processor_mid", "processor_tid", "merchant_name", "payment_method", "card_type"),
    *("tip_type", "surcharge_rate", "surcharge_source", "surcharge_confirmation_required"),
    *("psp", "device_type", "terminal_details"),
)
"""Fields of a sale that are those of the golden body of its event."""
UNANSWERED = {
    "status": "pending",
    "status_reason": "pending",
    "gateway_transaction_id": None,
    "gateway_transaction_response": None,
    "processor_response_code": None,
    "processor_response_message": None,
    "batch_id": None,
}


@pytest.mark.proves(
    "spec 2.4, 2.4-money, 2.4-rates, 2.4-card, 2.4-response, 2.4-apple, 2.4-parents, 2.4-type",
    "spec 2.4-null-fields, 2.4-history, 2.4-unset, 2.10-shapes",
    "assumed 7.1, 7.1-ids, 7.1-owner, 7.1-merchant-name, 7.3, 2.10, 5.1-codes",
)
def test_a_sale_with_tip_and_tax_shows_every_field_and_nothing_besides(sandbox):
    breakdown = {"subtotal": 1000, "taxRate": 8.75, "tipAmount": 200, "tipType": "fixed"}
    golden = json.loads(Path("fixtures/events/transaction.sale.json").read_text())

    sale = sandbox.sold(1288, breakdown=breakdown, card="tok_mc_credit")

    merchant, partner = (sandbox.account_id(name) for name in ("merchant", "partner"))
    answer, (creation, outcome) = sale["gateway_transaction_response"], sale["history"]
    assert list(sale) == list(golden)
    assert {name: sale[name] for name in FIELDS} == FIELDS
    assert [sale[name] for name in AS_GOLDEN] == [golden[name] for name in AS_GOLDEN]
    assert (sale["mid"], sale["tid"]) == (merchant, sandbox.terminal_id("merchant"))
    assert sale["location_id"] == sandbox.location_id("merchant")
    assert sale["reader_identifier"] == sale["device_id"]
    assert sale["owner_id"] == partner
    assert sale["parent_account_ids"] == [sandbox.account_id("psp"), partner]
    assert {name: creation[name] for name in UNANSWERED} == UNANSWERED
    for name in outcome.keys() - {"amount", "created_at"}:
        assert outcome[name] == sale[name]
        assert name in UNANSWERED or creation[name] == sale[name]
    # Later than the step before, though the clock stands still: assumed 2.10-order.
    assert (creation["created_at"], outcome["created_at"]) == (1772366400000, 1772366400001)
    assert creation["amount"] == outcome["amount"] == sale["total_amount"] == 1288
    assert re.fullmatch(r"\d{6}", answer["approvalCode"])
    assert re.fullmatch(r"[A-Z0-9]{10}", sale["gateway_transaction_id"])
    assert re.fullmatch(r"[0-9a-f]{64}", sale["device_id"])


PROCESSORS = {
    "cfg-tsys-001": ("tsys", "sierra"),
    "cfg-payroc-001": ("payroc", "payroc"),
    "cfg-elavon-001": ("elavon", "viaconex"),
    "cfg-worldpay-001": ("worldpay", "worldpay610"),
    "cfg-fiserv-001": ("fiserv", "rapidconnect"),
    "cfg-pass-001": ("passthrough", "passthrough"),
}


@pytest.mark.proves("assumed 7.1-processors, 7.1-merchant-name")
def test_processor_gateway_and_merchant_name_are_those_of_the_terminal(sandbox):
    shop = sandbox.an_account()["id"]
    numbers = {"mid": "5289003", "tid": "1021"}

    for config, expected in PROCESSORS.items():
        till = sandbox.a_terminal(shop, processor_config_id=config, **numbers)["terminal_id"]
        shown = sandbox.pay(at=till).json()
        assert (shown["processor"], shown["gateway"]) == expected
        assert (shown["processor_mid"], shown["processor_tid"]) == ("5289003", "1021")
    till = sandbox.a_terminal(merchant_name="Bistro Bar")
    assert sandbox.sold(at=till["terminal_id"])["merchant_name"] == "Bistro Bar"


@pytest.mark.proves("assumed 1.8-merchant")
def test_a_payment_belongs_to_the_merchant_of_its_terminal_whatever_the_key(sandbox):
    for by in ("merchant", "partner", "psp"):
        assert sandbox.sold(by=by)["account_id"] == sandbox.account_id("merchant")
    partners = sandbox.a_terminal("partner")["terminal_id"]
    with sandbox.unchanged():
        sandbox.refused(sandbox.pay(at=partners), clause="assumed 1.8-merchant")


@pytest.mark.proves("spec 2.10-values", "assumed 7.1-values")
def test_the_entry_mode_of_a_card_is_shown_as_sent(sandbox):
    for method in ("contactlessIcc", "contactlessMsd", "contact", "swiped", "keyed"):
        assert sandbox.sold(payment_method=method)["payment_method"] == method
    with sandbox.unchanged():
        for method in ("", "chip", "CONTACT", 1, [], True):
            assert "payment_method" in sandbox.refused(sandbox.pay(payment_method=method))


@pytest.mark.proves("spec 2.4-apple", "assumed 7.1")
def test_a_payment_on_ios_has_its_own_id_as_the_apple_transaction_id(sandbox):
    on_ios = sandbox.sold(platform="ios")
    named = sandbox.sold(platform="ios", apple_transaction_id="9F1C")

    assert on_ios["apple_transaction_id"] == on_ios["transaction_id"]
    assert named["apple_transaction_id"] == "9F1C"
    assert sandbox.sold(platform="android")["apple_transaction_id"] == ""


@pytest.mark.proves("assumed 1.8-currency, 7.2, D30")
def test_the_currency_is_that_of_the_location_and_else_that_of_the_terminal(sandbox):
    till = sandbox.a_terminal(currency_code="CAD")["terminal_id"]
    without = sandbox.sold(at=till)
    sandbox.a_location(terminal_id=till, currency="USD")
    euros = sandbox.a_terminal(currency_code="978", tid="00000043")

    assert without["currency"] == "CAD"
    assert sandbox.sold(at=till, currency="USD")["currency"] == "USD"
    assert euros["currency_code"] == "978"
    for currency in ("EUR", "978"):
        assert sandbox.sold(at=euros["terminal_id"], currency=currency)["currency"] == "EUR"
    assert "EUR" in sandbox.refused(sandbox.pay(at=euros["terminal_id"], currency="USD"))


@pytest.mark.proves("assumed D30")
def test_a_currency_that_iso_4217_does_not_have_is_refused(sandbox):
    place = {"account_id": sandbox.account_id("merchant"), "name": "Patio"}
    till = f"/v2/terminals/{sandbox.terminal_id('merchant')}"

    for wrong in ("usd", "US", "XXX", "XTS", "000", "USDX", ""):
        for answer in (
            sandbox.pay(currency=wrong),
            sandbox.post("/v1/locations", place | {"currency": wrong}),
            sandbox.put(till, {"currency_code": wrong}),
        ):
            said = sandbox.refused(answer)
            assert "currency" in said
            assert wrong != "usd" or "'USD'" in said
    assert [CURRENCIES[code].exponent for code in ("EUR", "XCG", "JPY", "BHD")] == [2, 2, 0, 3]
    assert len({one.number for one in CURRENCIES.values()}) == len(CURRENCIES)
    assert all(
        re.fullmatch(r"[A-Z]{3}[0-9]{3}", f"{one.code}{one.number}") for one in CURRENCIES.values()
    )
