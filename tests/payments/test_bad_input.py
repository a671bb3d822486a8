"""Bad input to payments, transactions and batches: a documented refusal, and nothing changed.

Source: assumed 0.5, 1.8, 2.5, 6.4; spec 2.4-card, 6.1.7.
"""

import pytest

from tests.directory.making import (
    NOBODY,
    account_id,
    location_id,
    terminal_id,
)
from tests.support.payments import act, ask, held, pay, prompted, refused, sold

# --- amounts ----------------------------------------------------------------------------------

NO_AMOUNTS = [
    *(0, -1, -(10**12), 100_000_000, 10**30, 1.0, 10.5, -0.5, 1e3),
    *("", "1000", "10.00", "null", True, False, [], [1000], {}, {"amount": 1}),
]


@pytest.mark.proves("assumed 1.8-amount")
@pytest.mark.parametrize("kind", ["sale", "auth"])
def test_an_initiation_of_no_amount_from_1_to_99999999_is_refused(sandbox, kind):
    before = sandbox.state()

    for amount in (*NO_AMOUNTS, None):
        assert "amount" in refused(sandbox, pay(sandbox, amount, operation=kind)), amount
    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.8-amount")
def test_the_smallest_and_the_largest_amount_are_taken(sandbox):
    assert [sold(sandbox, one)["total_amount"] for one in (1, 99_999_999)] == [1, 99_999_999]


@pytest.mark.proves("assumed 2.1-silent")
@pytest.mark.parametrize("action", ["capture", "increment", "reverse", "refund", "confirm"])
def test_an_action_on_no_such_amount_is_refused(sandbox, action):
    tx = held(sandbox) if action in ("capture", "increment") else prompted(sandbox)
    more = {"confirm": True} if action == "confirm" else {}
    before = sandbox.state()

    for amount in NO_AMOUNTS:
        answer = act(sandbox, tx, action, amount=amount, **more)

        assert "amount" in refused(sandbox, answer), amount
    assert sandbox.state() == before


NO_TIPS = [
    *({}, {"type": "fixed"}, {"type": "percentage"}, {"type": "share", "amount": 1}),
    *({"type": None, "amount": 1}, {"amount": 100}, {"type": "percentage", "amount": 10}),
    *({"type": "fixed", "amount": one} for one in NO_AMOUNTS if one != 0 or one is False),
    *({"type": "percentage", "percentage": one} for one in (-1, 100.1, "18", True, [], 1e999)),
]


@pytest.mark.proves("assumed 1.8-adjust")
def test_a_tip_that_is_none_is_refused(sandbox):
    tx = sold(sandbox)
    before = sandbox.state()

    for body in NO_TIPS:
        refused(sandbox, act(sandbox, tx, "adjust", **body))
        assert sandbox.state() == before, body


@pytest.mark.proves("assumed 1.8-confirm")
def test_an_answer_to_the_surcharge_that_is_not_true_or_false_is_refused(sandbox):
    tx = prompted(sandbox)
    before = sandbox.state()

    for confirm in (None, "true", 1, 0, [], {}, "no"):
        assert "confirm" in refused(sandbox, act(sandbox, tx, "confirm", confirm=confirm))
    assert sandbox.state() == before


# --- breakdowns -------------------------------------------------------------------------------

NO_BREAKDOWNS = {
    "one less": {"subtotal": 999},
    "one more": {"subtotal": 1001},
    "tip not counted": {"subtotal": 1000, "tipAmount": 1},
    "tax not counted": {"subtotal": 1000, "taxAmount": 88},
    "tax by rate not counted": {"subtotal": 1000, "taxRate": 8.75},
    "surcharge not counted": {"subtotal": 1000, "surcharge": {"amount": 30}},
    "no subtotal": {"tipAmount": 1000},
    "negative": {"subtotal": 1100, "tipAmount": -100},
    "float": {"subtotal": 1000.0},
    "text": {"subtotal": "1000"},
    "boolean": {"subtotal": 999, "tipAmount": True},
    "huge": {"subtotal": 10**20},
    "two surcharges": {"subtotal": 970, "surcharge": {"amount": 30, "percentage": 5}},
    "a percentage and a rate": {"subtotal": 970, "surcharge": {"percentage": 3, "rate": 3}},
    "bypass and more": {"subtotal": 970, "surcharge": {"bypass": True, "amount": 30}},
    "a tip of no type": {"subtotal": 900, "tipAmount": 100, "tipType": "share"},
    "a flat surcharge not counted": {"subtotal": 1000, "surchargeAmount": 1},
    "a surcharge twice": {"subtotal": 970, "surcharge": {"amount": 30}, "surchargeAmount": 30},
    "a surcharge of nothing and more": {"subtotal": 1000, "surcharge": {"amount": 0, "rate": 3}},
    "a surcharge that is a number": {"subtotal": 1000, "surcharge": 30},
    "a bypass that is a text": {"subtotal": 1000, "surcharge": {"bypass": "yes"}},
    "a bypass and a percentage": {"subtotal": 1000, "surcharge": {"bypass": True, "percentage": 3}},
    "a rate that is a text": {"subtotal": 1000, "taxRate": "8"},
    "a negative rate": {"subtotal": 1000, "taxRate": -1},
    "a rate above all": {"subtotal": 1000, "taxRate": 10_001},
    "a subtotal of nothing": {"subtotal": 0},
    "a text as a whole": "1000",
    "an array": [1000],
    "nothing in it": {},
}


@pytest.mark.proves("assumed 1.8-sum")
@pytest.mark.parametrize("kind", ["sale", "auth"])
def test_a_breakdown_that_does_not_add_up_is_refused(sandbox, kind):
    before = sandbox.state()

    for why, breakdown in NO_BREAKDOWNS.items():
        refused(sandbox, pay(sandbox, 1000, operation=kind, breakdown=breakdown))
        assert sandbox.state() == before, why


@pytest.mark.proves("assumed 2.5-breakdown")
@pytest.mark.parametrize("action", ["capture", "increment"])
def test_a_follow_up_whose_breakdown_does_not_add_up_is_refused(sandbox, action):
    tx = held(sandbox, 1000)
    before = sandbox.state()

    for breakdown in NO_BREAKDOWNS.values():
        refused(sandbox, act(sandbox, tx, action, amount=1000, breakdown=breakdown))

    assert sandbox.state() == before


# --- places, currencies, details --------------------------------------------------------------


@pytest.mark.proves("assumed 1.8-where, D27")
def test_a_payment_that_names_no_place_is_refused_for_a_key_that_is_not_a_merchants(sandbox):
    before = sandbox.state()

    said = refused(sandbox, ask(sandbox, "POST", "/v3/payment", {"amount": 1000}))

    assert "terminal_id" in said
    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.8-where")
@pytest.mark.parametrize("field", ["terminal_id", "location_id", "account_id"])
def test_a_place_that_is_not_text_is_a_400_and_an_unknown_one_a_404(sandbox, field):
    before = sandbox.state()

    for value in (1, True, [], {}, ["x"], 1.5):
        answer = ask(sandbox, "POST", "/v3/payment", {"amount": 1000, field: value})
        assert field in refused(sandbox, answer)
    for value in (NOBODY, "x", "\u0000", "x" * 10_000, "../../v1/accounts"):
        answer = ask(sandbox, "POST", "/v3/payment", {"amount": 1000, field: value})
        refused(sandbox, answer, 404, "not_found", clause="spec 7-404")

    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.8-where")
def test_places_that_are_not_one_merchants_are_refused(sandbox):
    terminal = terminal_id(sandbox, "merchant")
    patio = location_id(sandbox, "merchant_patio")
    wrong = [
        {"terminal_id": terminal, "account_id": account_id(sandbox, "second_merchant")},
        {"terminal_id": terminal, "location_id": location_id(sandbox, "second_merchant")},
        {"location_id": patio},
        {"account_id": account_id(sandbox, "partner")},
    ]
    before = sandbox.state()

    for places in wrong:
        refused(sandbox, ask(sandbox, "POST", "/v3/payment", {"amount": 1000, **places}))

    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.8-currency")
@pytest.mark.parametrize("currency", ["EUR", "978", "usd", "US", "USDX", "", 840, [], True])
def test_another_currency_than_the_places_own_is_refused(sandbox, currency):
    before = sandbox.state()

    assert "currency" in refused(sandbox, pay(sandbox, currency=currency))

    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.8-details")
@pytest.mark.parametrize(
    "details",
    [
        *({"authorized_amount": 1}, {"captured_amount": None}, {"remaining_amount": {}}),
        *({"a": 1, "remaining_amount": 0}, [], "x", 1, True),
    ],
)
def test_details_that_would_hide_what_the_platform_reports_are_refused(sandbox, details):
    before = sandbox.state()

    assert "additional_details" in refused(sandbox, pay(sandbox, additional_details=details))

    assert sandbox.state() == before


# --- outcomes that are forced -----------------------------------------------------------------


@pytest.mark.proves("assumed D4")
@pytest.mark.parametrize(
    ("sent", "nearest"),
    [
        ("aproved", "approved"),
        ("do_not_honour", "do_not_honor"),
        ("proccessor_timeout", "processor_timeout"),
    ],
)
def test_a_misspelt_outcome_is_refused_with_the_nearest_and_nothing_happens(sandbox, sent, nearest):
    # assumed D4: never a silent success.
    tx = held(sandbox)
    before = sandbox.state()

    answers = [
        pay(sandbox, outcome=sent),
        *(
            act(sandbox, tx, one, outcome=sent, amount=5)
            for one in ("capture", "increment", "reverse")
        ),
    ]

    for answer in answers:
        said = refused(sandbox, answer, clause="assumed D4")
        assert nearest in said
        assert "x-sandbox-outcome" in said
    assert sandbox.state() == before


@pytest.mark.proves("assumed D4")
def test_an_outcome_that_is_sent_twice_is_refused(sandbox):
    headers = [
        (b"x-service-apikey", sandbox.key("merchant").encode()),
        (b"content-type", b"application/json"),
        (b"x-sandbox-outcome", b"approved"),
        (b"x-sandbox-outcome", b"do_not_honor"),
    ]
    body = {"amount": 1000, "terminal_id": terminal_id(sandbox, "merchant")}
    before = sandbox.state()

    refused(sandbox, sandbox.ask("POST", "/v3/payment", headers=headers, json_body=body))

    assert sandbox.state() == before


# --- actions on what is not there -------------------------------------------------------------


@pytest.mark.proves("spec 7-404")
@pytest.mark.parametrize("version", ["v1", "v3"])
@pytest.mark.parametrize(
    "action", ["capture", "increment", "reverse", "adjust", "refund", "confirm"]
)
def test_an_action_on_what_is_not_there_is_a_404_whatever_the_body(sandbox, version, action):
    outside = sold(sandbox, at="other_merchant", by="psp")
    before = sandbox.state()

    for id in (NOBODY, "x", outside["transaction_id"], outside["batch_id"]):
        for body in ({}, {"amount": "x"}, {"confirm": True, "type": "fixed", "amount": 1}):
            answer = act(sandbox, id, action, version=version, by="partner", **body)
            refused(sandbox, answer, 404, "not_found", clause="spec 7-404")

    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.8-standalone")
@pytest.mark.parametrize("id", [None, 1, True, [], {}])
def test_a_refund_by_id_without_one_is_refused(sandbox, id):
    answer = ask(sandbox, "POST", "/v3/refund", {"transaction_id": id})

    assert "transaction_id" in refused(sandbox, answer)
