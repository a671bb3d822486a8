"""Surcharge, tax and tip of an initiation: assumed 2.8, 2.9, D12, D16; the sum rule 1.8-sum."""

import pytest

from tests.support.directory import ADDRESS
from tests.support.payments import kind, ledger, parts

SURCHARGE = ("surcharge_rate", "surcharge_source", "surcharge_basis", "surcharge_applied")
TAX = ("tax_rate", "tax_source", "tax_basis")
UNTAXED, UNSURCHARGED = (0, None, None), (0, None, None, False)


def shows(transaction, names):
    return tuple(transaction[name] for name in names)


def quiet(sandbox, kind, **rates):
    """Rates at a level of the merchant of the cast, none of which asks the cardholder."""
    sandbox.set_rates(kind, "merchant", surcharge_confirmation_required=False, **rates)


# --- where a rate comes from ------------------------------------------------------------------

LEVELS = [
    # location, terminal, account: the most specific that is not null; 0 stops the search
    ((None, None, 1), 1, "account"),
    ((None, 2, 1), 2, "terminal"),
    ((3, 2, 1), 3, "location"),
    ((3, None, 1), 3, "location"),
    ((3, None, None), 3, "location"),
    ((0, 2, 1), 0, None),
    ((None, 0, 1), 0, None),
    ((None, None, 0), 0, None),
    ((None, None, None), 0, None),
    ((4, 0, 0), 4, "location"),
]


@pytest.mark.proves(
    "spec 2.4-unset, 2.4-rates", "assumed 2.8, 2.8-surcharge, 2.8-tax, D16, 2.8-values"
)
@pytest.mark.parametrize(("rates", "rate", "source"), LEVELS)
def test_the_most_specific_level_gives_the_surcharge_and_the_tax(sandbox, rates, rate, source):
    levels = dict(zip(("location", "terminal", "account"), rates, strict=True))
    cents = rate * 100
    for level, value in levels.items():
        quiet(sandbox, level, surcharge_rate=value)
    sale = sandbox.paid(10_000)
    assert parts(sale) == (10_000, 0, 0, cents, 10_000 + cents)
    basis = "total" if source else None
    assert shows(sale, SURCHARGE) == (rate, source, basis, source is not None)
    assert shows(sale, TAX) == UNTAXED
    assert sale["surcharge_confirmation_required"] is (False if source else None)

    for level, value in levels.items():
        sandbox.set_rates(level, "merchant", surcharge_rate=None, tax_rate=value)
    by_location = sandbox.paid(10_000, location_id=sale["location_id"])
    for tx in (sandbox.paid(10_000), sandbox.held(10_000), by_location):
        assert parts(tx) == (10_000, cents, 0, 0, 10_000 + cents)
        assert shows(tx, TAX) == (rate, source, "subtotal" if source else None)
        assert shows(tx, SURCHARGE) == UNSURCHARGED


@pytest.mark.proves("assumed 2.8, 2.8-tax")
def test_the_request_wins_over_every_level_and_a_tax_of_nothing_stops_the_search(sandbox):
    for level in ("location", "terminal", "account"):
        quiet(sandbox, level, surcharge_rate=1, tax_rate=1)
    breakdown = {"subtotal": 10_000, "taxRate": 5, "surcharge": {"percentage": 2}}

    sale = sandbox.paid(10_500, breakdown=breakdown)

    # 2 % of 10500
    assert parts(sale) == (10_000, 500, 0, 210, 10_710)
    assert shows(sale, TAX) == (5, "transaction", "subtotal")
    assert shows(sale, SURCHARGE) == (2, "transaction", "total", True)
    for stated in ({"taxRate": 0}, {"taxAmount": 0}):
        sale = sandbox.paid(at="tax_merchant", breakdown={"subtotal": 1000, **stated})
        assert (parts(sale), shows(sale, TAX)) == ((1000, 0, 0, 0, 1000), UNTAXED)


# --- what it is a percentage of ---------------------------------------------------------------


@pytest.mark.proves("assumed 2.8-surcharge, 2.8-tax, 2.8-values")
def test_surcharge_and_tax_are_counted_on_their_basis_the_surcharge_after_the_tax(sandbox):
    tipped = {"subtotal": 1000, "taxAmount": 100, "tipAmount": 200}
    for basis, cents in {
        "subtotal": 100,
        "subtotal_plus_tax": 110,
        "subtotal_plus_tip": 120,
        "total": 130,
        None: 130,
    }.items():
        quiet(sandbox, "account", surcharge_rate=10, surcharge_basis=basis)
        sale = sandbox.paid(1300, breakdown=tipped)
        assert parts(sale) == (1000, 100, 200, cents, 1300 + cents)
        assert sale["surcharge_basis"] == (basis or "total")
    quiet(sandbox, "account", surcharge_rate=None)
    for basis, cents in {"subtotal": 100, "subtotal_plus_tip": 120, None: 100}.items():
        sandbox.set_rates("account", "merchant", tax_rate=10, tax_basis=basis)
        sale = sandbox.paid(1200, breakdown={"subtotal": 1000, "tipAmount": 200})
        assert parts(sale) == (1000, cents, 200, 0, 1200 + cents)
        assert sale["tax_basis"] == (basis or "subtotal")
    # Configured rates may be basis points: 87.5 is 88; 3.5 % of 1088 is 38.08.
    quiet(sandbox, "account", surcharge_rate=350, surcharge_basis=None, tax_rate=875)
    sale = sandbox.paid(1_000)
    assert (parts(sale), ledger(sale)) == ((1_000, 88, 0, 38, 1_126), (1_126, 1_126, 0, 0))
    assert (sale["tax_rate"], sale["surcharge_rate"]) == (8.75, 3.5)


# --- rounding and units -----------------------------------------------------------------------

ROUNDED = [
    # 37.38 is 37, 485.625 is 486, 87.5 is 88: assumed 2.8-examples
    (
        {"subtotal": 1_136, "taxAmount": 110, "surcharge": {"percentage": 3.0}},
        (1_136, 110, 0, 37, 1_283),
    ),
    (
        {
            "subtotal": 10_000,
            "taxAmount": 875,
            "tipAmount": 3_000,
            "surcharge": {"percentage": 3.5},
        },
        (10_000, 875, 3_000, 486, 14_361),
    ),
    ({"subtotal": 1_000, "taxRate": 8.75}, (1_000, 88, 0, 0, 1_088)),
    # an integer of 100 or more is basis points
    ({"subtotal": 1_000, "taxRate": 875}, (1_000, 88, 0, 0, 1_088)),
    ({"subtotal": 1_000, "surcharge": {"percentage": 350}}, (1_000, 0, 0, 35, 1_035)),
    ({"subtotal": 1_000, "taxRate": 100}, (1_000, 10, 0, 0, 1_010)),
    ({"subtotal": 1_000, "taxRate": 99}, (1_000, 990, 0, 0, 1_990)),
    # 1.15 % of 1000 is 11.5, whatever a binary fraction makes of 1.15
    ({"subtotal": 1_000, "taxRate": 1.15}, (1_000, 12, 0, 0, 1_012)),
    # once per component: 3.5 of tax, not rounded with others
    ({"subtotal": 100, "taxRate": 3.5}, (100, 4, 0, 0, 104)),
    # the older flat form of a surcharge
    ({"subtotal": 1000, "surchargeAmount": 25}, (1000, 0, 0, 25, 1025)),
    ({"subtotal": 1000, "surchargeRate": 2.5}, (1000, 0, 0, 25, 1025)),
    # null says nothing
    (None, (1000, 0, 0, 0, 1000)),
    (
        dict.fromkeys(("taxAmount", "taxRate", "tipAmount", "tipRate", "tipType", "surcharge"))
        | {"subtotal": 1000},
        (1000, 0, 0, 0, 1000),
    ),
]


@pytest.mark.proves("assumed 2.8-rounding, 1.8-sum")
def test_percentages_are_rounded_half_up_once_per_component(sandbox):
    for breakdown, expected in ROUNDED:
        # A surcharge by percentage comes on top of what is asked for.
        is_on_top = breakdown and {"surcharge", "surchargeRate"} & set(breakdown)
        amount = expected[4] - (expected[3] if is_on_top else 0)
        assert parts(sandbox.paid(amount, breakdown=breakdown)) == expected, breakdown
    # The client cannot know a configured tax: it is not in the amount that is asked for.
    sale = sandbox.paid(1200, at="tax_merchant", breakdown={"subtotal": 1000, "tipAmount": 200})
    assert parts(sale) == (1000, 83, 200, 0, 1283)


# --- never surcharged -------------------------------------------------------------------------

SURCHARGING = ("surcharge_merchant", "quiet_surcharge_merchant")


@pytest.mark.proves("assumed 2.8-never, D12, M8")
@pytest.mark.parametrize("card", ["tok_visa_debit", "tok_mc_debit", "tok_mc_prepaid"])
def test_debit_and_prepaid_cards_are_never_surcharged(sandbox, card):
    for at in SURCHARGING:
        sale = sandbox.paid(at=at, card=card)
        assert (kind(sale), parts(sale)) == ("sale/captured/approved", (1000, 0, 0, 0, 1000))
        assert shows(sale, SURCHARGE) == UNSURCHARGED
    with sandbox.unchanged():
        for amount, surcharge in ((1030, {"amount": 30}), (1000, {"percentage": 3})):
            breakdown = {"subtotal": 1000, "surcharge": surcharge}
            for operation in ("sale", "auth"):
                stated = sandbox.pay(amount, card=card, breakdown=breakdown, operation=operation)
                assert stated.error() == (400, "validation_error")


@pytest.mark.proves("assumed 2.8-never, D16")
def test_states_that_prohibit_it_have_no_surcharge_the_locations_before_the_accounts(sandbox):
    quiet(sandbox, "account", surcharge_rate=3)
    for state in ("CT", "MA", "ME", "PR"):
        sandbox.set_rates("location", "merchant", address=ADDRESS | {"state": state})
        sale = sandbox.paid()
        assert parts(sale) == (1000, 0, 0, 0, 1000), state
        assert shows(sale, SURCHARGE) == UNSURCHARGED
        stated = {"subtotal": 1000, "surcharge": {"amount": 30}}
        for operation, body in (("capture", {}), ("increment", {"amount": 1030})):
            answer = sandbox.act(sandbox.held(), operation, breakdown=stated, **body)
            assert f"nothing is surcharged in {state}" in sandbox.refused(answer)
    sandbox.set_rates("location", "merchant", address=ADDRESS)
    quiet(sandbox, "account", address=ADDRESS | {"state": "MA"})
    in_texas = sandbox.paid()
    sandbox.drop("location", "merchant")
    without_location = sandbox.paid()
    assert (in_texas["surcharge_amount"], in_texas["location_id"] is None) == (30, False)
    assert (without_location["surcharge_amount"], without_location["location_id"]) == (0, None)


@pytest.mark.proves("assumed 2.8-never, 2.8-surcharge, D12, Q15")
@pytest.mark.parametrize("at", SURCHARGING)
def test_a_stated_surcharge_is_neither_computed_nor_asked_for(sandbox, at):
    # A preauthorization is surcharged only explicitly.
    assert parts(sandbox.held(at=at)) == (1000, 0, 0, 0, 1000)
    for amount, surcharge, cents, beside_tax in (
        (1000, {"bypass": True}, 0, 0),
        (1041, {"amount": 41}, 41, 41),
        (1000, {"percentage": 2}, 20, 22),
    ):
        breakdown = {"subtotal": 1000, "surcharge": surcharge}
        sale = sandbox.paid(amount, at=at, breakdown=breakdown)
        auth = sandbox.held(amount, at=at, breakdown=breakdown)
        assert (kind(sale), sale["surcharge_source"]) == ("sale/captured/approved", "transaction")
        assert parts(sale) == parts(auth) == (1000, 0, 0, cents, 1000 + cents)
        assert sale["surcharge_applied"] is (cents > 0)
        # Tax is independent of it: 8.25 % of 1000 is 82.5, and 2 % of 1083 is 21.66.
        taxed = sandbox.paid(amount, at="tax_merchant", breakdown=breakdown)
        assert parts(taxed) == (1000, 83, 0, beside_tax, 1083 + beside_tax)
        assert shows(taxed, TAX) == (8.25, "account", "subtotal")


# --- asking -----------------------------------------------------------------------------------


@pytest.mark.proves("assumed 2.8-prompt")
def test_the_cardholder_is_asked_unless_the_most_specific_level_says_no(sandbox):
    # Null at every level asks too: assumed 2.8-prompt.
    for required in (True, None):
        more = {"surcharge_rate": 3, "surcharge_confirmation_required": required}
        sandbox.set_rates("account", "merchant", **more)

        sale = sandbox.paid()

        assert sale["status"] == "surcharge_pending"
        assert sale["surcharge_confirmation_required"] is True
        # assumed D12: the proposal is shown and not yet applied; A is the total without it
        assert parts(sale) == (1000, 0, 0, 30, 1030)
        assert shows(sale, SURCHARGE) == (3, "account", "total", False)
        assert (ledger(sale), sale["batch_id"]) == ((1000, 0, 0, 0), None)
    # One that rounds to nothing is not asked about: 3 % of 16 is 0.48.
    small = sandbox.paid(16)
    assert (kind(small), parts(small)) == ("sale/captured/approved", (16, 0, 0, 0, 16))
    sandbox.set_rates("location", "merchant", surcharge_confirmation_required=False)
    sale = sandbox.paid()
    assert (sale["status"], sale["surcharge_confirmation_required"]) == ("captured", False)


# --- the tip ----------------------------------------------------------------------------------

TIPS = [
    ({}, 0, "fixed", None),
    ({"tipAmount": 0}, 0, "fixed", None),
    ({"tipAmount": 200}, 200, "fixed", "sale"),
    ({"tipAmount": 200, "tipType": "fixed"}, 200, "fixed", "sale"),
    ({"tipAmount": 200, "tipType": "percentage", "tipRate": 20}, 200, "percentage", "sale"),
    ({"tipRate": 18}, 180, "percentage", "sale"),
]


@pytest.mark.proves("spec 2.10-values", "assumed 2.9, Q29")
def test_a_tip_shows_how_and_when_it_was_stated(sandbox):
    for stated, tip, tip_type, mode in TIPS:
        breakdown = {"subtotal": 1000, **stated}
        for operation in ("sale", "auth"):
            tx = sandbox.paid(1000 + tip, operation=operation, breakdown=breakdown)
            assert (tx["tip_amount"], tx["tip_type"]) == (tip, tip_type)
            assert tx["tip_capture_mode"] == mode
    # One that was held keeps its mode at the capture.
    assert sandbox.acted(tx, "capture")["tip_capture_mode"] == "sale"
    for body, mode in (
        ({}, None),
        ({"tip_amount": 100}, "capture"),
        ({"breakdown": {"subtotal": 1000, "tipAmount": 100}}, "capture"),
        ({"breakdown": {"subtotal": 1000}}, None),
    ):
        assert sandbox.acted(sandbox.held(), "capture", **body)["tip_capture_mode"] == mode


@pytest.mark.proves("assumed 2.8-values, 2.5-increment, 2.9")
@pytest.mark.parametrize(
    ("part", "amount", "source"),
    [
        ({"taxAmount": 50}, "tax_amount", "tax_source"),
        ({"surcharge": {"amount": 50}}, "surcharge_amount", "surcharge_source"),
        ({"tipAmount": 50}, "tip_amount", "tip_capture_mode"),
    ],
)
def test_the_parts_of_an_increment_have_a_source(sandbox, part, amount, source):
    # Null means that nothing applied (assumed 2.8-values, 2.9).
    tx = sandbox.held()

    after = sandbox.acted(tx, "increment", amount=150, breakdown={"subtotal": 100, **part})

    assert (after[amount], after[source] is not None) == (50, True)
    assert after[source] == "transaction" or amount == "tip_amount"
