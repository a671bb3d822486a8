"""The JSON Schema of scenario files says what the shapes say, and explains every field."""

import re
import tomllib

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.instants import DURATION_PATTERN, parse_duration
from sandbox.library import folder
from sandbox.scenarios.parser import ScenarioError, parse_scenario
from sandbox.scenarios.schema import DIRECTIVE, scenario_schema
from tests.scenarios.running import LOST

FILES = sorted(folder("scenarios").glob("*.toml"))
SCHEMA = jsonschema.Draft202012Validator(scenario_schema())

SEND = {"operation": "sale"}


def on_attempts(when=None, then=LOST):
    return {"name": "x", "rule": [{"when": when or {}, "then": then}]}


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


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(scenario_schema())

    assert scenario_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert scenario_schema()["$id"] == "urn:uat-sandbox:scenario.schema.json"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_of_the_library_fits_the_schema_and_names_it(file):
    text = file.read_text(encoding="utf-8")

    mistakes = [one.message for one in SCHEMA.iter_errors(tomllib.loads(text))]

    assert mistakes == []
    assert text.startswith(DIRECTIVE)


def test_the_file_that_the_library_names_is_there():
    assert DIRECTIVE == "#:schema scenario.schema.json\n"
    assert (folder("scenarios") / "scenario.schema.json").is_file()


def test_every_field_is_explained_in_one_sentence():
    said = {name: field["description"] for name, field in properties().items()}

    assert [name for name, one in said.items() if not re.fullmatch(r"[A-Z][^.]*\.", one)] == []


def test_no_field_is_offered_a_null():
    assert '"null"}' not in str(properties()).replace("'", '"')


@pytest.mark.parametrize(
    "document",
    [
        {"name": "x"},
        {"name": "x", "about": "y", "rule": [], "webhook": [], "example": []},
        on_attempts({"operation": "sale"}),
        on_attempts({"operation": ["sale", "auth"]}),
        on_attempts({"amount": 500, "nth": 1, "attempt": [1, 2]}),
        on_attempts({"amount": {"min": 500}, "card": "tok_amex"}),
        on_attempts({"amount": [500, {"ends_with": "07"}], "card_brand": ["Visa", "Amex"]}),
        on_attempts({"terminal": "merchant", "currency": "USD"}),
        on_attempts(then={"tap": "wait", "after": "90s"}),
        on_attempts(then={"fault": "http_503", "times": 2}),
        on_attempts(then=LOST | {"follow": [{"after": "PT36H", "do": "revoke_key"}]}),
        on_attempts({"operation": "close_batch"}, {"batch": "rejected", "reason": "hash_mismatch"}),
        on_attempts({"operation": "close_batch"}, {"batch": "rejected", "reason": "no good"}),
        on_attempts({"operation": "close_batch"}, {"batch": "partially_accepted", "rejected": 1}),
        on_attempts(
            {"operation": "close_batch"}, {"batch": "partially_accepted", "rejected": ["a"]}
        ),
        on_webhooks({"truncate": True}),
        on_webhooks({"truncate": 0, "signature": "old_secret"}),
        on_webhooks({"contradict": {"status": ["any", 1]}}, {"event": "batch.opened"}),
        proved(),
        proved({"operation": "advance", "by": "5m"}, {"null": ["a"], "fields": {"b": {"c": 1}}}),
        proved(SEND | {"tap": {"after": "5s", "card": "tok_amex"}}, {"events": ["batch.opened"]}),
        proved(expect={"received": [{"event": "batch.opened", "is_genuine": False}]}),
    ],
    ids=str,
)
def test_what_a_file_may_say_fits_the_schema_too(document):
    assert fits(document) == (True, True)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"name": ""},
        {"name": "x" * 101},
        {"name": "x", "rules": []},
        {"name": "x", "rule": {"then": LOST}},
        {"name": "x", "rule": [{}]},
        {"name": "x", "rule": [{"name": "7", "then": LOST}]},
        on_attempts({"operation": "sell"}),
        on_attempts({"operation": []}),
        on_attempts({"operation": ["sale", "sell"]}),
        on_attempts({"amont": 500}),
        on_attempts({"amount": -1}),
        on_attempts({"amount": "500"}),
        on_attempts({"amount": 5.5}),
        on_attempts({"amount": {}}),
        on_attempts({"amount": {"ends_with": 7}}),
        on_attempts({"amount": [{"min": 500, "mx": 600}]}),
        on_attempts({"card": "tok_viza"}),
        on_attempts({"card_brand": ["Visa", "Viza"]}),
        on_attempts({"currency": "usd"}),
        on_attempts({"nth": 0}),
        on_attempts({"nth": True}),
        on_attempts(then={}),
        on_attempts(then={"outcome": "insuficient_funds"}),
        on_attempts(then={"outcome": "http_503"}),
        on_attempts(then={"outcome": 5}),
        on_attempts(then={"outcome": ["lost_card"]}),
        on_attempts(then={"delay_ms": 3_600_001}),
        on_attempts(then={"tap": True}),
        on_attempts(then={"tap": "wait", "after": "5 minutes"}),
        on_attempts(then={"tap": "wait", "after": 5}),
        on_attempts(then=LOST | {"follow": []}),
        on_attempts(then=LOST | {"follow": [{"after": "1s", "do": "revoke_keys"}]}),
        on_attempts({"operation": "close_batch"}, {"batch": "rejected", "reason": "hash_mismtch"}),
        on_attempts({"operation": "close_batch"}, {"batch": "partially_accepted", "rejected": []}),
        on_webhooks({"truncate": "half"}),
        on_webhooks({"truncate": -1}),
        on_webhooks({"duplicate": 1}),
        on_webhooks({"drop": 1}),
        on_webhooks({"contradict": {}}),
        on_webhooks({"drop": True}, {"event": "transaction.sold"}),
        proved({"operation": "sell"}),
        proved({"operation": "sale", "card": "tok_viza"}),
        proved(SEND | {"tap": {"outcome": "lost_crd"}}),
        proved(SEND | {"tap": {}}),
        proved(expect={"http": "402"}),
        proved(expect={"event": "transaction.sold"}),
        proved(expect={"received": [{}]}),
    ],
    ids=str,
)
def test_what_a_file_may_not_say_does_not_fit_the_schema_either(document):
    assert fits(document) == (False, False)


@given(st.from_regex(r"[PT0-9.a-zWDHMS]{0,12}", fullmatch=True) | st.from_regex(DURATION_PATTERN))
def test_the_schema_takes_the_lengths_of_time_that_are_read(text):
    try:
        parse_duration(text.removesuffix("\n"))
    except ValueError as error:
        # How long a calendar lasts, no pattern knows.
        is_read = "calendar" in str(error)
    else:
        is_read = True

    assert SCHEMA.is_valid(on_attempts(then={"tap": "wait", "after": text})) == is_read
