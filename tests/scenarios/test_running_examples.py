"""The examples of a scenario are carried out and compared; those of the library come true."""

import pytest

from sandbox.app import build
from sandbox.library import folder
from sandbox.scenario_examples.own_sandbox import run_examples
from sandbox.scenarios.parser import ScenarioError, parse_scenario, read_scenario


def steps(*examples, rules=(), webhooks=()):
    """Number, name and mistakes of every example."""
    parts = {"rule": list(rules), "webhook": list(webhooks), "example": list(examples)}
    scenario = parse_scenario({"name": "mine"} | parts)
    return [(one.number, one.name, one.mistakes) for one in run_examples(scenario, build)]


def mistakes(*examples, **rules):
    """What is wrong with the last of the examples; the others must be right."""
    *before, (_, _, last) = steps(*examples, **rules)
    assert [wrong for _, _, wrong in before if wrong] == []
    return last


def example(operation, expect=None, **send):
    return {"send": {"operation": operation} | send, "expect": expect or {}}


def sale(expect=None, **send):
    return example("sale", expect, **send)


LOST = {"name": "mine", "then": {"outcome": "lost_card"}}
WAITING = {"name": "waits", "when": {"operation": "sale"}, "then": {"tap": "wait"}}
CREATED, OPENED, SOLD = "transaction.create", "batch.opened", "transaction.sale"


def received(*expected):
    return {"received": [one if isinstance(one, dict) else {"event": one} for one in expected]}


def test_examples_are_known_by_name_or_number_and_described_alike_in_both_formats():
    story = [sale() | {"name": "first"}, sale({"null": ["transaction_id"]})]

    (first, (number, name, _)) = told = steps(*story)
    assert first == (1, "first", [])
    assert (number, name) == (2, "example 2")
    assert steps(*story) == told
    assert steps() == []


EXPECTED = [
    ({"http": 402}, "http: expected 402, got 200"),
    ({"error": "conflict"}, "error: expected 'conflict', got None"),
    ({"status": "captured"}, "status: expected 'captured', got 'declined'"),
    ({"status_reason": "approved"}, "status_reason: expected 'approved', got 'invalid_card'"),
    ({"event": OPENED}, f"event: expected '{OPENED}', got ['{CREATED}', '{SOLD}']"),
    ({"events": [SOLD]}, f"events: expected ['{SOLD}'], got ['{CREATED}', '{SOLD}']"),
    ({"outcome": "approved"}, "outcome: expected 'approved', got 'lost_card'"),
    ({"rule": "default"}, "rule: expected 'default', got 'mine'"),
    ({"fields": {"subtotal": 5}}, "fields.subtotal: expected 5, got 1000"),
    ({"fields": {"qqq": 5}}, "fields.qqq: expected 5, got None"),
    ({"null": ["status"]}, "null: status is 'declined'"),
    # Of an object only the named fields matter.
    (
        {"fields": {"gateway_transaction_response": {"responseCode": "C", "x": 1}}},
        "fields.gateway_transaction_response.x: expected 1, got None",
    ),
    (received(SOLD), f"received: expected ['{SOLD}'], got ['{CREATED}', '{SOLD}']"),
    (
        received({"event": CREATED, "status": "captured"}, SOLD),
        f"received: 1, {CREATED}, status: expected 'captured', got 'pending'",
    ),
    *(
        (
            received(CREATED, {"event": SOLD, word: False}),
            f"received: 2, {SOLD}, {word}: expected False, got True",
        )
        for word in ("is_genuine", "is_answered")
    ),
]
"""What is expected of a sale with a lost card, and what is said of it."""


def test_every_word_of_expect_is_compared():
    for expect, mistake in EXPECTED:
        assert mistakes(sale(expect), rules=[LOST]) == [mistake]
    expect = {"headers": {"Retry-After": "2"}}
    said = ["headers.Retry-After: expected '2', got '1'"]
    assert mistakes(sale(expect), rules=[{"then": {"fault": "http_429"}}]) == said
    assert mistakes(sale({"rule": "für; b=1"}), rules=[LOST | {"name": "für; b=1"}]) == []


IMPOSSIBLE = [
    (sale(on="later"), "send.on: no earlier example has the name 'later'"),
    (example("refund"), "send.operation: there is no payment yet to refund"),
    (example("close_batch"), "send.operation: there is no payment yet to close_batch"),
    (sale(terminal="no"), "send.terminal: the demo world has no 'no'"),
    (sale(key="no"), "send.key: the demo world has no 'no'"),
    (
        example(
            "find", {"http": 200, "status": "captured", "null": ["transaction_id"]}, event_id="a"
        ),
        "status: expected 'captured', got None",
    ),
    (sale(tap={"card": "tok_amex"}), "send.tap: the payment did not wait for a tap"),
]


def test_an_example_that_cannot_be_carried_out_is_a_mistake_and_the_rest_continues():
    for wrong, mistake in IMPOSSIBLE:
        told = steps(wrong, sale({"status": "captured"}))

        assert [mistakes for _, _, mistakes in told] == [[mistake], []]


def test_an_unexpected_end_at_the_tap_desk_is_a_mistake_and_the_story_continues():
    once = WAITING | {"then": {"tap": "wait", "times": 1}}
    for send, said in (
        ({}, "send: the payment waits for a tap; add tap with its result"),
        (
            {"tap": {"after": "5s"}},
            "send.tap: the payment still waits, and the example does not tap or cancel",
        ),
        (
            {"tap": {"outcome": "refund_declined"}},
            "send.tap: outcome: refund_declined is for refund, not for sale",
        ),
    ):
        (_, _, first), (_, _, second) = steps(sale(**send), sale(), rules=[once])

        assert (len(first), second) == (1, [])
        assert first[0].startswith(said)


def test_a_tap_or_a_cancellation_ends_the_payment():
    for tap, expect in (
        ({"outcome": "lost_card"}, {"status": "declined", "outcome": "lost_card"}),
        ({"after": "59s", "card": "tok_amex"}, {"status": "captured"}),
        ({"after": "60s"}, {"status": "error", "status_reason": "timed_out"}),
    ):
        assert mistakes(sale(expect, tap=tap), rules=[WAITING]) == []


def test_a_tip_is_sent_with_the_subtotal_that_it_leaves():
    fields = {"tip_amount": 200, "subtotal": 1000}

    assert mistakes(sale({"fields": fields}, amount=1200, tip_amount=200)) == []


REFUSED = [
    ({"tap": {}}, "send.tap: says nothing: give after, card, outcome or cancel"),
    ({"tap": {"card": "tok_amex", "cancel": "user"}}, "send.tap: one of card, outcome and"),
    ({"tap": {"card": "tok_amx"}}, "send.tap.card: 'tok_amx' is not a known test card; did you"),
    ({"tap": {"outcome": "lost_crd"}}, "send.tap.outcome: 'lost_crd' is not a known outcome; did"),
    ({"operation": "capture", "tap": {"card": "tok_amex"}}, "send.tap: a card is tapped for"),
    ({"by": "5m"}, "send.by: belongs to advance, which needs it"),
    ({"operation": "advance"}, "send.by: belongs to advance, which needs it"),
    ({"operation": "find"}, "send.event_id: is what find looks for"),
    ({"card": "tok_amx"}, "send.card: 'tok_amx' is not a known test card; did you mean 'tok_amex'"),
]

REFUSED_WEBHOOKS = [
    ({"then": {}}, "then: says nothing"),
    ({"then": {"times": 1}}, "then: says nothing"),
    ({"then": {"drop": False}}, "then: says nothing"),
    ({"then": {"drop": True, "duplicate": 2}}, "then.duplicate: a dropped webhook is not sent"),
    ({"then": {"before_answer": True, "delay_ms": 5}}, "then.before_answer: a delayed webhook"),
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
]


def test_examples_and_rules_on_webhooks_that_cannot_be_are_refused_with_their_place():
    rows = [
        *(("example", example(**{"operation": "sale"} | send), said) for send, said in REFUSED),
        *(("webhook", rule, said) for rule, said in REFUSED_WEBHOOKS),
    ]
    for part, content, said in rows:
        with pytest.raises(ScenarioError) as refused:
            parse_scenario({"name": "mine", part: [content]})

        assert str(refused.value).startswith(f"{part} 1, {said}")


def test_names_that_the_demo_world_does_not_have_are_refused_at_the_start():
    rule = LOST | {"when": {"terminal": "merchnt"}}
    webhook = {"when": {"account": "merchnt"}, "then": {"drop": True}}

    with pytest.raises(ScenarioError, match=r"^rule 1 'mine', when\.terminal: .*'merchant'"):
        steps(sale(), rules=[rule])
    with pytest.raises(ValueError, match=r"^webhook 1, when.account: .* did you mean 'merchant'"):
        steps(sale(), webhooks=[webhook])


FILES = sorted(folder("scenarios").glob("*.toml"))
STORIES = {
    *("approve_all", "declines_by_reason", "insufficient_funds_then_success"),
    *("partial_approval_with_second_tender", "processor_timeout", "response_lost"),
    *("network_outage", "surcharge_declined", "surcharge_expired", "canceled_at_the_reader"),
    *("incremental_auth_declined", "capture_above_authorization", "refund_declined"),
    *("batch_rejected_then_accepted", "batch_partially_accepted", "duplicate_event"),
    *("rate_limited", "slow_processor", "server_errors", "expired_authorization"),
    *("reversal_before_capture", "tip_adjusted_after_capture"),
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_example_comes_true(file):
    told = run_examples(read_scenario(file), build)

    assert [(step.name, step.mistakes) for step in told if step.mistakes] == []


def test_every_story_is_there_named_explained_and_shown():
    scenarios = [read_scenario(file) for file in FILES]

    assert {file.stem for file in FILES} >= STORIES
    assert len({one.name for one in scenarios}) == len(scenarios)
    for scenario in scenarios:
        assert scenario.about.endswith("."), scenario.name
        assert len(scenario.example) >= 2, scenario.name
        assert all(one.expect.model_fields_set for one in scenario.example), scenario.name
