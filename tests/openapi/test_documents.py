"""Both documents are OpenAPI 3.1, committed as they are now, and the page comes as it should."""

import json

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.openapi.described import Described
from tools import console_types
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


def test_the_console_checks_itself_with_the_types_of_now():
    written = console_types.FILE.read_text(encoding="utf-8")

    assert written == console_types.content(), "api.d.ts is old: run `make golden` and commit"


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
