"""Examples with taps, and with what a receiver of webhooks gets."""

import pytest

from sandbox.app import build
from sandbox.scenario_examples.own_sandbox import run_examples
from sandbox.scenarios.parser import parse_scenario

WAITING = {"name": "waits", "when": {"operation": "sale"}, "then": {"tap": "wait"}}
SALE = {"operation": "sale"}


def mistakes(*examples, rules=(), webhooks=()):
    """What is wrong with the last of the examples; the others must be right."""
    document = {
        "name": "mine",
        "rule": list(rules),
        "webhook": list(webhooks),
        "example": list(examples),
    }
    *before, last = run_examples(parse_scenario(document), build)
    assert [step.mistakes for step in before if step.mistakes] == []
    return last.mistakes


def example(expect=None, **send):
    return {"send": SALE | send, "expect": expect or {}}


# --- taps -------------------------------------------------------------------------------------


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
    assert mistakes(example(expect, tap=tap), rules=[WAITING]) == []


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
    (mistake,) = mistakes(example(**send), rules=rules)

    assert mistake.startswith(said)


def test_after_a_mistake_at_the_desk_the_story_goes_on():
    document = {
        "name": "mine",
        "rule": [WAITING | {"then": {"tap": "wait", "times": 1}}],
        "example": [example(), example({"status": "captured"})],
    }

    first, second = run_examples(parse_scenario(document), build)

    assert (len(first.mistakes), second.mistakes) == (1, [])


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
        parse_scenario({"name": "mine", "example": [example(**send)]})

    assert str(refused.value).removeprefix("example 1, ").startswith(said)


# --- webhooks ---------------------------------------------------------------------------------

CREATED, OPENED, SOLD = "transaction.create", "batch.opened", "transaction.sale"


def received(*expected):
    return {"received": [one if isinstance(one, dict) else {"event": one} for one in expected]}


def test_a_receiver_gets_what_is_announced():
    assert mistakes(example(received(CREATED, OPENED, SOLD))) == []


@pytest.mark.parametrize(
    ("expected", "said"),
    [
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
    assert mistakes(example(received(*expected))) == [said]


def test_the_receiver_refuses_what_is_forged_and_gets_it_again():
    forged = {"when": {"event": SOLD}, "then": {"signature": "wrong", "times": 1}}

    assert (
        mistakes(
            example(received(CREATED, OPENED, {"event": SOLD, "is_genuine": False})),
            {"send": {"operation": "advance", "by": "6s"}, "expect": received(SOLD)},
            webhooks=[forged],
        )
        == []
    )


def test_headers_of_the_answer_are_compared():
    limited = {"then": {"fault": "http_429"}}

    right = example({"headers": {"Retry-After": "1"}})
    wrong = example({"headers": {"retry-after": "2"}})

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
    document = {
        "name": "mine",
        "webhook": [{"when": {"account": "merchnt"}, "then": {"drop": True}}],
        "example": [example()],
    }

    with pytest.raises(ValueError, match=r"^webhook 1, when.account: .* did you mean 'merchant'"):
        list(run_examples(parse_scenario(document), build))
