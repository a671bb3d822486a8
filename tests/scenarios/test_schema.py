"""The JSON Schema of scenario files says what the shapes say, and explains every field."""

import re
import tomllib
from functools import partial

import jsonschema
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


def test_every_field_is_explained_in_one_sentence_and_offered_no_null():
    said = {name: field["description"] for name, field in properties().items()}

    assert [name for name, one in said.items() if not re.fullmatch(r"[A-Z][^.]*\.", one)] == []
    assert '"null"}' not in str(properties()).replace("'", '"')


TAKEN = [
    {"name": "x", "about": "y", "rule": [], "webhook": [], "example": []},
    on_attempts(LOST | {"follow": [{"after": "PT36H", "do": "revoke_key"}]}),
    on_webhooks({"truncate": True}),
    on_webhooks({"truncate": 0, "signature": "old_secret"}),
    on_webhooks({"contradict": {"status": ["any", 1]}}, {"event": "batch.opened"}),
    proved(),
    proved({"operation": "advance", "by": "5m"}, {"null": ["a"], "fields": {"b": {"c": 1}}}),
    proved(SEND | {"tap": {"after": "5s", "card": "tok_amex"}}, {"events": ["batch.opened"]}),
    proved(expect={"received": [{"event": "batch.opened", "is_genuine": False}]}),
]
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


def test_what_a_file_may_say_and_may_not_fits_the_schema_or_does_not():
    """Of rules on attempts, tests/scenarios/test_shapes.py says the same."""
    for document in TAKEN:
        assert fits(document) == (True, True), document
    for document in REFUSED:
        assert fits(document) == (False, False), document


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
