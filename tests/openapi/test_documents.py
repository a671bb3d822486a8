"""Both documents are OpenAPI 3.1, committed as they are now, and fit for generators of clients."""

import json

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from sandbox import __version__
from sandbox.app import build
from sandbox.platform.openapi.schemas import (
    ABOUT_AMOUNTS,
    CROSS_FIELD,
    MINOR_UNITS,
)
from sandbox.settings import Settings
from tests.driving import InProcess, Response, fresh
from tests.openapi.described import FORMATS, Described, usual_documents
from tools import golden_answers
from tools.openapi import FOLDER, documents


@pytest.fixture(scope="module")
def asked():
    return fresh()


def served(asked, surface, query=""):
    path = {"platform": "/platform/openapi.json", "control": "/openapi.json"}[surface]
    return asked.control("GET", path, query=query).json()


@pytest.fixture(scope="module", params=["platform", "control"])
def document(asked, request):
    return served(asked, request.param)


def assert_valid(document):
    mistakes = OpenAPIV31SpecValidator(document).iter_errors()
    assert [str(mistake) for mistake in mistakes] == []


def test_the_document_is_valid(document):
    assert_valid(document)
    assert document["openapi"].startswith("3.1")


def test_the_committed_files_are_what_the_tables_say_now():
    files = {FOLDER / name: text for name, text in documents().items()} | golden_answers.files()
    for path, text in files.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is old: run `make golden`"


def schemas_in(value, name=""):
    """Every schema with the name of its property. Examples are none."""
    if isinstance(value, dict):
        yield name, value
        for word, one in value.items():
            if word not in ("example", "examples", "enum"):
                yield from schemas_in(one, word)
    elif isinstance(value, list):
        for one in value:
            yield from schemas_in(one, name)


# --- schemas ------------------------------------------------------------------------------------


def test_no_two_types_have_one_name(document):
    # Made up from modules, they would differ from one version of Python to another.
    assert [name for name in document["components"]["schemas"] if "__" in name] == []


def test_every_integer_has_64_bits(document):
    found = [
        (name, one)
        for name, one in schemas_in(document)
        if one.get("type") in ("integer", ["integer", "null"])
    ]

    assert len(found) > 20
    assert [name for name, one in found if one.get("format") != "int64"] == []


def test_no_rule_is_beside_the_fields_of_a_schema(document):
    beside = [
        (name, word)
        for name, one in schemas_in(document["components"]["schemas"])
        if isinstance(one.get("properties"), dict)
        for word in CROSS_FIELD
        if word in one
    ]

    assert beside == []


def test_every_list_of_words_is_named_once(document):
    schemas = document["components"]["schemas"]
    named = [frozenset(one["enum"]) for one in schemas.values() if "enum" in one]
    inline = [
        one["enum"]
        for name, one in schemas_in(document)
        if isinstance(one.get("enum"), list)
        and len(one["enum"]) > 2
        and one not in schemas.values()
        and all(isinstance(value, str) for value in one["enum"])
    ]

    assert inline == []
    assert len(named) == len(set(named))


def test_answers_may_have_further_fields_and_bodies_may_not(asked):
    schemas = served(asked, "platform")["components"]["schemas"]

    closed = {name for name, one in schemas.items() if one.get("additionalProperties") is False}

    assert "CreateKey" in closed
    assert [name for name in closed if not name.startswith(("Create", "Update"))] == []
    assert "additionalProperties" not in schemas["TransactionView"]


def test_every_amount_says_that_it_is_in_minor_units(document):
    amounts = [
        one["description"]
        for schema in document["components"]["schemas"].values()
        for name, one in schema.get("properties", {}).items()
        if MINOR_UNITS.fullmatch(name)
    ]

    assert ABOUT_AMOUNTS in amounts
    assert [about for about in amounts if not about] == []


# --- examples -----------------------------------------------------------------------------------


def test_every_example_fits_its_schema_and_every_success_has_one(document):
    for _, one in schemas_in(document):
        if {"schema", "example"} <= one.keys():
            whole = Draft202012Validator(document | one["schema"], format_checker=FORMATS)
            assert [error.message for error in whole.iter_errors(one["example"])] == [], one

    assert [
        name
        for name, operation in Described(document).operations.items()
        for status, answer in operation["responses"].items()
        if status in ("200", "201")
        and "example" not in answer.get("content", {}).get("application/json", {"example": ...})
    ] == []


def test_every_recorded_answer_is_what_the_strict_document_says():
    for surface, text in zip(usual_documents(), golden_answers.files().values(), strict=True):
        for name, answer in json.loads(text).items():
            status = min(surface.operations[name]["responses"])
            headers = {"content-type": "application/json"}
            told = Response(int(status), headers, json.dumps(answer).encode())
            surface.check(*surface.addresses[name], told)


# --- headers, addresses, keys -------------------------------------------------------------------


def test_a_pure_document_has_nothing_of_the_sandbox(asked):
    document = served(asked, "platform", "pure=1")

    text = json.dumps({**document, "servers": []}).lower()
    assert "x-sandbox" not in text
    assert "x-example" not in text
    assert "uat-sandbox" not in text
    assert document["paths"].keys() == served(asked, "platform")["paths"].keys()
    assert_valid(document)


def test_the_address_is_seen_from_the_document(asked):
    named = InProcess(asked.sandbox, defaults={"host": "localhost:8123"})
    own_port = InProcess(
        build(Settings(port=9090, control_port=8080)), defaults={"host": "localhost:8080"}
    )

    for one in (named, asked):
        assert served(one, "platform")["servers"] == [{"url": "../.."}]
        assert served(one, "control")["servers"] == [{"url": ".."}]
    assert served(own_port, "platform")["servers"] == [{"url": "http://localhost:9090"}]
    for name in documents():
        written = json.loads(documents()[name])
        assert written["servers"] == [{"url": "http://127.0.0.1:8080"}]
        assert written["info"]["version"] == __version__


def test_every_operation_of_both_documents_says_how_to_be_let_in(document):
    schemes = document["components"]["securitySchemes"]

    assert {name for one in document["security"] for name in one} == set(schemes)
    assert all(one.get("description") for one in document["tags"])
