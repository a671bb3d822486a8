"""Scenario files are read loudly: what cannot be meant is refused with its place and reason."""

import tomllib
from typing import Any

import jsonschema
import pytest

from sandbox.scenarios.parser import ScenarioError, parse_scenario
from sandbox.scenarios.rules import Rule
from sandbox.scenarios.scenario import Scenario
from sandbox.scenarios.schema import scenario_schema
from sandbox.scenarios.words import AmountRange

APPROVED = 'outcome = "approved"'
CLOSING = 'operation = "close_batch"'


SCHEMA = jsonschema.Draft202012Validator(scenario_schema())


def parsed(toml: str) -> Scenario:
    return parse_scenario({"name": "mine"} | tomllib.loads(toml))


def document(when: str, then: str) -> dict[str, Any]:
    """A scenario of one rule named `mine` with these parts."""
    rule = f"when = {{{when}}}\nthen = {{{then}}}"
    return {"name": "mine", "rule": [{"name": "mine"} | tomllib.loads(rule)]}


def ruled(when: str = "", then: str = APPROVED) -> Rule:
    """The rule named `mine` with these parts. What can be read fits the schema as well."""
    (rule,) = parse_scenario(document(when, then)).rule
    assert SCHEMA.is_valid(document(when, then))
    return rule


def refusal(toml: str) -> ScenarioError:
    with pytest.raises(ScenarioError) as refused:
        parsed(toml)
    return refused.value


def refused_rule(when: str = "", then: str = APPROVED) -> str:
    """Why such a rule cannot be used; it always says which rule it is."""
    with pytest.raises(ScenarioError) as refused:
        ruled(when, then)
    message = str(refused.value)
    assert message.startswith("rule 1 'mine', ")
    hint = message.partition("did you mean ")[2]
    assert refused.value.nearest == (hint.strip("'?") or None)
    return message.removeprefix("rule 1 'mine', ")


# --- what can be said -------------------------------------------------------------------------


@pytest.mark.proves("assumed D24")
def test_a_scenario_needs_a_name_alone():
    scenario = parsed("")

    assert (scenario.name, scenario.about, scenario.rule, scenario.example) == ("mine", "", [], [])


@pytest.mark.parametrize(
    "when",
    [
        *('operation = "sale"', 'operation = ["sale", "refund"]', "amount = 500"),
        *("amount = {min = 5, max = 5}", 'amount = [5, {ends_with = "99"}]'),
        *("tip_amount = {min = 0}", 'currency = "USD"', 'card = "tok_amex"'),
        *('card_brand = ["Visa", "Amex"]', 'card_type = "Debit"', 'terminal = "merchant"'),
        *('location = "merchant"', 'account = ["merchant", "second_merchant"]'),
        *('key = "partner"', 'platform = "ios"', 'processor = "tsys"', 'status = "captured"'),
        *("nth = 3", "nth = [1, 3]", "attempt = 2"),
    ],
)
def test_every_word_of_when_takes_one_value_or_a_list(when):
    ((word, value),) = tomllib.loads(when).items()

    listed = value if isinstance(value, list) else [value]
    values = [AmountRange(**one) if isinstance(one, dict) else one for one in listed]
    assert getattr(ruled(when).when, word) == values


@pytest.mark.parametrize(
    ("when", "then"),
    [
        *[
            ("", then)
            for then in (
                'outcome = "insufficient_funds", times = 2',
                'outcome = "partial_approval"',
                'outcome = "partial_approval", approved_amount = 5',
                "delay_ms = 5",
                "delay_ms = 3_600_000",
                'fault = "http_503"',
                'fault = "drop_after", outcome = "lost_card", delay_ms = 5',
                'tap = "wait", after = "90s"',
            )
        ],
        *[
            (CLOSING, then)
            for then in (
                'batch = "accepted"',
                'batch = "accepted", after = "5m", times = 1',
                'batch = "rejected", after = "PT36H"',
                'batch = "rejected", reason = "hash_mismatch"',
                'batch = "rejected", reason = "OUT OF PAPER"',
                'batch = "partially_accepted", rejected = 1',
                'batch = "partially_accepted", rejected = ["an id"]',
            )
        ],
    ],
)
def test_every_word_of_then_can_be_said_of_an_attempt_or_a_batch(when, then):
    said = ruled(when, then).then

    assert said.model_dump(exclude_unset=True) == tomllib.loads(f"then = {{{then}}}")["then"]


def test_closing_a_batch_can_be_told_by_its_place_and_who_closes_it():
    when = f'{CLOSING}, terminal = "a", account = "b", key = "c", processor = "d", nth = 2'

    assert ruled(when, 'batch = "accepted"').when.nth == [2]


def test_an_impossible_part_of_a_list_of_operations_does_not_affect_the_rest():
    ruled('operation = ["sale", "capture"], status = "authorized"')
    ruled('operation = "capture", attempt = [1, 2]')
    ruled('card = ["tok_amex", "tok_visa_debit"], card_brand = ["Visa", "Amex"]')


# --- misspelt fields --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "place", "nearest"),
    [
        ('abuot = "x"', "abuot", "about"),
        ("[[rules]]", "rules", "rule"),
        ("[[rule]]\nwhn = {}\nthen = {delay_ms = 1}", "rule 1, whn", "when"),
        ("[[rule]]\nthan = {delay_ms = 1}", "rule 1, than", "then"),
        ("[[rule]]\nwhen = {amout = 5}\nthen = {delay_ms = 1}", "rule 1, when.amout", "amount"),
        (
            '[[rule]]\nname = "no"\nwhen = {amount = {mim = 5}}\nthen = {delay_ms = 1}',
            "rule 1 'no', when.amount.mim",
            "min",
        ),
        ('[[rule]]\nthen = {outcom = "approved"}', "rule 1, then.outcom", "outcome"),
        ("[[rule]]\nthen = {delay = 1}", "rule 1, then.delay", "delay_ms"),
        ('[[rule]]\nthen = {qqq = 1, outcome = "approved"}', "rule 1, then.qqq", None),
        (
            '[[example]]\nsend = {operation = "sale", amout = 1}\nexpect = {}',
            "example 1, send.amout",
            "amount",
        ),
        (
            '[[example]]\nname = "no"\nsend = {operation = "sale"}\nexpect = {htp = 1}',
            "example 1 'no', expect.htp",
            "http",
        ),
    ],
)
def test_an_unknown_field_is_refused_with_its_place_and_the_nearest_one(toml, place, nearest):
    error = refusal(toml)

    field = place.split()[-1].split(".")[-1]
    hint = f"; did you mean {nearest!r}?" if nearest else ""
    assert str(error).startswith(f"{place}: {field!r} is not a field here{hint}")
    assert error.nearest == nearest
    assert not SCHEMA.is_valid({"name": "mine"} | tomllib.loads(toml))


def test_the_rule_is_told_by_its_number_and_its_name():
    good = '[[rule]]\nthen = {outcome = "approved"}\n'

    unnamed = refusal(good + "[[rule]]\nthen = {}")
    named = refusal(good + good + '[[rule]]\nname = "third"\nthen = {}')

    assert str(unnamed) == "rule 2, then: says nothing"
    assert str(named) == "rule 3 'third', then: says nothing"


def test_more_mistakes_are_counted_and_the_unknown_field_comes_first():
    error = refusal('[[rule]]\nwhen = {nth = 0}\nthan = {outcome = "approved"}')

    said = "rule 1, than: 'than' is not a field here; did you mean 'then'? (and 2 more)"
    assert str(error) == said


# --- misspelt words ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ('operation = "salle"', "'salle' is not a known operation; did you mean 'sale'?"),
        ('operation = ["sale", "captur"]', "'captur' is not a known operation; did you mean"),
        ('card = "tok_declned"', "'tok_declned' is not a known test card; did you mean"),
        ('card_brand = "visa"', "'visa' is not a known brand of a test card; did you mean"),
        ('card_type = "debit"', "'debit' is not a known type of a test card; did you mean"),
        ('status = "capturd"', "'capturd' is not a known status of a payment; did you mean"),
        ('platform = "andriod"', "'andriod' is not a known platform; did you mean 'android'?"),
        ('platform = "windows"', "'windows' is not a known platform"),
    ],
)
def test_a_misspelt_word_of_when_is_refused_with_the_nearest_one(when, said):
    word = when.partition(" ")[0]

    assert refused_rule(when).startswith(f"when.{word}: {said}")
    assert not SCHEMA.is_valid(document(when, APPROVED))


REJECTED = 'batch = "rejected"'


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ('outcome = "insuficient_funds"', "is not a known outcome; did you mean 'insufficient_fun"),
        ('outcome = "declined"', "is not a known outcome; did you mean 'do_not_honor'?"),
        ('outcome = "decline"', "is not a known outcome; did you mean 'do_not_honor'?"),
        ('outcome = "issuer_declined"', "is not a known outcome; did you mean 'do_not_honor'?"),
        ('outcome = "xyzzy"', "is not a known outcome"),
        ('outcome = "http_503"', "is a transport fault: say fault = 'http_503'"),
        ('fault = "htp_503"', "is not a known transport fault; did you mean 'http_503'?"),
        ('fault = "approved"', "is not a known transport fault"),
        ('reason = "hash_mismach"', "is not a known reason; did you mean 'hash_mismatch'?"),
        ('reason = "x"', "is not a known reason; there are duplicate_batch, "),
    ],
)
def test_a_misspelt_word_of_then_is_refused_with_the_nearest_one(then, said):
    ((word, given),) = tomllib.loads(then).items()
    then = f"{REJECTED}, {then}" if word == "reason" else then

    assert refused_rule(CLOSING, then).startswith(f"then.{word}: {given!r} {said}")
    assert not SCHEMA.is_valid(document(CLOSING, then))


def test_a_misspelt_choice_and_length_of_time_say_what_they_must_be():
    choice = refused_rule(CLOSING, 'batch = "acepted"')
    length = refused_rule(CLOSING, 'batch = "accepted", after = "5 minutes"')
    example = refusal('[[example]]\nsend = {operation = "salle"}\nexpect = {}')

    known = "'accepted', 'rejected', 'partially_accepted' or 'no_result'"
    assert choice == f"then.batch: Input should be {known}; did you mean 'accepted'?"
    assert length.startswith("then.after: must be a duration like")
    assert str(example).startswith("example 1, send.operation: Input should be 'sale', 'auth',")


# --- what can never be ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ('operation = "sale", status = "captured"', "status: what begins a payment finds none"),
        ('operation = ["sale", "auth"], status = "pending"', "status: what begins a payment"),
        ('operation = "sale", attempt = 2', "attempt: what begins a payment is its first"),
        ('operation = "capture", attempt = 1', "attempt: the first attempt at a payment"),
        ("amount = {min = 5, max = 4}", "amount: no amount is both: min is more than max"),
        ("amount = {}", "amount: says nothing: give min, max or ends_with"),
        ("tip_amount = [5, {}]", "tip_amount: says nothing"),
        ('card = "tok_amex", card_brand = "Visa"', "card_brand: tok_amex is Amex"),
        ('card = "tok_amex", card_type = "Debit"', "card_type: tok_amex is a Credit card"),
        ('card = ["tok_visa_debit", "tok_amex"], card_brand = "Visa"', "card_brand: tok_amex"),
        (f"{CLOSING}, amount = 5", "amount: closing a batch has none"),
        (f'{CLOSING}, card = "tok_amex"', "card: closing a batch has none"),
        ('operation = ["sale", "close_batch"]', "operation: close_batch cannot be combined"),
    ],
)
def test_a_rule_that_can_never_fit_is_refused(when, said):
    assert refused_rule(when).startswith(f"when.{said}")


@pytest.mark.parametrize(
    ("when", "then", "said"),
    [
        ("", "", "then: says nothing"),
        ("", "times = 1", "then: says nothing"),
        ("", "approved_amount = 5", "then.approved_amount: belongs to the outcome partial_app"),
        ("", f"{APPROVED}, approved_amount = 5", "then.approved_amount: belongs to the outcome"),
        ("", 'reason = "x y"', "then.reason: belongs to batch = "),
        ("", 'after = "5m"', "then.after: belongs to the result of a batch"),
        ("", "rejected = 1", "then.rejected: belongs to batch = "),
        ("", 'batch = "accepted"', 'then.batch: belongs to when.operation = "close_batch"'),
        (CLOSING, APPROVED, 'then.batch: belongs to when.operation = "close_batch"'),
        (CLOSING, 'batch = "partially_accepted"', "then.rejected: belongs to batch = "),
        (CLOSING, 'batch = "accepted", rejected = 1', "then.rejected: belongs to batch = "),
        (CLOSING, 'batch = "accepted", reason = "comms"', "then.reason: belongs to batch = "),
        (CLOSING, f'batch = "accepted", {APPROVED}', "then.batch: a batch has neither outcome"),
        (CLOSING, 'batch = "accepted", fault = "slow"', "then.batch: a batch has neither"),
        (CLOSING, 'batch = "accepted", delay_ms = 5', "then.batch: a batch has neither"),
        (
            'operation = "sale"',
            'outcome = "refund_declined"',
            "then.outcome: refund_declined is for refund, not for sale",
        ),
        (
            'operation = ["refund", "auth"]',
            'outcome = "refund_declined"',
            "then.outcome: refund_declined is for refund, not for auth",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(when, then, said):
    assert refused_rule(when, then).startswith(said)


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('[[rule]]\nthen = "lost_card"', 'then: must be a table, as in { outcome = "lost_card" }'),
        (
            '[[example]]\nsend = { operation = "sale" }\n'
            'expect = { received = ["transaction.sale"] }',
            'expect.received: must be a table, as in { event = "transaction.sale" }',
        ),
        (
            '[[rule]]\nthen = { outcome = "timed_out", follow = ["late_answer"] }',
            "then.follow: must be a table, as in { after = ..., do = ... }",
        ),
    ],
)
def test_what_must_be_a_table_is_refused_with_one(toml, said):
    assert str(refusal(f'name = "x"\n{toml}')).endswith(said)


def test_an_example_without_expect_is_a_step_that_expects_nothing():
    scenario = parsed('name = "x"\n[[example]]\nsend = { operation = "advance", by = "1d" }')

    assert scenario.example[0].expect.model_fields_set == set()


@pytest.mark.parametrize("amount", ["500", "600", "[500, { max = 600 }]"])
def test_a_partial_approval_of_all_that_can_be_asked_for_is_refused(amount):
    then = 'outcome = "partial_approval", approved_amount = 600'

    assert "then.approved_amount: a part of" in refused_rule(f"amount = {amount}", then)


def test_a_then_of_nothing_but_null_says_nothing():
    with pytest.raises(ScenarioError, match=r"^rule 1, then: says nothing$"):
        parse_scenario({"name": "mine", "rule": [{"then": {"outcome": None}}]})


def test_two_rules_of_one_name_are_refused():
    rule = '[[rule]]\nname = "twice"\nthen = {outcome = "approved"}\n'

    assert str(refusal(rule + rule)) == "rule: two rules are named 'twice'"


# --- wrong types ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "when",
    [
        *("operation = []", "operation = 5", "operation = [5]", "operation = {a = 1}"),
        *('amount = "5"', "amount = 1.0", "amount = true", "amount = -1", "amount = []"),
        *("amount = [[1]]", 'amount = [5, "x"]', 'amount = {ends_with = "x"}'),
        *("amount = {ends_with = 5}", "amount = {min = -1}", "amount = {max = 1.5}"),
        *("tip_amount = -5", "currency = 5", "card = []", "card_brand = 5", "card_type = []"),
        *("terminal = 5", 'terminal = ""', "location = []", "account = [5]", "key = []"),
        *("platform = 5", 'processor = ""', "status = []"),
        *("nth = 0", "nth = 1.0", "nth = true", 'nth = "1"', "nth = []", "nth = [1, 0]"),
        *("nth = {}", "attempt = 0", "attempt = []", 'attempt = "2"'),
    ],
)
def test_a_value_of_when_of_the_wrong_type_is_refused_at_its_field(when):
    message = refused_rule(when)

    word = when.partition(" ")[0]
    assert message.startswith((f"when.{word}: ", f"when.{word}."))
    assert "more)" not in message
    # To JSON, 1.0 is a whole number.
    assert "1.0" in when or not SCHEMA.is_valid(document(when, APPROVED))


@pytest.mark.parametrize(
    "then",
    [
        *("outcome = 5", 'outcome = ["approved"]', 'outcome = ""', "fault = 5", "batch = 5"),
        *("delay_ms = -1", "delay_ms = 3_600_001", "delay_ms = 1.5", 'delay_ms = "5"'),
        *("delay_ms = true", "approved_amount = 0", 'approved_amount = "5"', "reason = 5"),
        *('reason = ""', "rejected = 0", 'rejected = "x"', "rejected = [5]", "after = 5"),
        *("times = 0", "times = true", 'times = "1"'),
    ],
)
def test_a_value_of_then_of_the_wrong_type_is_refused_at_its_field(then):
    message = refused_rule(then=then)

    assert message.startswith(f"then.{then.partition(' ')[0]}: ")
    assert "more)" not in message
    assert not SCHEMA.is_valid(document("", then))


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ([], "must be a table, as in { name = ... }"),
        ({}, "name: Field required"),
        ({"name": 5}, "name: "),
        ({"name": ""}, "name: "),
        ({"name": "x", "about": 5}, "about: "),
        ({"name": "x", "rule": 5}, "rule: "),
        ({"name": "x", "rule": {"then": {}}}, "rule: "),
        ({"name": "x", "rule": [5]}, "rule 1: "),
        ({"name": "x", "rule": [{}]}, "rule 1, then: Field required"),
        ({"name": "x", "rule": [{"then": 5}]}, "rule 1, then: "),
        ({"name": "x", "rule": [{"when": 5, "then": {"delay_ms": 1}}]}, "rule 1, when: "),
        ({"name": "x", "rule": [{"name": 5, "then": {"delay_ms": 1}}]}, "rule 1, name: "),
        ({"name": "x", "example": [{"send": 5, "expect": {}}]}, "example 1, send: "),
    ],
)
def test_a_document_of_the_wrong_build_is_refused_at_its_place(wrong, place):
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(wrong)

    assert str(refused.value).startswith(place)
    assert not SCHEMA.is_valid(wrong)
