"""Surcharge, tax and tip of an initiation: assumed 2.8, 2.9, D12, D16; the sum rule 1.8-sum."""

import pytest

from tests.support.payments import drop_location, kind, ledger, paid, parts, pay, set_rates

SURCHARGE = ("surcharge_rate", "surcharge_source", "surcharge_basis", "surcharge_applied")
TAX = ("tax_rate", "tax_source", "tax_basis")


def shows(transaction, names):
    return tuple(transaction[name] for name in names)


def error(answer):
    return answer.status, answer.json()["error"]


def quiet(sandbox, kind, **rates):
    """Rates at a level of the merchant of the cast, none of which asks the cardholder."""
    set_rates(sandbox, kind, "merchant", surcharge_confirmation_required=False, **rates)


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


@pytest.mark.proves("assumed 2.8, 2.8-surcharge")
@pytest.mark.parametrize(("rates", "rate", "source"), LEVELS)
def test_the_most_specific_level_gives_the_surcharge(sandbox, rates, rate, source):
    for level, value in zip(("location", "terminal", "account"), rates, strict=True):
        quiet(sandbox, level, surcharge_rate=value)

    sale = paid(sandbox, 10_000)

    cents = rate * 100
    assert parts(sale) == (10_000, 0, 0, cents, 10_000 + cents)
    basis = "total" if source else None
    assert shows(sale, SURCHARGE) == (rate, source, basis, source is not None)
    assert sale["surcharge_confirmation_required"] is (False if source else None)


@pytest.mark.proves("assumed 2.8, 2.8-tax")
@pytest.mark.parametrize(("rates", "rate", "source"), LEVELS)
@pytest.mark.parametrize("preauth", [False, True])
def test_the_most_specific_level_gives_the_tax(sandbox, preauth, rates, rate, source):
    for level, value in zip(("location", "terminal", "account"), rates, strict=True):
        set_rates(sandbox, level, "merchant", tax_rate=value)

    sale = paid(sandbox, 10_000, operation="auth" if preauth else "sale")

    cents = rate * 100
    assert parts(sale) == (10_000, cents, 0, 0, 10_000 + cents)
    assert shows(sale, TAX) == (rate, source, "subtotal" if source else None)


@pytest.mark.proves("assumed 2.8")
def test_the_request_wins_over_every_level(sandbox):
    for level in ("location", "terminal", "account"):
        quiet(sandbox, level, surcharge_rate=1, tax_rate=1)
    breakdown = {"subtotal": 10_000, "taxRate": 5, "surcharge": {"percentage": 2}}

    sale = paid(sandbox, 10_500, breakdown=breakdown)

    # 2 % of 10500
    assert parts(sale) == (10_000, 500, 0, 210, 10_710)
    assert shows(sale, TAX) == (5, "transaction", "subtotal")
    assert shows(sale, SURCHARGE) == (2, "transaction", "total", True)


@pytest.mark.proves("assumed 2.8-tax")
@pytest.mark.parametrize("stated", [{"taxRate": 0}, {"taxAmount": 0}])
def test_a_tax_of_nothing_in_the_request_stops_the_search(sandbox, stated):
    sale = paid(sandbox, at="tax_merchant", breakdown={"subtotal": 1000, **stated})

    assert parts(sale) == (1000, 0, 0, 0, 1000)
    assert shows(sale, TAX) == (0, None, None)


@pytest.mark.proves("assumed D16, 2.8")
def test_a_location_that_is_named_gives_its_rates(sandbox):
    # assumed D16: without one, the location that points at the terminal
    set_rates(sandbox, "location", "merchant", tax_rate=10)
    terminal = paid(sandbox)

    by_location = paid(sandbox, location_id=terminal["location_id"])

    assert terminal["tax_source"] == by_location["tax_source"] == "location"
    assert by_location["location_id"] == terminal["location_id"]


# --- what it is a percentage of ---------------------------------------------------------------

TIPPED = {"subtotal": 1000, "taxAmount": 100, "tipAmount": 200}


@pytest.mark.proves("assumed 2.8-surcharge, 2.8-values")
@pytest.mark.parametrize(
    ("basis", "cents"),
    [
        ("subtotal", 100),
        ("subtotal_plus_tax", 110),
        ("subtotal_plus_tip", 120),
        ("total", 130),
        (None, 130),
    ],
)
def test_a_surcharge_is_counted_on_its_basis(sandbox, basis, cents):
    quiet(sandbox, "account", surcharge_rate=10, surcharge_basis=basis)

    sale = paid(sandbox, 1300, breakdown=TIPPED)

    assert parts(sale) == (1000, 100, 200, cents, 1300 + cents)
    assert sale["surcharge_basis"] == (basis or "total")


@pytest.mark.proves("assumed 2.8-tax, 2.8-values")
@pytest.mark.parametrize(
    ("basis", "cents"), [("subtotal", 100), ("subtotal_plus_tip", 120), (None, 100)]
)
def test_a_tax_is_counted_on_its_basis(sandbox, basis, cents):
    set_rates(sandbox, "account", "merchant", tax_rate=10, tax_basis=basis)

    sale = paid(sandbox, 1200, breakdown={"subtotal": 1000, "tipAmount": 200})

    assert parts(sale) == (1000, cents, 200, 0, 1200 + cents)
    assert sale["tax_basis"] == (basis or "subtotal")


@pytest.mark.proves("assumed 2.8-tax")
def test_a_configured_tax_is_added_and_the_surcharge_counted_after_it(sandbox):
    quiet(sandbox, "account", surcharge_rate=3, tax_rate=10)

    sale = paid(sandbox, 1000)

    # tax first, then 3 % of 1100
    assert parts(sale) == (1000, 100, 0, 33, 1133)
    assert ledger(sale) == (1133, 1133, 0, 0)


# --- rounding and units -----------------------------------------------------------------------


@pytest.mark.proves("assumed 2.8-rounding")
@pytest.mark.parametrize(
    ("amount", "breakdown", "expected"),
    [
        # 37.38 is 37, 485.625 is 486, 87.5 is 88: assumed 2.8-examples
        (
            1_246,
            {"subtotal": 1_136, "taxAmount": 110, "surcharge": {"percentage": 3.0}},
            (1_136, 110, 0, 37, 1_283),
        ),
        (
            13_875,
            {"subtotal": 10_000, "taxAmount": 875, "tipAmount": 3_000}
            | {"surcharge": {"percentage": 3.5}},
            (10_000, 875, 3_000, 486, 14_361),
        ),
        (1_088, {"subtotal": 1_000, "taxRate": 8.75}, (1_000, 88, 0, 0, 1_088)),
        # an integer of 100 or more is basis points
        (1_088, {"subtotal": 1_000, "taxRate": 875}, (1_000, 88, 0, 0, 1_088)),
        (1_000, {"subtotal": 1_000, "surcharge": {"percentage": 350}}, (1_000, 0, 0, 35, 1_035)),
        (1_010, {"subtotal": 1_000, "taxRate": 100}, (1_000, 10, 0, 0, 1_010)),
        (1_990, {"subtotal": 1_000, "taxRate": 99}, (1_000, 990, 0, 0, 1_990)),
        # half up, and not to the even one: 0.5 is 1, 2.5 is 3
        (51, {"subtotal": 50, "taxRate": 1}, (50, 1, 0, 0, 51)),
        (253, {"subtotal": 250, "taxRate": 1}, (250, 3, 0, 0, 253)),
        (49, {"subtotal": 49, "taxRate": 1}, (49, 0, 0, 0, 49)),
        # 1.15 % of 1000 is 11.5, whatever a binary fraction makes of 1.15
        (1_012, {"subtotal": 1_000, "taxRate": 1.15}, (1_000, 12, 0, 0, 1_012)),
        # once per component: 3.5 of tax and 4.5 of surcharge, not 8 of both
        (104, {"subtotal": 100, "taxRate": 3.5}, (100, 4, 0, 0, 104)),
    ],
)
def test_percentages_are_rounded_half_up_once_per_component(sandbox, amount, breakdown, expected):
    assert parts(paid(sandbox, amount, breakdown=breakdown)) == expected


def test_the_examples_come_out_of_configured_rates_too(sandbox):
    quiet(sandbox, "terminal", surcharge_rate=3.0)

    sale = paid(sandbox, 1_246, breakdown={"subtotal": 1_136, "taxAmount": 110})

    assert parts(sale) == (1_136, 110, 0, 37, 1_283)


def test_a_configured_rate_may_be_in_basis_points(sandbox):
    quiet(sandbox, "account", surcharge_rate=350, tax_rate=875)

    sale = paid(sandbox, 1_000)

    # 87.5 is 88; 3.5 % of 1088 is 38.08
    assert parts(sale) == (1_000, 88, 0, 38, 1_126)
    assert (sale["tax_rate"], sale["surcharge_rate"]) == (8.75, 3.5)


@pytest.mark.proves("spec 2.4-unset, 2.4-rates")
def test_a_payment_without_rates_shows_zeros_and_nulls(sandbox):
    sale = paid(sandbox)

    assert shows(sale, TAX) == (0, None, None)
    assert shows(sale, SURCHARGE) == (0, None, None, False)
    assert sale["surcharge_confirmation_required"] is None


# --- never surcharged -------------------------------------------------------------------------


@pytest.mark.proves("assumed 2.8-never, M8")
@pytest.mark.parametrize("card", ["tok_visa_debit", "tok_mc_debit", "tok_mc_prepaid"])
@pytest.mark.parametrize("at", ["surcharge_merchant", "quiet_surcharge_merchant"])
def test_debit_and_prepaid_cards_are_never_surcharged(sandbox, at, card):
    sale = paid(sandbox, at=at, card=card)

    assert (kind(sale), parts(sale)) == ("sale/captured/approved", (1000, 0, 0, 0, 1000))
    assert shows(sale, SURCHARGE) == (0, None, None, False)


@pytest.mark.proves("assumed D12, 2.8-never")
@pytest.mark.parametrize("card", ["tok_visa_debit", "tok_mc_debit", "tok_mc_prepaid"])
@pytest.mark.parametrize(
    ("amount", "surcharge"), [(1030, {"amount": 30}), (1000, {"percentage": 3})]
)
@pytest.mark.parametrize("preauth", [False, True])
def test_an_explicit_surcharge_on_them_is_refused(sandbox, preauth, card, amount, surcharge):
    # assumed D12
    breakdown = {"subtotal": 1000, "surcharge": surcharge}

    answer = pay(
        sandbox, amount, card=card, breakdown=breakdown, operation="auth" if preauth else "sale"
    )

    assert error(answer) == (400, "validation_error")


@pytest.mark.proves("assumed 2.8-never")
@pytest.mark.parametrize("state", ["CT", "MA", "ME", "PR"])
def test_states_that_prohibit_it_have_no_surcharge(sandbox, state):
    # assumed D16: the state of the location
    place = {"street_line1": "1 Main St", "city": "Town", "zip": "01234", "country": "USA"}
    quiet(sandbox, "account", surcharge_rate=3)
    set_rates(sandbox, "location", "merchant", address=place | {"state": state})

    sale = paid(sandbox)

    assert parts(sale) == (1000, 0, 0, 0, 1000)
    assert shows(sale, SURCHARGE) == (0, None, None, False)


@pytest.mark.proves("assumed D16")
def test_the_state_is_the_locations_before_it_is_the_accounts(sandbox):
    place = {"street_line1": "1 Main St", "city": "Town", "zip": "01234", "country": "USA"}
    quiet(sandbox, "account", surcharge_rate=3, address=place | {"state": "MA"})

    in_texas = paid(sandbox)
    drop_location(sandbox, "merchant")
    without_location = paid(sandbox)

    assert (in_texas["surcharge_amount"], in_texas["location_id"] is None) == (30, False)
    assert without_location["location_id"] is None
    assert without_location["surcharge_amount"] == 0


@pytest.mark.proves("assumed 2.8-never, Q15")
@pytest.mark.parametrize("at", ["surcharge_merchant", "quiet_surcharge_merchant"])
def test_a_preauthorization_is_surcharged_only_explicitly(sandbox, at):
    automatic = paid(sandbox, at=at, operation="auth")

    explicit = paid(
        *(sandbox, 1020),
        at=at,
        operation="auth",
        breakdown={"subtotal": 1000, "surcharge": {"amount": 20}},
    )

    assert (kind(automatic), parts(automatic)) == (
        *("auth/authorized/approved", (1000, 0, 0, 0, 1000)),
    )
    assert (kind(explicit), parts(explicit)) == (
        *("auth/authorized/approved", (1000, 0, 0, 20, 1020)),
    )


# --- bypass, explicit -------------------------------------------------------------------------


@pytest.mark.proves("assumed 2.8-surcharge")
@pytest.mark.parametrize("at", ["surcharge_merchant", "quiet_surcharge_merchant"])
@pytest.mark.parametrize(
    ("amount", "surcharge", "cents"),
    [(1000, {"bypass": True}, 0), (1041, {"amount": 41}, 41), (1000, {"percentage": 2}, 20)],
)
def test_what_the_request_says_of_the_surcharge_stops_computing_and_asking(
    sandbox, at, amount, surcharge, cents
):
    sale = paid(sandbox, amount, at=at, breakdown={"subtotal": 1000, "surcharge": surcharge})

    assert kind(sale) == "sale/captured/approved"
    assert parts(sale) == (1000, 0, 0, cents, 1000 + cents)
    assert sale["surcharge_source"] == "transaction"
    assert sale["surcharge_applied"] is (cents > 0)


@pytest.mark.parametrize("surcharge", [{"bypass": True}, {"amount": 20}])
def test_tax_is_independent_of_what_is_said_of_the_surcharge(sandbox, surcharge):
    # assumed D12
    breakdown = {"subtotal": 1000, "surcharge": surcharge}
    cents = surcharge.get("amount", 0)

    sale = paid(sandbox, 1000 + cents, at="tax_merchant", breakdown=breakdown)

    # 8.25 % of 1000 is 82.5
    assert parts(sale) == (1000, 83, 0, cents, 1083 + cents)
    assert shows(sale, TAX) == (8.25, "account", "subtotal")


def test_the_older_flat_form_of_a_surcharge_is_understood(sandbox):
    by_amount = paid(sandbox, 1025, breakdown={"subtotal": 1000, "surchargeAmount": 25})
    by_rate = paid(sandbox, 1000, breakdown={"subtotal": 1000, "surchargeRate": 2.5})

    assert parts(by_amount) == parts(by_rate) == (1000, 0, 0, 25, 1025)


# --- asking -----------------------------------------------------------------------------------


@pytest.mark.proves("assumed 2.8-prompt")
@pytest.mark.parametrize(
    ("required", "status"), [(True, "surcharge_pending"), (None, "surcharge_pending")]
)
def test_the_cardholder_is_asked_unless_the_configuration_says_no(sandbox, required, status):
    # Null at every level asks too: assumed 2.8-prompt.
    set_rates(
        *(sandbox, "account", "merchant"),
        surcharge_rate=3,
        surcharge_confirmation_required=required,
    )

    sale = paid(sandbox)

    assert (sale["status"], sale["surcharge_confirmation_required"]) == (status, True)
    # assumed D12: the proposal is shown and not yet applied; A is the total without it
    assert parts(sale) == (1000, 0, 0, 30, 1030)
    assert shows(sale, SURCHARGE) == (3, "account", "total", False)
    assert (ledger(sale), sale["batch_id"]) == ((1000, 0, 0, 0), None)


@pytest.mark.proves("assumed 2.8-prompt")
def test_whether_to_ask_is_the_most_specific_levels_too(sandbox):
    set_rates(
        *(sandbox, "account", "merchant"), surcharge_rate=3, surcharge_confirmation_required=True
    )
    set_rates(sandbox, "location", "merchant", surcharge_confirmation_required=False)

    sale = paid(sandbox)

    assert (sale["status"], sale["surcharge_confirmation_required"]) == ("captured", False)


@pytest.mark.proves("assumed 2.8-prompt")
def test_a_surcharge_that_rounds_to_nothing_is_not_asked_about(sandbox):
    sale = paid(sandbox, 16, at="surcharge_merchant")

    # 3 % of 16 is 0.48
    assert (kind(sale), parts(sale)) == ("sale/captured/approved", (16, 0, 0, 0, 16))
