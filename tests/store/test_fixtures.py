"""Fixture files: those that come along load, and every mistake in one is refused in plain words."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox import library
from sandbox.store.fixture import FixtureError, parse_fixture, read_fixture
from tests.driving import InProcess, fresh

BORN = "2025-01-06T09:00:00.000Z"


def _documents(*documents: dict[str, Any]) -> dict[str, Any]:
    common = {"name": "Mine", "created_at": BORN}
    return {str(number): common | one for number, one in enumerate(documents, start=1)}


PARTNER = {"cast": "partner", "type": "partner", "name": "Partner", "description": "Resells"}
MERCHANT = {"cast": "merchant", "type": "merchant", "name": "Merchant", "description": "Sells"}
KEY = {"cast": "merchant", "account": "merchant", "permissions": ["payments:read"]}
PARTNERS = {"cast": "partner", "account": "partner"}
SMALL: dict[str, Any] = {
    "accounts": _documents(PARTNER, MERCHANT | {"parent": "partner"}),
    "terminals": _documents({"cast": "till", "account": "merchant"}),
    "locations": _documents({"cast": "shop", "account": "merchant", "terminal": "till"}),
    "api_keys": _documents(
        KEY | {"lookup": "smallmercha1"},
        KEY | PARTNERS | {"lookup": "smallpartner", "permissions": ["all"]},
    ),
}


def with_change(table: str, number: str, **fields: Any) -> dict[str, Any]:
    """The small fixture with some fields of one document changed; ... takes a field away."""
    document = copy.deepcopy(SMALL)
    document[table][number].update(fields)
    for name in [name for name, value in fields.items() if value is ...]:
        del document[table][number][name]
    return document


def begun(folder: Path, document: dict[str, Any]) -> InProcess:
    """A server whose fixture is a file with this document."""
    path = folder / "mine.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return fresh(fixture=str(path))


PARENTS = {
    "psp": ("partner", "other_partner"),
    "partner": (
        *("merchant", "second_merchant", "blocked_merchant", "tax_merchant"),
        *("surcharge_merchant", "quiet_surcharge_merchant", "passthrough_merchant"),
    ),
    "other_partner": ("other_merchant",),
}


@pytest.mark.proves("spec 1-kinds", "assumed 7.2-seed")
def test_the_demo_accounts_have_the_described_hierarchy(sandbox):
    for parent, name in [(parent, name) for parent, names in PARENTS.items() for name in names]:
        path = f"/v1/accounts/{sandbox.account_id(name)}"
        above = sandbox.get(path, by="admin").json()["parent_account_ids"]

        ends = [sandbox.account_id(one) for one in ("psp", parent)]
        assert [above[0], above[-1]] == ends, name
        if parent != "psp":
            assert name in sandbox.cast.terminals, name
            assert name in sandbox.cast.locations, name


def test_ids_do_not_depend_on_what_else_a_fixture_has(tmp_path):
    more = copy.deepcopy(SMALL)
    more["accounts"] = {"9": {**SMALL["accounts"]["1"], "cast": "another"}, **more["accounts"]}

    small, large = (begun(tmp_path, document) for document in (SMALL, more))

    assert small.account_id("merchant") == large.account_id("merchant")


# --- mistakes ---------------------------------------------------------------------------------


def changed(table: str, number: str, *words: str, **fields: Any) -> tuple[Any, ...]:
    """A change of one document, and what the message about it names beside the table."""
    return (with_change(table, number, **fields), table, *(words or fields))


MISTAKES = [
    changed("accounts", "1", name=...),
    changed("terminals", "1", cast=...),
    changed("locations", "1", created_at="2025-01-06"),
    changed("api_keys", "1", expires_at="2025-02-30T00:00:00Z"),
    changed("accounts", "1", cast="Partner"),
    changed("locations", "1", "zip", address={"zip": 7}),
    changed("api_keys", "1", lookup="short"),
    changed("api_keys", "1", lookup="small_mercha"),
    ({**SMALL, "terminals": {"1": []}}, "terminals", "1"),
    ({**SMALL, "terminals": []}, "terminals"),
    ({}, "accounts"),
    changed("api_keys", "2", "'merchant'", cast="merchant"),
    changed("api_keys", "2", "partner.lookup", "'smallmercha1'", lookup="smallmercha1"),
    changed("accounts", "1", parent="merchant"),
    changed("accounts", "1", parent="partner"),
    changed("accounts", "2", parent="merchant"),
    # A misspelt word is answered with the one that was meant.
    changed("accounts", "2", "type", "'merchant'", type="mercant"),
    changed("terminals", "1", "status", "'blocked'", status="blockd"),
    changed("api_keys", "1", "'revoked'", status="revokd"),
    changed("accounts", "2", "parent", "'partner'", parent="parter"),
    *(
        changed(table, "1", "account", "did you mean 'merchant'", account="mercant")
        for table in ("terminals", "locations", "api_keys")
    ),
    changed("locations", "1", "terminal", "'till'", terminal="tlil"),
    changed("api_keys", "1", "permissions", "'payments:read'", permissions=["payments:reed"]),
    changed("accounts", "1", "desciption", "'description'", desciption="x"),
    ({**SMALL, "terminal": {}}, "terminal", "'terminals'"),
]


def test_a_mistake_is_named_with_its_table_document_and_field():
    for document, *words in MISTAKES:
        with pytest.raises(FixtureError) as refused:
            parse_fixture("mine", document)

        assert [word for word in words if word not in str(refused.value)] == [], refused.value


RATED = json.dumps(with_change("accounts", "1", surcharge_rate=0.125))
UNREADABLE = {
    **dict.fromkeys(("", "{", "null", "[]", "5", '"accounts"', "\ufeff{}"), ""),
    '{"accounts": {"1": {"cast": "a"': "",
    "[" * 100_000: "",
    # Copying a document and forgetting its number must not lose one of the two.
    json.dumps(SMALL).replace('"2": {"name": "Mine"', '"1": {"name": "Mine"'): ".*1",
    **{
        RATED.replace("0.125", rate): ".*(surcharge_rate|is not JSON)"
        for rate in ("NaN", "Infinity", "1e999")
    },
}
"""Files that hold no fixture, and what the refusal says after their name."""


def test_a_file_that_holds_no_fixture_is_refused_by_its_name(tmp_path):
    path = tmp_path / "mine.json"
    texts = {text.encode(): said for text, said in UNREADABLE.items()}
    for content, said in (texts | {b'{"accounts":"\xff"}': ""}).items():
        path.write_bytes(content)

        with pytest.raises(FixtureError, match=rf"mine\.json{said}"):
            read_fixture(path)


def test_a_fixture_that_is_not_there_is_refused_by_its_name():
    for name in ("nowhere/mine.json", "mine.json", "./", "dmeo", ""):
        with pytest.raises(FixtureError) as refused:
            library.fixture_or_file(name)

        assert name.removeprefix("./") in str(refused.value)


def test_a_key_that_was_created_too_late_for_any_expiry_is_refused(tmp_path):
    document = with_change("api_keys", "1", created_at="9999-12-31T00:00:00Z")

    with pytest.raises(FixtureError, match="created_at"):
        begun(tmp_path, document)
