"""Scenario files are read loudly: what cannot be meant is refused with its place and reason.

The JSON Schema of the files says what the shapes say, and explains every field.
"""

import re
import tomllib
from functools import partial
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.instants import DURATION_PATTERN, parse_duration
from sandbox.library import folder
from sandbox.scenarios.parser import ScenarioError, parse_scenario
from sandbox.scenarios.schema import DIRECTIVE, scenario_schema
from tests.scenarios.running import LOST, SCHEMA

FILES = sorted(folder("scenarios").glob("*.toml"))
SEND = {"operation": "sale"}


APPROVED = 'outcome = "approved"'
CLOSING = 'operation = "close_batch"'
REJECTED = 'batch = "rejected"'


def document(when: str, then: str) -> dict[str, Any]:
    """A scenario of one rule named `mine` with these parts."""
    rule = f"when = {{{when}}}\nthen = {{{then}}}"
    return {"name": "mine", "rule": [{"name": "mine"} | tomllib.loads(rule)]}


def on_attempts(then):
    return {"name": "x", "rule": [{"then": then}]}


def on_webhooks(then, when=None):
    return {"name": "x", "webhook": [{"when": when or {}, "then": then}]}


def proved(send=SEND, expect=None):
    return {"name": "x", "example": [{"send": send, "expect": expect or {}}]}


def fits(document):
    """Whether the schema takes the document, and whether the shapes do."""
    try:
        parse_scenario(document)
    except ScenarioError:
        return SCHEMA.is_valid(document), False
    return SCHEMA.is_valid(document), True


def properties():
    """Every field of the schema, by the part in which it stands."""
    document = scenario_schema()
    parts = {"Scenario": document, **document["$defs"]}
    return {
        f"{part}.{name}": field
        for part, shown in parts.items()
        for name, field in shown["properties"].items()
    }


def test_the_schema_is_a_schema_which_the_library_has_and_names():
    jsonschema.Draft202012Validator.check_schema(scenario_schema())

    assert scenario_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert scenario_schema()["$id"] == "urn:uat-sandbox:scenario.schema.json"
    assert DIRECTIVE == "#:schema scenario.schema.json\n"
    assert (folder("scenarios") / "scenario.schema.json").is_file()


def test_every_file_of_the_library_fits_the_schema_and_names_it():
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        mistakes = [one.message for one in SCHEMA.iter_errors(tomllib.loads(text))]
        assert mistakes == [], file
        assert text.startswith(DIRECTIVE), file


def test_every_field_is_explained_in_a_sentence_or_two_and_offered_no_null():
    said = {name: field["description"] for name, field in properties().items()}
    sentences = re.compile(r"[A-Z0-9][^.]*\.( [A-Z][^.]*\.)?")

    assert [name for name, one in said.items() if not sentences.fullmatch(one)] == []
    assert '"null"}' not in str(properties()).replace("'", '"')


TAKEN = [
    {"name": "x"},
    {"name": "x", "about": "y", "rule": [], "webhook": [], "example": []},
    {"name": "x", "example": [{"send": SEND}]},
    on_attempts(LOST | {"follow": [{"after": "PT36H", "do": "revoke_key"}]}),
    on_webhooks({"truncate": True}),
    on_webhooks({"truncate": 0, "signature": "old_secret"}),
    on_webhooks({"contradict": {"status": ["any", 1]}}, {"event": "batch.opened"}),
    proved(),
    proved({"operation": "advance", "by": "5m"}, {"null": ["a"], "fields": {"b": {"c": 1}}}),
    proved(SEND | {"tap": {"after": "5s", "card": "tok_amex"}}, {"events": ["batch.opened"]}),
    proved(expect={"received": [{"event": "batch.opened", "is_genuine": False}]}),
]
RULES = [
    ("nth = [1, 3]", APPROVED),
    ("tip_amount = {min = 0}, attempt = 2", "delay_ms = 3_600_000"),
    (f'{CLOSING}, terminal = "a", account = "b", key = "c", processor = "d", nth = 2', REJECTED),
    (CLOSING, 'batch = "rejected", after = "PT36H", times = 1'),
    # What is impossible for a part of a list leaves the rest.
    ('operation = ["sale", "capture"], status = "authorized"', APPROVED),
    ('operation = "capture", attempt = [1, 2]', APPROVED),
    ('card = ["tok_amex", "tok_visa_debit"], card_brand = ["Visa", "Amex"]', APPROVED),
]
"""Further rules that are possible; tests/scenarios/running.py holds those against the schema."""

REFUSED = [
    {"name": "x" * 101},
    {"name": "x", "rule": [{"name": "7", "then": LOST}]},
    *map(on_attempts, ({"tap": True}, {"tap": "wait", "after": 5}, LOST | {"follow": []})),
    on_attempts(LOST | {"follow": [{"after": "1s", "do": "revoke_keys"}]}),
    *map(on_webhooks, ({"truncate": "half"}, {"truncate": -1}, {"duplicate": 1}, {"drop": 1})),
    on_webhooks({"contradict": {}}),
    on_webhooks({"drop": True}, {"event": "batch.open"}),
    proved({"operation": "sell"}),
    proved({"operation": "sale", "card": "tok_viza"}),
    *(proved(SEND | {"tap": tap}) for tap in ({"outcome": "lost_crd"}, {})),
    *map(partial(proved, SEND), ({"http": "402"}, {"event": "batch.open"}, {"received": [{}]})),
]


def test_valid_files_fit_the_schema_and_invalid_ones_do_not():
    for taken in (*TAKEN, *(document(*rule) for rule in RULES)):
        assert fits(taken) == (True, True), taken
    for refused in REFUSED:
        assert fits(refused) == (False, False), refused


@given(st.from_regex(r"[PT0-9.a-zWDHMS]{0,12}", fullmatch=True) | st.from_regex(DURATION_PATTERN))
def test_the_schema_takes_the_lengths_of_time_that_are_read(text):
    try:
        parse_duration(text.removesuffix("\n"))
    except ValueError as error:
        # How long a calendar lasts, no pattern knows.
        is_read = "calendar" in str(error)
    else:
        is_read = True

    assert SCHEMA.is_valid(on_attempts({"tap": "wait", "after": text})) == is_read


def refusal(document: dict[str, Any]) -> ScenarioError:
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(document)
    return refused.value


def refused_toml(toml: str) -> ScenarioError:
    return refusal({"name": "mine"} | tomllib.loads(toml))


def refused_rule(when: str, then: str) -> str:
    """Why such a rule cannot be used; it always says which rule it is."""
    error = refusal(document(when, then))
    assert str(error).startswith("rule 1 'mine', ")
    hint = str(error).partition("did you mean ")[2]
    assert error.nearest == (hint.strip("'?") or None)
    return str(error).removeprefix("rule 1 'mine', ")


MISSPELT_FIELDS = [
    ('abuot = "x"', "abuot", "about"),
    ("[[rule]]\nthan = {delay_ms = 1}", "rule 1, than", "then"),
    (
        '[[rule]]\nname = "no"\nwhen = {amount = {mim = 5}}\nthen = {delay_ms = 1}',
        "rule 1 'no', when.amount.mim",
        "min",
    ),
    ("[[rule]]\nthen = {delay = 1}", "rule 1, then.delay", "delay_ms"),
    ('[[rule]]\nthen = {qqq = 1, outcome = "approved"}', "rule 1, then.qqq", None),
    (
        '[[example]]\nname = "no"\nsend = {operation = "sale", amout = 1}\nexpect = {}',
        "example 1 'no', send.amout",
        "amount",
    ),
]


def test_an_unknown_field_is_refused_with_its_place_and_the_nearest_one():
    for toml, place, nearest in MISSPELT_FIELDS:
        error = refused_toml(toml)

        field = place.split()[-1].split(".")[-1]
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        assert str(error).startswith(f"{place}: {field!r} is not a field here{hint}")
        assert error.nearest == nearest
        assert not SCHEMA.is_valid({"name": "mine"} | tomllib.loads(toml))


def test_more_mistakes_are_counted_and_the_unknown_field_comes_first():
    error = refused_toml('[[rule]]\nwhen = {nth = 0}\nthan = {outcome = "approved"}')

    said = "rule 1, than: 'than' is not a field here; did you mean 'then'? (and 2 more)"
    assert str(error) == said


MISSPELT_WORDS = [
    ('operation = "salle"', "'salle' is not a known operation; did you mean 'sale'?"),
    ('operation = ["sale", "captur"]', "'captur' is not a known operation; did you mean"),
    ('card = "tok_declned"', "'tok_declned' is not a known test card; did you mean"),
    ('card_brand = "visa"', "'visa' is not a known brand of a test card; did you mean"),
    ('card_type = "debit"', "'debit' is not a known type of a test card; did you mean"),
    ('status = "capturd"', "'capturd' is not a known status of a payment; did you mean"),
    ('currency = "eur"', "'eur' is not a known currency; did you mean 'EUR'?"),
    ('platform = "andriod"', "'andriod' is not a known platform; did you mean 'android'?"),
    ('platform = "windows"', "'windows' is not a known platform"),
]
MISSPELT_RESULTS = [
    ('outcome = "insuficient_funds"', "is not a known outcome; did you mean 'insufficient_fun"),
    ('outcome = "declined"', "is not a known outcome; did you mean 'do_not_honor'?"),
    ('outcome = "issuer_declined"', "is not a known outcome; did you mean 'do_not_honor'?"),
    ('outcome = "xyzzy"', "is not a known outcome"),
    ('outcome = "http_503"', "is a transport fault: say fault = 'http_503'"),
    ('fault = "htp_503"', "is not a known transport fault; did you mean 'http_503'?"),
    ('fault = "approved"', "is not a known transport fault"),
    ('reason = "hash_mismach"', "is not a known reason; did you mean 'hash_mismatch'?"),
    ('reason = "x"', "is not a known reason; there are duplicate_batch, "),
]


def test_a_misspelt_word_is_refused_with_the_nearest_one():
    for when, said in MISSPELT_WORDS:
        word = when.partition(" ")[0]
        assert refused_rule(when, APPROVED).startswith(f"when.{word}: {said}")
        assert not SCHEMA.is_valid(document(when, APPROVED))
    for then, said in MISSPELT_RESULTS:
        ((word, given),) = tomllib.loads(then).items()
        whole = f"{REJECTED}, {then}" if word == "reason" else then
        assert refused_rule(CLOSING, whole).startswith(f"then.{word}: {given!r} {said}")
        assert not SCHEMA.is_valid(document(CLOSING, whole))


# --- what can never be ------------------------------------------------------------------------

IMPOSSIBLE = [
    ('operation = "sale", status = "captured"', "status: a payment that begins has none yet"),
    ('operation = ["sale", "auth"], status = "pending"', "status: a payment that begins"),
    ('operation = "sale", attempt = 2', "attempt: an attempt that begins a payment is number 1"),
    ('operation = "capture", attempt = 1', "attempt: only the attempt that begins a payment"),
    ('operation = "capture", platform = "ios"', "platform: only the attempt that begins a payment"),
    ("amount = {min = 5, max = 4}", "amount: no amount is both: min is more than max"),
    ("amount = {}", "amount: says nothing: give min, max or ends_with"),
    ("tip_amount = [5, {}]", "tip_amount: says nothing"),
    ('card = "tok_amex", card_brand = "Visa"', "card_brand: tok_amex is Amex"),
    ('card = "tok_amex", card_type = "Debit"', "card_type: tok_amex is a Credit card"),
    ('card = ["tok_visa_debit", "tok_amex"], card_brand = "Visa"', "card_brand: tok_amex"),
    (f"{CLOSING}, amount = 5", "amount: closing a batch has none"),
    (f'{CLOSING}, card = "tok_amex"', "card: closing a batch has none"),
    ('operation = ["sale", "close_batch"]', "operation: close_batch cannot be combined"),
]
PARTIAL = 'outcome = "partial_approval", approved_amount = 600'
CONTRADICTIONS = [
    *((when, APPROVED, f"when.{said}") for when, said in IMPOSSIBLE),
    (CLOSING, 'batch = "acepted"', "then.batch: Input should be 'accepted', 'rejected', 'part"),
    ("", 'tap = "wait", after = "5 minutes"', "then.after: must be a duration like"),
    ("", "", "then: says nothing"),
    ("", "times = 1", "then: says nothing"),
    ("", "approved_amount = 5", "then.approved_amount: belongs to the outcome partial_app"),
    ("", f"{APPROVED}, approved_amount = 5", "then.approved_amount: belongs to the outcome"),
    ("amount = 500", PARTIAL, "then.approved_amount: a part of"),
    ("amount = 600", PARTIAL, "then.approved_amount: a part of"),
    ("amount = [500, { max = 600 }]", PARTIAL, "then.approved_amount: a part of"),
    ("", 'reason = "x y"', "then.reason: belongs to batch = "),
    ("", 'after = "5m"', "then.after: belongs to the result of a batch"),
    ("", "rejected = 1", "then.rejected: belongs to batch = "),
    ("", 'batch = "accepted"', 'then.batch: belongs to when.operation = "close_batch"'),
    (CLOSING, APPROVED, 'then.batch: belongs to when.operation = "close_batch"'),
    (CLOSING, 'batch = "partially_accepted"', "then.rejected: belongs to batch = "),
    (CLOSING, 'batch = "accepted", rejected = 1', "then.rejected: belongs to batch = "),
    (CLOSING, 'batch = "accepted", reason = "comms"', "then.reason: belongs to batch = "),
    (CLOSING, f'batch = "accepted", {APPROVED}', "then.batch: a batch has neither outcome nor tap"),
    (CLOSING, 'batch = "accepted", fault = "slow"', "then.batch: a batch has neither"),
    (CLOSING, 'batch = "accepted", delay_ms = 5', "then.batch: a batch has neither"),
    ('operation = "auth"', 'outcome = "surcharge_prompt"', "then.outcome: surcharge_prompt is for"),
    (
        'operation = ["refund", "auth"]',
        'outcome = "refund_declined"',
        "then.outcome: refund_declined is for refund, not for auth",
    ),
]


def test_rules_that_can_never_match_are_refused():
    for when, then, said in CONTRADICTIONS:
        assert refused_rule(when, then).startswith(said)


TABLES = [
    ("readings = true", "readings: must be a table"),
    ('[[rule]]\nthen = "lost_card"', 'then: must be a table, as in { outcome = "lost_card" }'),
    (
        '[[example]]\nsend = { operation = "sale" }\nexpect = { received = ["transaction.sale"] }',
        'expect.received: must be a table, as in { event = "transaction.sale" }',
    ),
    (
        '[[rule]]\nthen = { outcome = "timed_out", follow = ["late_answer"] }',
        "then.follow: must be a table, as in { after = ..., do = ... }",
    ),
]


def test_a_plain_value_for_a_table_is_refused_with_an_example():
    for toml, said in TABLES:
        assert str(refused_toml(f'name = "x"\n{toml}')).endswith(said)


def test_two_rules_or_endpoints_of_one_name_are_refused():
    rule = '[[rule]]\nname = "twice"\nthen = {outcome = "approved"}\n'
    endpoint = '[[endpoint]]\nname = "twice"\nurl = "http://127.0.0.1:9/"\n'

    assert str(refused_toml(rule + rule)) == "rule: two rules are named 'twice'"
    assert "two endpoints are named 'twice'" in str(refused_toml(endpoint + endpoint))


WRONG_TYPES = [
    *("operation = []", "operation = 5", "operation = [5]", "operation = {a = 1}"),
    *('amount = "5"', "amount = 1.0", "amount = true", "amount = -1", "amount = []"),
    *("amount = [[1]]", 'amount = [5, "x"]', 'amount = {ends_with = "x"}'),
    *("amount = {ends_with = 5}", "amount = {min = -1}", "amount = {max = 1.5}"),
    *("tip_amount = -5", "currency = 5", "card = []", "card_brand = 5", "card_type = []"),
    *("terminal = 5", 'terminal = ""', "location = []", "account = [5]", "key = []"),
    *("platform = 5", 'processor = ""', "status = []"),
    *("nth = 0", "nth = 1.0", "nth = true", 'nth = "1"', "nth = []", "nth = [1, 0]"),
    *("nth = {}", "attempt = 0", "attempt = []", 'attempt = "2"'),
]
WRONG_RESULTS = [
    *("outcome = 5", 'outcome = ["approved"]', 'outcome = ""', "fault = 5", "batch = 5"),
    *("delay_ms = -1", "delay_ms = 3_600_001", "delay_ms = 1.5", 'delay_ms = "5"'),
    *("delay_ms = true", "approved_amount = 0", 'approved_amount = "5"', "reason = 5"),
    *('reason = ""', "rejected = 0", 'rejected = "x"', "rejected = [5]", "after = 5"),
    *("times = 0", "times = true", 'times = "1"'),
]


def test_a_value_of_the_wrong_type_is_refused_at_its_field():
    rows = [("when", when, (when, APPROVED)) for when in WRONG_TYPES]
    rows += [("then", then, ("", then)) for then in WRONG_RESULTS]
    for part, said, rule in rows:
        message = refused_rule(*rule)

        place = f"{part}.{said.partition(' ')[0]}"
        assert message.startswith((f"{place}: ", f"{place}.")), said
        assert "more)" not in message
        # To JSON, 1.0 is a whole number.
        assert "1.0" in said or not SCHEMA.is_valid(document(*rule)), said


WRONG_BUILDS = [
    ([], "must be a table, as in { name = ... }"),
    ({}, "name: Field required"),
    ({"name": 5}, "name: "),
    ({"name": "x", "rule": 5}, "rule: "),
    ({"name": "x", "rule": [5]}, "rule 1: "),
    ({"name": "x", "rule": [{}]}, "rule 1, then: Field required"),
    ({"name": "x", "rule": [{"then": {"outcome": None}}]}, "rule 1, then: says nothing"),
    ({"name": "x", "example": [{"send": 5, "expect": {}}]}, "example 1, send: "),
]


def test_a_document_of_the_wrong_shape_is_refused_at_its_place():
    for wrong, place in WRONG_BUILDS:
        assert str(refusal(wrong)).startswith(place)
        assert not SCHEMA.is_valid(wrong), wrong
