"""The examples of a scenario, with taps and what a receiver gets, are carried out and compared."""

import pytest

from sandbox.app import build
from sandbox.scenario_examples.own_sandbox import run_examples
from sandbox.scenarios.parser import ScenarioError, parse_scenario


def steps(*examples, rules=(), webhooks=()):
    """Number, name and mistakes of every example."""
    document = {
        "name": "mine",
        "rule": list(rules),
        "webhook": list(webhooks),
        "example": list(examples),
    }
    return [
        (one.number, one.name, one.mistakes)
        for one in run_examples(parse_scenario(document), build)
    ]


def mistakes(*examples, **rules):
    """What is wrong with the last of the examples; the others must be right."""
    *before, (_, _, last) = steps(*examples, **rules)
    assert [wrong for _, _, wrong in before if wrong] == []
    return last


def example(operation, *, name=None, expect=None, **send):
    shown = {"send": {"operation": operation} | send, "expect": expect or {}}
    return shown if name is None else shown | {"name": name}


def sale(expect=None, **send):
    return {"send": {"operation": "sale"} | send, "expect": expect or {}}


def ruled(then, **when):
    return {"name": "mine", "when": when, "then": then}


def test_examples_are_known_by_their_names_or_numbers_and_told_the_same_way_twice():
    story = [example("sale", name="first"), example("sale", expect={"null": ["transaction_id"]})]

    (first, (number, name, _)) = told = steps(*story)
    assert first == (1, "first", [])
    assert (number, name) == (2, "example 2")
    assert steps(*story) == told
    assert steps() == []


@pytest.mark.parametrize(
    ("expect", "mistake"),
    [
        ({"http": 402}, "http: expected 402, came 200"),
        ({"error": "conflict"}, "error: expected 'conflict', came None"),
        ({"status": "captured"}, "status: expected 'captured', came 'declined'"),
        ({"status_reason": "approved"}, "status_reason: expected 'approved', came 'invalid_card'"),
        (
            {"event": "transaction.refund"},
            "event: expected 'transaction.refund', came ['transaction.create', 'transaction.sale']",
        ),
        (
            {"events": ["transaction.sale"]},
            "events: expected ['transaction.sale'], came "
            "['transaction.create', 'transaction.sale']",
        ),
        ({"outcome": "approved"}, "outcome: expected 'approved', came 'lost_card'"),
        ({"rule": "default"}, "rule: expected 'default', came 'mine'"),
        ({"fields": {"subtotal": 5}}, "fields.subtotal: expected 5, came 1000"),
        ({"fields": {"qqq": 5}}, "fields.qqq: expected 5, came None"),
        ({"null": ["status"]}, "null: status is 'declined'"),
        # Of an object only the named fields matter.
        (
            {"fields": {"gateway_transaction_response": {"responseCode": "C", "x": 1}}},
            "fields.gateway_transaction_response.x: expected 1, came None",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_every_word_of_expect_is_compared(expect, mistake):
    rule = ruled({"outcome": "lost_card"})

    assert mistakes(example("sale", expect=expect), rules=[rule]) == [mistake]


def test_everything_that_is_as_expected_is_not_a_mistake():
    right = {
        "http": 200,
        "status": "declined",
        "status_reason": "invalid_card",
        "event": "transaction.sale",
        "events": ["transaction.create", "transaction.sale"],
        "outcome": "lost_card",
        "rule": "mine",
        "fields": {"subtotal": 1000, "authorized_amount": 0},
        "null": ["batch_id", "qqq"],
    }

    assert mistakes(example("sale", expect=right), rules=[ruled({"outcome": "lost_card"})]) == []


def test_an_action_is_on_the_payment_before_or_on_the_one_that_is_named():
    first = {"amount": 700, "name": "first"}
    story = [example("auth", **first), example("auth", amount=900)]

    last = example("capture", expect={"status": "captured", "fields": {"total_amount": 900}})
    named = example("capture", on="first", expect={"fields": {"total_amount": 700}})

    assert mistakes(*story, last, named) == []


@pytest.mark.parametrize(
    ("wrong", "mistake"),
    [
        (example("sale", on="later"), "send.on: no example before is named 'later'"),
        (example("refund"), "send.operation: there is no payment yet to refund"),
        (example("close_batch"), "send.operation: there is no payment yet to close_batch"),
        (example("sale", terminal="no"), "send.terminal: the demo world has no 'no'"),
        (example("sale", key="no"), "send.key: the demo world has no 'no'"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_example_that_cannot_be_carried_out_is_a_mistake_and_the_rest_goes_on(wrong, mistake):
    told = steps(wrong, example("sale", expect={"status": "captured"}))

    assert [mistakes for _, _, mistakes in told] == [[mistake], []]


def test_a_payment_whose_answer_was_lost_is_found_again():
    rule = ruled({"fault": "drop_after", "times": 1})

    lost = example("sale", expect={"http": 0, "status": "captured"})
    refund = example("refund", expect={"http": 200, "status": "refunded"})

    assert mistakes(lost, refund, rules=[rule]) == []


def test_a_refused_attempt_shows_its_error_and_the_payment_as_it_is():
    story = [example("auth"), example("capture")]

    late = example("capture", expect={"http": 400, "status": "captured"})
    again = example("refund", event_id="example-1", expect={"error": "duplicate_event"})

    assert mistakes(*story, late, again) == []


def test_time_passes_where_the_example_says_so():
    rule = ruled({"batch": "accepted", "after": "1h"}, operation="close_batch")
    story = [
        example("sale"),
        example("close_batch", expect={"status": "submitted"}),
        example("advance", by="59m", expect={"events": [], "status": "captured"}),
        example("advance", by="1m", expect={"event": "batch.accepted", "status": "settled"}),
    ]

    assert mistakes(*story, rules=[rule]) == []


def test_a_tip_a_card_and_an_answer_of_the_cardholder_can_be_sent():
    story = [
        example("sale", amount=1200, tip_amount=200, expect={"fields": {"tip_amount": 200}}),
        example("tip_adjust", amount=300, expect={"fields": {"tip_amount": 300}}),
        example("sale", card="tok_declined", expect={"rule": "tok_declined"}),
        example("sale", terminal="surcharge_merchant", expect={"status": "surcharge_pending"}),
        example("confirm", confirm=False, expect={"status": "canceled"}),
    ]

    assert mistakes(*story) == []


SALE = example("sale", event_id="a b&c")


def test_find_looks_a_payment_up_by_its_event_id_and_the_next_action_is_on_it():
    found = example("find", event_id="a b&c", expect={"http": 200, "status": "captured"})

    assert mistakes(SALE, found, example("refund", expect={"status": "refunded"})) == []


def test_find_may_find_nothing_and_has_to_say_what_it_looks_for():
    expect = {"http": 200, "status": "captured", "null": ["transaction_id"]}
    found = example("find", event_id="a b&c", expect=expect)

    assert mistakes(found) == ["status: expected 'captured', came None"]
    with pytest.raises(ScenarioError, match="event_id: is what find looks for"):
        steps(example("find"))


def test_names_that_the_demo_world_does_not_have_are_refused_at_the_start():
    rule = ruled({"outcome": "lost_card"}, terminal="merchnt")

    with pytest.raises(ScenarioError, match=r"^rule 1 'mine', when\.terminal: .*'merchant'"):
        steps(example("sale"), rules=[rule])


# --- taps -------------------------------------------------------------------------------------

WAITING = {"name": "waits", "when": {"operation": "sale"}, "then": {"tap": "wait"}}


@pytest.mark.parametrize(
    ("tap", "expect"),
    [
        ({"card": "tok_amex"}, {"status": "captured", "fields": {"card_brand": "Amex"}}),
        ({"outcome": "lost_card"}, {"status": "declined", "outcome": "lost_card"}),
        ({"cancel": "user"}, {"status": "canceled", "status_reason": "user_canceled"}),
        ({"after": "59s", "card": "tok_amex"}, {"status": "captured"}),
        ({"after": "60s"}, {"status": "error", "status_reason": "timed_out"}),
    ],
)
def test_what_happens_at_the_desk_is_part_of_an_example(tap, expect):
    assert mistakes(sale(expect, tap=tap), rules=[WAITING]) == []


@pytest.mark.parametrize(
    ("rules", "send", "said"),
    [
        ([], {"tap": {"card": "tok_amex"}}, "send.tap: the payment did not wait for a tap"),
        ([WAITING], {}, "send: the payment waits for a tap; add tap with its result"),
        (
            [WAITING],
            {"tap": {"after": "5s"}},
            "send.tap: the payment still waits, and the example does not tap or cancel",
        ),
        (
            [WAITING],
            {"tap": {"outcome": "refund_declined"}},
            "send.tap: outcome: refund_declined is for refund, not for sale",
        ),
    ],
)
def test_a_desk_at_which_it_goes_otherwise_is_a_mistake(rules, send, said):
    (mistake,) = mistakes(sale(**send), rules=rules)

    assert mistake.startswith(said)


def test_after_a_mistake_at_the_desk_the_story_goes_on():
    once = WAITING | {"then": {"tap": "wait", "times": 1}}

    told = steps(sale(), sale({"status": "captured"}), rules=[once])

    assert [len(mistakes) for _, _, mistakes in told] == [1, 0]


@pytest.mark.parametrize(
    ("send", "said"),
    [
        ({"tap": {}}, "send.tap: says nothing: give after, card, outcome or cancel"),
        ({"tap": {"card": "tok_amex", "cancel": "user"}}, "send.tap: one of card, outcome and"),
        (
            {"tap": {"card": "tok_amx"}},
            "send.tap.card: 'tok_amx' is not a known test card; did you mean",
        ),
        (
            {"tap": {"outcome": "lost_crd"}},
            "send.tap: 'lost_crd' is not a known outcome; did you mean",
        ),
        ({"operation": "capture", "tap": {"card": "tok_amex"}}, "send.tap: a card is tapped for"),
        ({"by": "5m"}, "send.by: belongs to advance, which needs it"),
        ({"operation": "advance"}, "send.by: belongs to advance, which needs it"),
        (
            {"card": "tok_amx"},
            "send.card: 'tok_amx' is not a known test card; did you mean 'tok_amex'?",
        ),
    ],
)
def test_an_example_that_cannot_be_is_refused_with_its_place(send, said):
    with pytest.raises(ValueError, match=r"^example 1, ") as refused:
        parse_scenario({"name": "mine", "example": [sale(**send)]})

    assert str(refused.value).removeprefix("example 1, ").startswith(said)


# --- webhooks ---------------------------------------------------------------------------------

CREATED, OPENED, SOLD = "transaction.create", "batch.opened", "transaction.sale"


def received(*expected):
    return {"received": [one if isinstance(one, dict) else {"event": one} for one in expected]}


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ([CREATED, OPENED, SOLD], None),
        (
            [CREATED, SOLD],
            f"received: expected ['{CREATED}', '{SOLD}'], came ['{CREATED}', '{OPENED}', '{SOLD}']",
        ),
        (
            [{"event": CREATED, "status": "captured"}, OPENED, SOLD],
            f"received: 1, {CREATED}, status: expected 'captured', came 'pending'",
        ),
        (
            [CREATED, OPENED, {"event": SOLD, "is_genuine": False}],
            f"received: 3, {SOLD}, is_genuine: expected False, came True",
        ),
        (
            [CREATED, OPENED, {"event": SOLD, "is_answered": False}],
            f"received: 3, {SOLD}, is_answered: expected False, came True",
        ),
    ],
)
def test_what_a_receiver_gets_otherwise_is_a_mistake(expected, said):
    assert mistakes(sale(received(*expected))) == ([said] if said else [])


def test_the_receiver_refuses_what_is_forged_and_gets_it_again():
    forged = {"when": {"event": SOLD}, "then": {"signature": "wrong", "times": 1}}

    assert (
        mistakes(
            sale(received(CREATED, OPENED, {"event": SOLD, "is_genuine": False})),
            {"send": {"operation": "advance", "by": "6s"}, "expect": received(SOLD)},
            webhooks=[forged],
        )
        == []
    )


def test_headers_of_the_answer_are_compared():
    limited = {"then": {"fault": "http_429"}}

    right = sale({"headers": {"Retry-After": "1"}})
    wrong = sale({"headers": {"retry-after": "2"}})

    assert mistakes(right, rules=[limited]) == []
    assert mistakes(wrong, rules=[limited]) == ["headers.retry-after: expected '2', came '1'"]


# --- rules on webhooks that cannot be ---------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"then": {}}, "then: says nothing"),
        ({"then": {"times": 1}}, "then: says nothing"),
        ({"then": {"drop": False}}, "then: says nothing"),
        ({"then": {"drop": True, "duplicate": 2}}, "then.duplicate: a dropped webhook is not sent"),
        ({"then": {"before_answer": True, "delay_ms": 5}}, "then.before_answer: a delayed webhook"),
        ({"then": {"duplicate": 1}}, "then.duplicate: "),
        ({"then": {"truncate": -1}}, "then.truncate: "),
        ({"then": {"signature": "old"}}, "then.signature: Input should be 'wrong', 'missing' or"),
        ({"then": {"dorp": True}}, "then.dorp: 'dorp' is not a field here; did you mean 'drop'?"),
        (
            {"when": {"event": "transaction.sal"}, "then": {"drop": True}},
            "when.event: 'transaction.sal' is not a known event; did you mean 'transaction.sale'?",
        ),
        (
            {"when": {"event": OPENED, "transaction_type": "sale"}, "then": {"drop": True}},
            "when.transaction_type: batch.opened has none",
        ),
        (
            {"when": {"status": "captued"}, "then": {"drop": True}},
            "when.status: 'captued' is not a known status; did you mean 'captured'?",
        ),
    ],
)
def test_a_webhook_rule_that_cannot_be_is_refused_with_its_place(rule, said):
    with pytest.raises(ValueError, match=r"^webhook 1, ") as refused:
        parse_scenario({"name": "mine", "webhook": [rule]})

    assert str(refused.value).removeprefix("webhook 1, ").startswith(said)


def test_a_webhook_rule_for_an_account_that_the_world_does_not_have_is_refused():
    rule = {"when": {"account": "merchnt"}, "then": {"drop": True}}

    with pytest.raises(ValueError, match=r"^webhook 1, when.account: .* did you mean 'merchant'"):
        steps(sale(), webhooks=[rule])
