"""Bad input to payments, transactions and batches: a documented refusal, and nothing changed.

Source: assumed 0.5, 1.8, 2.5, 6.4; spec 2.4-card, 6.1.7.
"""

import pytest

from tests.support.directory import NOBODY

NO_AMOUNTS = [
    *(0, -1, -(10**12), 100_000_000, 10**30, 1.0, 10.5, -0.5, 1e3),
    *("", "1000", "10.00", "null", True, False, [], [1000], {}, {"amount": 1}),
]


@pytest.mark.proves("assumed 1.8-amount, 2.1-silent")
def test_an_amount_that_is_not_a_number_from_1_to_99999999_is_refused(sandbox):
    assert [sandbox.sold(one)["total_amount"] for one in (1, 99_999_999)] == [1, 99_999_999]
    auth, prompt = sandbox.held(), sandbox.prompted()

    with sandbox.unchanged():
        for amount in (*NO_AMOUNTS, None):
            for operation in ("sale", "auth"):
                assert "amount" in sandbox.refused(sandbox.pay(amount, operation=operation))
        for amount in NO_AMOUNTS:
            for tx, action, more in (
                (auth, "capture", {}),
                (auth, "increment", {}),
                (prompt, "reverse", {}),
                (prompt, "refund", {}),
                (prompt, "confirm", {"confirm": True}),
            ):
                answer = sandbox.act(tx, action, amount=amount, **more)
                assert "amount" in sandbox.refused(answer), (action, amount)


NO_TIPS = [
    *({}, {"type": "fixed"}, {"type": "percentage"}, {"type": "share", "amount": 1}),
    *({"type": None, "amount": 1}, {"amount": 100}, {"type": "percentage", "amount": 10}),
    *({"type": "fixed", "amount": one} for one in NO_AMOUNTS if one != 0 or one is False),
    *({"type": "percentage", "percentage": one} for one in (-1, 100.1, "18", True, [], 1e999)),
]


@pytest.mark.proves("assumed 1.8-adjust, 1.8-confirm")
def test_an_invalid_tip_and_an_invalid_confirmation_are_refused(sandbox):
    sale, prompt = sandbox.sold(), sandbox.prompted()

    with sandbox.unchanged():
        for body in NO_TIPS:
            sandbox.refused(sandbox.act(sale, "adjust", **body))
        no_number = sandbox.act(sale, "adjust", type="percentage", percentage="18")
        assert sandbox.refused(no_number).endswith("percentage: input should be a valid number")
        for confirm in (None, "true", 1, 0, [], {}, "no"):
            answer = sandbox.act(prompt, "confirm", confirm=confirm)
            assert "confirm" in sandbox.refused(answer)


NO_BREAKDOWNS = {
    "one less": {"subtotal": 999},
    "tip not counted": {"subtotal": 1000, "tipAmount": 1},
    "tax not counted": {"subtotal": 1000, "taxAmount": 88},
    "surcharge not counted": {"subtotal": 1000, "surcharge": {"amount": 30}},
    "no subtotal": {"tipAmount": 1000},
    "negative": {"subtotal": 1100, "tipAmount": -100},
    "float": {"subtotal": 1000.0},
    "boolean": {"subtotal": 999, "tipAmount": True},
    "two surcharges": {"subtotal": 970, "surcharge": {"amount": 30, "percentage": 5}},
    "a percentage and a rate": {"subtotal": 970, "surcharge": {"percentage": 3, "rate": 3}},
    "bypass and more": {"subtotal": 970, "surcharge": {"bypass": True, "amount": 30}},
    "a tip of no type": {"subtotal": 900, "tipAmount": 100, "tipType": "share"},
    "a surcharge twice": {"subtotal": 970, "surcharge": {"amount": 30}, "surchargeAmount": 30},
    "a surcharge of nothing and more": {"subtotal": 1000, "surcharge": {"amount": 0, "rate": 3}},
    "a surcharge that is a number": {"subtotal": 1000, "surcharge": 30},
    "a negative rate": {"subtotal": 1000, "taxRate": -1},
    "a rate above all": {"subtotal": 1000, "taxRate": 10_001},
    "an array": [1000],
    "nothing in it": {},
}


@pytest.mark.proves("assumed 1.8-sum, 2.5-breakdown")
def test_a_breakdown_that_does_not_add_up_is_refused(sandbox):
    tx = sandbox.held(1000)

    with sandbox.unchanged():
        for why, breakdown in NO_BREAKDOWNS.items():
            for answer in (
                sandbox.pay(1000, breakdown=breakdown),
                sandbox.pay(1000, operation="auth", breakdown=breakdown),
                sandbox.act(tx, "capture", amount=1000, breakdown=breakdown),
                sandbox.act(tx, "increment", amount=1000, breakdown=breakdown),
            ):
                assert sandbox.refused(answer), why


@pytest.mark.proves("assumed 1.8-where, 1.8-currency, 1.8-details, 1.8-standalone, D27")
def test_places_currencies_and_details_that_cannot_be_are_refused(sandbox):
    terminal = sandbox.terminal_id("merchant")

    with sandbox.unchanged():
        nowhere = sandbox.post("/v3/payment", {"amount": 1000})
        assert "terminal_id" in sandbox.refused(nowhere)
        for field in ("terminal_id", "location_id", "account_id"):
            for value in (1, [], {}):
                assert field in sandbox.refused(sandbox.pay(**{field: value}))
            for value in (NOBODY, "\u0000", "x" * 10_000, "../../v1/accounts"):
                answer = sandbox.pay(**{field: value})
                sandbox.refused(answer, 404, "not_found", clause="spec 7-404")
        for places in (
            {"terminal_id": terminal, "account_id": sandbox.account_id("second_merchant")},
            {"terminal_id": terminal, "location_id": sandbox.location_id("second_merchant")},
            {"location_id": sandbox.location_id("merchant_patio")},
            {"account_id": sandbox.account_id("partner")},
        ):
            sandbox.refused(sandbox.pay(**places))
        # test_fields has those that no currency is.
        for currency in ("EUR", "978", 840, [], True):
            assert "currency" in sandbox.refused(sandbox.pay(currency=currency))
        # They would hide what the platform reports.
        for details in (
            *({"authorized_amount": 1}, {"captured_amount": None}, {"remaining_amount": {}}),
            *({"a": 1, "remaining_amount": 0}, [], "x", 1, True),
        ):
            answer = sandbox.pay(additional_details=details)
            assert "additional_details" in sandbox.refused(answer)
        for id in (None, 1, []):
            answer = sandbox.post("/v3/refund", {"transaction_id": id})
            assert "transaction_id" in sandbox.refused(answer)


@pytest.mark.proves("assumed D4")
def test_an_outcome_that_is_misspelt_or_sent_twice_is_refused_and_nothing_happens(sandbox):
    tx = sandbox.held()

    with sandbox.unchanged():
        for sent, nearest in (("aproved", "approved"), ("do_not_honour", "do_not_honor")):
            for answer in (sandbox.pay(outcome=sent), sandbox.act(tx, "capture", outcome=sent)):
                said = sandbox.refused(answer, clause="assumed D4")
                assert nearest in said
                assert "x-sandbox-outcome" in said
        sandbox.defaults |= {"x-sandbox-outcome": "approved"}
        sandbox.refused(sandbox.pay(outcome="do_not_honor"))
