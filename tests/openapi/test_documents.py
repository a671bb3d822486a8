"""Both documents are OpenAPI 3.1, committed as they are now, and fit for generators of clients."""

import json
from datetime import datetime
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator

from sandbox import __version__
from sandbox.app import build
from sandbox.domain.events import EVENTS
from sandbox.platform.openapi.schemas import (
    ABOUT_AMOUNTS,
    CROSS_FIELD,
    MINOR_UNITS,
)
from sandbox.settings import Settings
from tests.driving import InProcess
from tests.openapi.described import Described
from tools import golden_answers
from tools.openapi import FOLDER, documents


@pytest.mark.parametrize("surface", ["platform", "control"])
def test_the_document_is_valid(sandbox, surface):
    path = {"platform": "/platform/openapi.json", "control": "/openapi.json"}[surface]

    document = sandbox.control("GET", path).json()

    mistakes = OpenAPIV31SpecValidator(document).iter_errors()
    assert [str(mistake) for mistake in mistakes] == []
    assert document["openapi"].startswith("3.1")


@pytest.mark.parametrize("name", ["platform.json", "control.json"])
def test_every_example_of_a_body_fits_its_schema(name):
    described = Described(json.loads(documents()[name]))

    for id, operation in described.operations.items():
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        if "example" in content:
            described.fits(content["example"], content["schema"], id)


@pytest.mark.parametrize("name", ["platform.json", "control.json"])
def test_the_committed_document_is_what_the_tables_say_now(name):
    written = (FOLDER / name).read_text(encoding="utf-8") if (FOLDER / name).exists() else ""

    assert written == documents()[name], f"{name} is old: run `make golden` and commit"


def test_no_two_types_of_the_documents_have_one_name(sandbox):
    names = [
        name
        for path in ("/_sandbox/platform/openapi.json", "/_sandbox/openapi.json")
        for name in sandbox.ask("GET", path).json()["components"]["schemas"]
    ]

    # Made up from modules, they would differ from one version of Python to another.
    assert [name for name in names if "__" in name] == []


def test_the_page_runs_nothing_but_its_own_script_and_asks_no_other_host(sandbox):
    answer = sandbox.control("GET", "/docs")

    policy = answer.headers["content-security-policy"]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert b"://" not in answer.body
    assert b" onclick=" not in answer.body
    assert b" style=" not in answer.body


LIMITS = {"ge", "le", "gt", "lt"}
CHECKER = FormatChecker()


@CHECKER.checks("uuid", raises=ValueError)
def is_uuid(value):
    return not isinstance(value, str) or UUID(value)


@CHECKER.checks("date-time", raises=ValueError)
def is_instant(value):
    return not isinstance(value, str) or datetime.fromisoformat(value)


@pytest.fixture(scope="module")
def asked():
    return InProcess(build(Settings()))


def served(asked, surface, query=""):
    path = {"platform": "/platform/openapi.json", "control": "/openapi.json"}[surface]
    return asked.control("GET", path, query=query).json()


@pytest.fixture(scope="module", params=["platform", "control"])
def document(asked, request):
    return served(asked, request.param)


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


def operations(document):
    return [one for item in document["paths"].values() for one in item.values()]


def success(operation):
    found = [one for status, one in operation["responses"].items() if status.startswith("2")]
    return found[0] if found else {}


# --- schemas ------------------------------------------------------------------------------------


def test_every_integer_has_64_bits(document):
    found = [
        (name, one)
        for name, one in schemas_in(document)
        if one.get("type") in ("integer", ["integer", "null"])
    ]

    assert len(found) > 20
    assert [name for name, one in found if one.get("format") != "int64"] == []


def test_no_rule_stands_beside_the_fields_of_a_schema(document):
    beside = [
        (name, word)
        for name, one in schemas_in(document["components"]["schemas"])
        if isinstance(one.get("properties"), dict)
        for word in CROSS_FIELD
        if word in one
    ]

    assert beside == []


def test_limits_are_keywords_of_json_schema(asked):
    for surface in ("platform", "control"):
        for query in ("", "strict=1"):
            document = served(asked, surface, query)
            assert [name for name, one in schemas_in(document) if LIMITS & one.keys()] == []
    percentage = served(asked, "platform")["components"]["schemas"]["Adjust"]["properties"][
        "percentage"
    ]
    assert (percentage["minimum"], percentage["maximum"]) == (0, 100)


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


def test_every_success_has_an_example_that_fits_its_schema(document):
    missing = []
    for operation in operations(document):
        content = success(operation).get("content", {}).get("application/json")
        if content is None:
            continue
        if "example" not in content:
            missing.append(operation["operationId"])
            continue
        assert mistakes(document, content) == [], operation["operationId"]

    assert missing == []


def test_every_webhook_has_an_example_that_fits_its_schema(asked):
    document = served(asked, "platform")

    assert list(document["webhooks"]) == list(EVENTS)
    for name, webhook in document["webhooks"].items():
        content = webhook["post"]["requestBody"]["content"]["application/json"]
        assert mistakes(document, content) == [], name


def mistakes(document, content):
    whole = {**document, **content["schema"]}
    validator = Draft202012Validator(whole, format_checker=CHECKER)
    return [error.message for error in validator.iter_errors(content["example"])]


def test_an_example_that_does_not_fit_is_noticed(asked):
    document = served(asked, "platform")
    (account,) = (one for one in operations(document) if one["operationId"] == "accounts.read")
    content = success(account)["content"]["application/json"]

    for wrong in ({"id": "no-uuid"}, {"created_at": "yesterday"}, {"status": "asleep"}):
        assert mistakes(document, {**content, "example": {**content["example"], **wrong}})


def test_the_committed_answers_are_what_a_demo_world_answers_now():
    for path, text in golden_answers.files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is old: run `make golden`"


# --- headers, addresses, keys -------------------------------------------------------------------


def test_a_pure_document_has_nothing_of_the_sandbox(asked):
    document = served(asked, "platform", "pure=1")

    text = json.dumps({**document, "servers": []}).lower()
    assert "x-sandbox" not in text
    assert "x-example" not in text
    assert "uat-sandbox" not in text
    assert len(operations(document)) == len(operations(served(asked, "platform")))
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []


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


@pytest.mark.parametrize("query", ["pure=perhaps", "strict=2", "friendly=1"])
def test_a_parameter_that_makes_no_sense_is_refused(asked, query):
    answer = asked.control("GET", "/platform/openapi.json", query=query)

    assert answer.status == 400


def test_every_operation_of_both_documents_says_how_to_be_let_in(document):
    schemes = document["components"]["securitySchemes"]

    assert {name for one in document["security"] for name in one} == set(schemes)
    assert all(one.get("description") for one in document["tags"])
