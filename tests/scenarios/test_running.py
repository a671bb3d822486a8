"""Which rule of a running scenario applies to an attempt, and what it does to it and to batches."""

from itertools import product

import pytest

from tests.driving import fresh
from tests.scenarios.running import LOST, carrying, counts, put, running, source, tipping
from tests.support.payments import ACTIONS

NONE = "default default"

# --- the words of when ------------------------------------------------------------------------


WHENS = [
    ({"operation": "sale"}, {}, {"operation": "auth"}),
    ({"operation": ["auth"]}, {"operation": "auth"}, {}),
    ({"operation": ["auth", "sale"]}, {"operation": "auth"}, None),
    ({"amount": 500}, {"amount": 500}, {"amount": 501}),
    ({"amount": [500, 700]}, {"amount": 700}, {"amount": 600}),
    ({"amount": {"min": 500}}, {"amount": 500}, {"amount": 499}),
    ({"amount": {"max": 500}}, {"amount": 500}, {"amount": 501}),
    ({"amount": {"min": 500, "max": 600}}, {"amount": 600}, {"amount": 601}),
    ({"amount": {"ends_with": "05"}}, {"amount": 1305}, {"amount": 1350}),
    ({"amount": {"ends_with": "5", "max": 900}}, {"amount": 895}, {"amount": 905}),
    ({"amount": [7, {"min": 500}]}, {"amount": 7}, {"amount": 8}),
    ({"tip_amount": 200}, tipping(800, 200), {}),
    ({"tip_amount": {"min": 1}}, tipping(900, 100), {}),
    ({"tip_amount": 0}, {}, tipping(900, 100)),
    ({"card": "tok_amex"}, carrying("tok_amex"), {}),
    ({"card": ["tok_amex", "tok_jcb"]}, carrying("tok_jcb"), carrying("tok_diners")),
    ({"card_brand": "Amex"}, carrying("tok_amex"), carrying("tok_jcb")),
    ({"card_type": "Debit"}, carrying("tok_mc_debit"), carrying("tok_mc_credit")),
    ({"terminal": "second_merchant"}, {"at": "second_merchant"}, {}),
    ({"location": "merchant"}, {}, {"at": "second_merchant"}),
    ({"account": ["merchant", "tax_merchant"]}, {}, {"at": "second_merchant"}),
    ({"key": "partner"}, {"by": "partner"}, {"by": "psp"}),
    ({"platform": "ios"}, {"platform": "ios"}, {"platform": "android"}),
    ({"platform": "ios"}, {"platform": "ios"}, {}),
    ({"platform": "ios"}, {"apple_transaction_id": "A1"}, {"platform": "android"}),
    ({"attempt": 1}, {}, None),
    ({"currency": "USD"}, {}, None),
    ({"processor": "tsys"}, {}, None),
    ({"amount": 500, "card": "tok_amex"}, {"amount": 500, **carrying("tok_amex")}, {}),
    ({"amount": 5, "card": "tok_amex"}, {"amount": 5, **carrying("tok_amex")}, {"amount": 5}),
    ({}, {}, None),
    # What no attempt has fits none.
    ({"currency": "EUR"}, None, {}),
    ({"processor": "fiserv"}, None, {}),
]
"""What a rule says, an attempt that fits, and one that does not."""


@pytest.mark.proves("assumed D24")
def test_a_rule_applies_to_the_attempts_that_fit_all_its_words(sandbox):
    for when, fitting, another in WHENS:
        running(sandbox, {"when": when, "then": LOST})

        if fitting is not None:
            answer = sandbox.pay(**fitting)
            assert answer.outcome == "lost_card; source=scenario; rule=1", when
            assert answer.json()["status"] == "declined"
        if another is not None:
            passed_over = sandbox.pay(**another)
            assert source(passed_over) == NONE, when
            assert passed_over.json()["status"] in ("captured", "authorized")


def test_records_are_named_by_cast_name_or_id(sandbox):
    world = sandbox.look("/worlds/default")
    ids = {word: world[f"{word}s"]["merchant"] for word in ("terminal", "location", "account")}
    ids["key"] = world["keys"]["partner"]["id"]
    for word, id in ids.items():
        other = "psp" if word == "key" else "second_merchant"
        for wanted, chooses in ((id, "scenario 1"), ([other, id], "scenario 1"), (other, NONE)):
            running(sandbox, {"when": {word: wanted}, "then": LOST})
            assert source(sandbox.pay()) == chooses, (word, wanted)


def test_every_action_can_be_ruled_by_operation_and_status(sandbox):
    for operation in ACTIONS:
        sandbox.manage("DELETE", "/scenario")
        id = sandbox.ready_for(operation)
        status = sandbox.read(id)["status"]
        others = sorted({"captured", "authorized", "surcharge_pending"} - {status})
        mine = {"operation": operation, "status": status}
        running(
            sandbox,
            {"when": mine | {"status": others}, "then": {"delay_ms": 0}},
            {"when": {"operation": "sale"}, "then": LOST},
            {"name": "mine", "when": mine, "then": {"outcome": "approved"}},
        )

        answer = sandbox.operate(id, operation)

        assert answer.outcome == "approved; source=scenario; rule=mine"
        assert counts(sandbox) == [("1", 0, 0, False), ("2", 0, 0, False), ("mine", 1, 1, False)]


def test_a_rule_matches_the_tip_of_an_action_however_it_is_stated(sandbox):
    running(sandbox, {"when": {"tip_amount": 200}, "then": {"outcome": "invalid_transaction"}})
    sold, held = sandbox.sold(1000), sandbox.held(1000)

    ruled = [
        sandbox.act(sold, "adjust", type="fixed", amount=200),
        sandbox.act(sold, "adjust", type="percentage", percentage=20),
        sandbox.act(held, "capture", **tipping(800, 200)),
        sandbox.act(held, "capture", tip_amount=200),
    ]
    free = [
        sandbox.act(sold, "adjust", type="percentage", percentage=10),
        sandbox.act(held, "capture", tip_amount=100),
    ]

    assert [source(one) for one in ruled] == ["scenario 1"] * 4
    assert [source(one) for one in free] == [NONE] * 2


@pytest.mark.proves("assumed D24")
def test_attempts_on_a_payment_are_counted_from_its_initiation(sandbox):
    rules = [
        {"name": f"attempt {number}", "when": {"attempt": number}, "then": {"delay_ms": 0}}
        for number in range(1, 5)
    ]
    # Those on other payments do not count.
    sandbox.act(sandbox.sold(), "refund", amount=100)
    running(sandbox, *rules)

    begun = sandbox.pay(operation="auth")
    tx = begun.json()
    raised = sandbox.act(tx, "increment", amount=500)
    refused = sandbox.act(tx, "capture", outcome="capture_declined")
    captured = sandbox.act(tx, "capture")

    assert [source(one) for one in (begun, raised, refused, captured)] == [
        *("scenario attempt 1", "scenario attempt 2", "header header", "scenario attempt 4")
    ]


@pytest.mark.proves("assumed D40")
def test_nth_counts_the_attempts_that_an_earlier_rule_answered_and_times_does_not(sandbox):
    running(
        sandbox,
        {"when": {"operation": "sale", "nth": 1}, "then": {"outcome": "do_not_honor"}},
        {"when": {"operation": "sale", "nth": 2}, "then": {"outcome": "insufficient_funds"}},
        {"name": "twice", "then": LOST | {"times": 2}},
    )

    reasons = [sandbox.pay().json()["status_reason"] for _ in range(5)]

    assert reasons == ["declined", "insufficient_funds", "invalid_card", "invalid_card", "approved"]
    assert counts(sandbox) == [("1", 5, 1, False), ("2", 5, 1, False), ("twice", 5, 2, True)]


def test_the_journal_shows_the_choice_and_the_near_misses(sandbox):
    tx = sandbox.sold()
    running(
        sandbox,
        {"when": {"operation": "capture", "amount": 5}, "then": {"delay_ms": 0}},
        {"name": "refunds", "then": {"outcome": "refund_declined", "times": 1}},
        {"name": "once", "when": {"nth": 1}, "then": {"outcome": "stolen_card"}},
        {"name": "dear", "when": {"amount": {"min": 5000}}, "then": LOST},
        {"name": "amex", "when": {"card_brand": "Amex", "currency": "EUR"}, "then": LOST},
        {"name": "spent", "when": {"amount": 1000}, "then": LOST | {"times": 1}},
        {"then": LOST},
    )
    sandbox.pay()
    sandbox.pay()

    entry = sandbox.journal(sandbox.pay())
    refund = sandbox.act(tx, "refund")

    assert entry["outcome"] == {"key": "lost_card", "source": "scenario", "rule": "7"}
    assert entry["near_misses"] == [
        "scenario refunds: not for sale",
        "scenario once: this is number 3",
        "scenario dear: another amount",
        "scenario amex: another currency, card_brand",
        "scenario spent: used up",
    ]
    # A rule whose outcome is not for the operation is not counted.
    assert source(refund) == "scenario refunds"
    assert counts(sandbox)[1] == ("refunds", 1, 1, True)


def test_an_unknown_name_is_refused_and_the_earlier_scenario_stays(sandbox):
    running(sandbox, {"name": "before", "then": LOST})

    for word, name, meant in (
        ("terminal", "merchnt", "merchant"),
        ("terminal", sandbox.account_id("merchant"), None),
        ("location", "merchant_pato", "merchant_patio"),
        ("account", "secnd_merchant", "second_merchant"),
        ("key", "partnr", "partner"),
    ):
        bad = {"name": "bad", "when": {word: ["merchant", name]}, "then": LOST}
        refused = put(sandbox, {"then": LOST}, bad)

        hint = f"; did you mean {meant!r}?" if meant else ""
        said = f"scenario: rule 2 'bad', when.{word}: the world has no {word} {name!r}{hint}"
        assert refused.error() == (400, "validation_error")
        assert refused.json()["message"] == said
        assert refused.json().get("nearest") == meant
    assert source(sandbox.pay()) == "scenario before"


def test_a_scenario_chooses_readings_which_stay(sandbox):
    document = {"name": "x", "readings": {"decline_status": "http_402"}}

    assert sandbox.manage("PUT", "/scenario", document).status < 300

    chosen = sandbox.look("readings")
    assert chosen["decline_status"] == "http_402"
    sandbox.manage("DELETE", "/scenario")
    assert sandbox.look("readings") == chosen
    wrong = {"name": "x", "readings": {"decline_statu": "http_402"}}
    refused = sandbox.manage("PUT", "/scenario", wrong)
    assert refused.status == 400
    assert "decline_status" in refused.body.decode()


CLOSING = {"operation": "close_batch"}


def test_attempts_that_others_decide_are_not_counted_for_a_rule(sandbox):
    running(sandbox, {"when": {"nth": 1}, "then": LOST})

    refused = [sandbox.pay(0), sandbox.pay(1000, breakdown={"subtotal": 1})]
    forced, ruled = sandbox.pay(outcome="stolen_card"), sandbox.pay()

    assert [one.status for one in refused] == [400, 400]
    assert [source(forced), source(ruled)] == ["header header", "scenario 1"]
    assert counts(sandbox) == [("1", 1, 1, False)]


# --- results of batches -----------------------------------------------------------------------


NO_HASH = "RB T09 - BATCH AMOUNT HASHING TOTAL MISMATCH"
NOT_SETTLED = ["captured", "captured"]


RESULTS = [
    ({"batch": "accepted"}, None, ["settled", "settled"]),
    ({"batch": "rejected"}, NO_HASH, NOT_SETTLED),
    ({"batch": "rejected", "reason": "duplicate_batch"}, "QD - DUPLICATE BATCH", NOT_SETTLED),
    ({"batch": "rejected", "reason": "OUT OF PAPER"}, "OUT OF PAPER", NOT_SETTLED),
    (
        {"batch": "partially_accepted", "rejected": 1},
        {"accepted": 1, "rejected": 1},
        ["captured", "settled"],
    ),
]


def test_a_closed_batch_gets_the_result_of_its_rule_even_if_it_would_wait():
    for settlement, (then, response, payments) in product(("auto", "manual"), RESULTS):
        sandbox = fresh()
        sandbox.set_switch("batch.settlement", settlement)
        members = [sandbox.sold(1000), sandbox.sold(2000)]
        running(sandbox, {"name": "mine", "when": CLOSING, "then": then})

        closing = sandbox.close_batch(members[0]["batch_id"])

        result = sandbox.batch(members[0]["batch_id"])
        assert closing.json()["status"] == "submitted"
        assert result["status"] == then["batch"]
        told = {"rejection_reason": response} if isinstance(response, str) else response
        assert result["response"] == told
        assert [sandbox.read(one)["status"] for one in members] == payments
        chosen = [one for one in sandbox.journal(closing)["decisions"] if one["step"] == "outcome"]
        why = [(one["verdict"], one["reason"]) for one in chosen]
        assert why == [(then["batch"], "scenario: mine")]


def test_the_refused_members_of_a_batch_can_be_named(sandbox):
    members = [sandbox.sold() for _ in range(3)]
    named = members[1]["transaction_id"]
    then = {"batch": "partially_accepted", "rejected": [named, "nobody"]}
    running(sandbox, {"when": CLOSING, "then": then})

    sandbox.close_batch(members[0]["batch_id"])

    statuses = [sandbox.read(one)["status"] for one in members]
    assert statuses == ["settled", "captured", "settled"]
    assert sandbox.batch(members[0]["batch_id"])["response"] == {"accepted": 2, "rejected": 1}
    # A batch without any of them is accepted as a whole (spec 6.3-batch.partially_accepted).
    empty = sandbox.opened_batch()["id"]
    sandbox.close_batch(empty)
    result = sandbox.batch(empty)
    assert (result["status"], result["response"]) == ("accepted", None)


def test_a_result_that_an_operator_gave_replaces_the_planned_one(sandbox):
    tx = sandbox.sold()
    then = {"batch": "partially_accepted", "rejected": 1, "after": "5m", "times": 1}
    running(sandbox, {"when": CLOSING, "then": then})
    sandbox.close_batch(tx["batch_id"])

    sandbox.answer_batch(tx["batch_id"], "rejected")
    first = sandbox.batch(tx["batch_id"])["status"]
    sandbox.close_batch(tx["batch_id"])
    second = sandbox.batch(tx["batch_id"])["status"]

    assert [first, second] == ["rejected", "accepted"]
    assert sandbox.advance("10m") == []


def test_a_rule_selects_batches_by_its_words(sandbox):
    for fitting, another in (
        ({"terminal": "merchant"}, {"terminal": "second_merchant"}),
        ({"account": "merchant"}, {"account": "second_merchant"}),
        ({"key": "partner"}, {"key": "psp"}),
        ({"processor": "tsys"}, {"processor": "another"}),
        ({"nth": 1}, {"nth": 2}),
        ({"from": "0s", "until": "1h"}, {"from": "1h"}),
        ({"until": "2027-01-01T00:00:00Z"}, {"until": "2026-01-01T00:00:00Z"}),
    ):
        for when, status in ((fitting, "rejected"), (another, "accepted")):
            batch_id = sandbox.sold()["batch_id"]
            running(sandbox, {"when": CLOSING | when, "then": {"batch": "rejected"}})

            sandbox.close_batch(batch_id)

            assert sandbox.batch(batch_id)["status"] == status, when
    # A rule for attempts says nothing of batches.
    batch_id = sandbox.sold()["batch_id"]
    running(sandbox, {"then": LOST})
    closing = sandbox.close_batch(batch_id)
    assert sandbox.batch(batch_id)["status"] == "accepted"
    assert sandbox.journal(closing)["near_misses"] == []
    assert counts(sandbox) == [("1", 0, 0, False)]


def test_a_close_names_the_near_misses_of_faults_and_of_results(sandbox):
    rules = (
        {"name": "lost", "when": CLOSING | {"nth": 2}, "then": {"fault": "http_504"}},
        {"when": CLOSING | {"terminal": "second_merchant"}, "then": {"batch": "rejected"}},
    )
    batch_id = sandbox.sold()["batch_id"]
    running(sandbox, *rules)

    near_misses = sandbox.journal(sandbox.close_batch(batch_id))["near_misses"]

    assert near_misses == ["scenario lost: this is number 1", "scenario 2: another terminal"]
