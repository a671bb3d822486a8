"""Scenario files are read loudly: what cannot be meant is refused with its place and reason."""

import tomllib

import pytest

from sandbox.scenarios.parser import ScenarioError, parse_scenario
from sandbox.scenarios.rules import Rule
from sandbox.scenarios.scenario import Scenario
from sandbox.scenarios.words import AmountRange

APPROVED = 'outcome = "approved"'
CLOSING = 'operation = "close_batch"'


def parsed(toml: str) -> Scenario:
    return parse_scenario({"name": "mine"} | tomllib.loads(toml))


def ruled(when: str = "", then: str = APPROVED) -> Rule:
    """The rule named `mine` with these parts."""
    rule = f'[[rule]]\nname = "mine"\nwhen = {{{when}}}\nthen = {{{then}}}'
    return parsed(rule).rule[0]


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
    ("when", "word", "values"),
    [
        ('operation = "sale"', "operation", ["sale"]),
        ('operation = ["sale", "refund"]', "operation", ["sale", "refund"]),
        ("amount = 500", "amount", [500]),
        ("amount = {min = 5, max = 5}", "amount", [AmountRange(min=5, max=5)]),
        ('amount = [5, {ends_with = "99"}]', "amount", [5, AmountRange(ends_with="99")]),
        ("tip_amount = {min = 0}", "tip_amount", [AmountRange(min=0)]),
        ('currency = "USD"', "currency", ["USD"]),
        ('card = "tok_amex"', "card", ["tok_amex"]),
        ('card_brand = ["Visa", "Amex"]', "card_brand", ["Visa", "Amex"]),
        ('card_type = "Debit"', "card_type", ["Debit"]),
        ('terminal = "merchant"', "terminal", ["merchant"]),
        ('location = "merchant"', "location", ["merchant"]),
        ('account = ["merchant", "second_merchant"]', "account", ["merchant", "second_merchant"]),
        ('key = "partner"', "key", ["partner"]),
        ('platform = "ios"', "platform", ["ios"]),
        ('processor = "tsys"', "processor", ["tsys"]),
        ('status = "captured"', "status", ["captured"]),
        ("nth = 3", "nth", [3]),
        ("nth = [1, 3]", "nth", [1, 3]),
        ("attempt = 2", "attempt", [2]),
    ],
)
def test_every_word_of_when_takes_one_value_or_a_list(when, word, values):
    assert getattr(ruled(when).when, word) == values


@pytest.mark.parametrize(
    "then",
    [
        'outcome = "insufficient_funds", times = 2',
        'outcome = "partial_approval"',
        'outcome = "partial_approval", approved_amount = 5',
        "delay_ms = 5",
        "delay_ms = 3_600_000",
        'fault = "http_503"',
        'fault = "drop_after", outcome = "lost_card", delay_ms = 5',
    ],
)
def test_every_word_of_then_can_be_said_of_an_attempt(then):
    said = ruled(then=then).then

    assert said.model_dump(exclude_unset=True) == tomllib.loads(f"then = {{{then}}}")["then"]


@pytest.mark.parametrize(
    "then",
    [
        'batch = "accepted"',
        'batch = "accepted", after = "5m", times = 1',
        'batch = "rejected", after = "PT36H"',
        'batch = "rejected", reason = "hash_mismatch"',
        'batch = "rejected", reason = "OUT OF PAPER"',
        'batch = "partially_accepted", rejected = 1',
        'batch = "partially_accepted", rejected = ["an id"]',
    ],
)
def test_every_word_of_then_can_be_said_of_a_batch(then):
    said = ruled(CLOSING, then).then

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
        (
            'operation = "salle"',
            "operation: 'salle' is not a known operation; did you mean 'sale'?",
        ),
        (
            'operation = ["sale", "captur"]',
            "operation: 'captur' is not a known operation; did you mean",
        ),
        ('card = "tok_declned"', "card: 'tok_declned' is not a known test card; did you mean"),
        (
            'card_brand = "visa"',
            "card_brand: 'visa' is not a known brand of a test card; did you mean",
        ),
        (
            'card_type = "debit"',
            "card_type: 'debit' is not a known type of a test card; did you mean",
        ),
        (
            'status = "capturd"',
            "status: 'capturd' is not a known status of a payment; did you mean",
        ),
        (
            'platform = "andriod"',
            "platform: 'andriod' is not a known platform; did you mean 'android'?",
        ),
        ('platform = "windows"', "platform: 'windows' is not a known platform"),
    ],
)
def test_a_misspelt_word_of_when_is_refused_with_the_nearest_one(when, said):
    assert refused_rule(when).startswith(f"when.{said}")


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (
            'outcome = "insuficient_funds"',
            "outcome: 'insuficient_funds' is not a known outcome; did you mean "
            "'insufficient_funds'?",
        ),
        ('outcome = "xyzzy"', "outcome: 'xyzzy' is not a known outcome"),
        (
            'outcome = "http_503"',
            "outcome: 'http_503' is a transport fault: say fault = 'http_503'",
        ),
        (
            'fault = "htp_503"',
            "fault: 'htp_503' is not a known transport fault; did you mean 'http_503'?",
        ),
        ('fault = "approved"', "fault: 'approved' is not a known transport fault"),
        (
            'batch = "rejected", reason = "hash_mismach"',
            "reason: 'hash_mismach' is not a known reason; did you mean 'hash_mismatch'?",
        ),
        (
            'batch = "acepted"',
            "batch: Input should be 'accepted', 'rejected', 'partially_accepted' or 'no_result'; "
            "did you mean 'accepted'?",
        ),
        ('batch = "accepted", after = "5 minutes"', "after: must be a duration like"),
    ],
)
def test_a_misspelt_word_of_then_is_refused_with_the_nearest_one(then, said):
    assert refused_rule(CLOSING, then).startswith(f"then.{said}")


def test_an_operation_that_no_example_can_send_is_refused_with_those_that_it_can():
    error = refusal('[[example]]\nsend = {operation = "salle"}\nexpect = {}')

    assert str(error).startswith("example 1, send.operation: Input should be 'sale', 'auth',")


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


@pytest.mark.parametrize("word", ["declined", "decline", "issuer_declined"])
def test_a_decline_is_called_do_not_honor(word):
    said = refused_rule(then=f'outcome = "{word}"')

    assert said == f"then.outcome: '{word}' is not a known outcome; did you mean 'do_not_honor'?"


def test_a_reason_of_one_word_is_refused_with_those_that_there_are():
    with pytest.raises(
        ScenarioError, match=r"'x' is not a known reason; there are duplicate_batch, .* text"
    ):
        parsed(
            'name = "x"\n[[rule]]\nwhen = { operation = "close_batch" }\n'
            'then = { batch = "rejected", reason = "x" }\n'
        )


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


@pytest.mark.parametrize(
    ("document", "place"),
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
def test_a_document_of_the_wrong_build_is_refused_at_its_place(document, place):
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(document)

    assert str(refused.value).startswith(place)
