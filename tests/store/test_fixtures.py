"""Fixture files: those that come along load, and every mistake in one is refused in plain words."""

import copy
import json
from typing import Any

import pytest

from sandbox import library
from sandbox.app import build
from sandbox.settings import Settings
from sandbox.store.fixture import FixtureError, parse_fixture, read_fixture
from tests.driving import InProcess

BORN = "2025-01-06T09:00:00.000Z"

SMALL: dict[str, Any] = {
    "accounts": {
        "1": {
            "cast": "partner",
            "type": "partner",
            "name": "Partner",
            "description": "Resells",
            "created_at": BORN,
        },
        "2": {
            "cast": "merchant",
            "parent": "partner",
            "type": "merchant",
            "name": "Merchant",
            "description": "Sells",
            "created_at": BORN,
        },
    },
    "terminals": {
        "1": {"cast": "till", "account": "merchant", "name": "Till", "created_at": BORN},
    },
    "locations": {
        "1": {
            "cast": "shop",
            "account": "merchant",
            "terminal": "till",
            "name": "Shop",
            "created_at": BORN,
        },
    },
    "api_keys": {
        "1": {
            "cast": "merchant",
            "account": "merchant",
            "name": "Key",
            "permissions": ["payments:read"],
            "lookup": "smallmercha1",
            "created_at": BORN,
        },
        "2": {
            "cast": "partner",
            "account": "partner",
            "name": "Key",
            "permissions": ["all"],
            "lookup": "smallpartner",
            "created_at": BORN,
        },
    },
}


def with_change(table: str, number: str, **fields: Any) -> dict[str, Any]:
    """The small fixture with some fields of one document changed; ... takes a field away."""
    document = copy.deepcopy(SMALL)
    document[table][number].update(fields)
    for name in [name for name, value in fields.items() if value is ...]:
        del document[table][number][name]
    return document


@pytest.mark.parametrize("name", library.fixture_names())
def test_every_fixture_that_comes_along_loads_and_fills_a_world(name):
    sandbox = InProcess(build(Settings(fixture=name)))

    shown = sandbox.control("GET", "/worlds/default").json()

    assert shown["fixture"] == name
    assert sandbox.ask("GET", "/v5/apikeys", key="admin").status == 200


def test_busy_demo_and_empty_come_along():
    assert library.fixture_names() == ["busy", "demo", "empty"]


@pytest.mark.proves("assumed 7.2-seed, D21")
def test_the_demo_fixture_has_the_cast_that_users_tests_speak_of(sandbox):
    shown = sandbox.control("GET", "/worlds/default").json()

    merchants = {
        *("merchant", "second_merchant", "other_merchant", "blocked_merchant", "tax_merchant"),
        *("surcharge_merchant", "quiet_surcharge_merchant", "passthrough_merchant"),
    }
    partners = {"admin", "psp", "partner", "other_partner"}
    keys = {
        *("admin", "psp", "partner", "merchant", "second_merchant", "other_partner"),
        *("other_merchant", "merchant_read_only", "revoked", "expired", "legacy", "retrievable"),
    }
    assert merchants | partners <= set(shown["accounts"])
    assert merchants <= set(shown["terminals"])
    assert merchants <= set(shown["locations"])
    assert keys <= set(shown["keys"])


@pytest.mark.proves("spec 1-kinds", "assumed 7.2-seed")
@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("partner", "psp"),
        ("other_partner", "psp"),
        ("merchant", "partner"),
        ("second_merchant", "partner"),
        ("other_merchant", "other_partner"),
        ("blocked_merchant", "partner"),
        ("surcharge_merchant", "partner"),
        ("quiet_surcharge_merchant", "partner"),
        ("tax_merchant", "partner"),
        ("passthrough_merchant", "partner"),
    ],
)
def test_the_demo_accounts_stand_below_each_other_as_described(sandbox, name, parent):
    account = sandbox.ask("GET", f"/v1/accounts/{sandbox.account(name)}", key="admin").json()

    assert account["parent_account_ids"][-1] == sandbox.account(parent)
    assert account["parent_account_ids"][0] == sandbox.account("psp")


def test_a_fixture_can_be_a_file_anywhere(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(SMALL), encoding="utf-8")

    sandbox = InProcess(build(Settings(fixture=str(path))))

    account = sandbox.ask("GET", f"/v1/accounts/{sandbox.account('merchant')}", key="partner")
    assert sandbox.control("GET", "/worlds/default").json()["fixture"] == "mine"
    assert account.json()["name"] == "Merchant"
    assert sandbox.key("merchant").startswith("svc_uat_smallmercha1_")


def test_ids_do_not_depend_on_what_else_a_fixture_has(tmp_path):
    more = copy.deepcopy(SMALL)
    more["accounts"] = {"9": {**SMALL["accounts"]["1"], "cast": "another"}, **more["accounts"]}
    ids = []
    for name, document in (("small", SMALL), ("more", more)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        ids.append(InProcess(build(Settings(fixture=str(path)))).account("merchant"))

    assert ids[0] == ids[1]


# --- mistakes ---------------------------------------------------------------------------------

MISTAKES = {
    "no field": (with_change("accounts", "1", name=...), "accounts", "1", "name"),
    "no cast": (with_change("terminals", "1", cast=...), "terminals", "1", "cast"),
    "number for text": (with_change("accounts", "1", name=5), "accounts", "1", "name"),
    "text for a rate": (with_change("terminals", "1", tax_rate="x"), "terminals", "1", "tax_rate"),
    "a date": (with_change("locations", "1", created_at="2025-01-06"), "locations", "created_at"),
    "no such date": (
        with_change("api_keys", "1", expires_at="2025-02-30T00:00:00Z"),
        "api_keys",
        "1",
        "expires_at",
    ),
    "cast in capitals": (with_change("accounts", "1", cast="Partner"), "accounts", "1", "cast"),
    "wrong address": (with_change("locations", "1", address={"zip": 7}), "locations", "zip"),
    "short lookup": (with_change("api_keys", "1", lookup="short"), "api_keys", "1", "lookup"),
    "lookup of signs": (with_change("api_keys", "1", lookup="small_mercha"), "api_keys", "lookup"),
    "permissions as text": (with_change("api_keys", "1", permissions="all"), "permissions"),
    "document as list": ({**SMALL, "terminals": {"1": []}}, "terminals", "1"),
    "table as list": ({**SMALL, "terminals": []}, "terminals"),
    "no accounts": ({}, "accounts"),
    "cast taken": (with_change("api_keys", "2", cast="merchant"), "api_keys", "2", "'merchant'"),
    "lookup taken": (
        with_change("api_keys", "2", lookup="smallmercha1"),
        "api_keys",
        "partner",
        "lookup",
        "'smallmercha1'",
    ),
    "parent after its child": (with_change("accounts", "1", parent="merchant"), "parent"),
    "its own parent": (with_change("accounts", "1", parent="partner"), "accounts", "parent"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_table_document_and_field(mistake):
    document, *words = MISTAKES[mistake]

    with pytest.raises(FixtureError) as refused:
        parse_fixture("mine", document)

    assert [word for word in words if word not in str(refused.value)] == []


MISSPELT = {
    "type": (with_change("accounts", "2", type="mercant"), "accounts", "type", "'merchant'"),
    "status": (with_change("terminals", "1", status="blockd"), "terminals", "status", "'blocked'"),
    "key status": (with_change("api_keys", "1", status="revokd"), "api_keys", "'revoked'"),
    "parent": (with_change("accounts", "2", parent="parter"), "accounts", "parent", "'partner'"),
    "account of a terminal": (
        with_change("terminals", "1", account="mercant"),
        "terminals",
        "account",
        "'merchant'",
    ),
    "account of a location": (
        with_change("locations", "1", account="mercant"),
        "locations",
        "account",
        "'merchant'",
    ),
    "account of a key": (
        with_change("api_keys", "1", account="mercant"),
        "api_keys",
        "account",
        "'merchant'",
    ),
    "terminal": (with_change("locations", "1", terminal="tlil"), "locations", "terminal", "'till'"),
    "permission": (
        with_change("api_keys", "1", permissions=["payments:reed"]),
        "api_keys",
        "permissions",
        "'payments:read'",
    ),
    "field": (
        with_change("accounts", "1", desciption="x"),
        "accounts",
        "desciption",
        "description",
    ),
    "table": ({**SMALL, "terminal": {}}, "terminal", "terminals"),
}


@pytest.mark.parametrize("what", MISSPELT)
def test_a_misspelt_word_is_answered_with_the_one_that_was_meant(what):
    document, *words, meant = MISSPELT[what]

    with pytest.raises(FixtureError) as refused:
        parse_fixture("mine", document)

    said = str(refused.value)
    assert [word for word in words if word not in said] == []
    assert meant in said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "5",
        '"accounts"',
        "\ufeff{}",
        '{"accounts": {"1": {"cast": "a"',
        "[" * 100_000,
        b'{"accounts":"\xff"}',
    ],
    ids=lambda text: repr(text[:20]),
)
def test_a_file_that_holds_no_fixture_is_refused_by_its_name(tmp_path, text):
    path = tmp_path / "mine.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())

    with pytest.raises(FixtureError, match=r"mine\.json"):
        read_fixture(path)


@pytest.mark.parametrize("name", ["nowhere/mine.json", "mine.json", "./", "dmeo", ""])
def test_a_fixture_that_is_not_there_is_refused_by_its_name(name):
    with pytest.raises(FixtureError) as refused:
        library.fixture_or_file(name)

    assert name.removeprefix("./") in str(refused.value)


def test_a_document_whose_number_stands_twice_is_refused_and_not_dropped(tmp_path):
    """Copying a document and forgetting its number must not lose one of the two."""
    text = json.dumps(SMALL).replace('"2": {"cast": "partner"', '"1": {"cast": "partner"')
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(FixtureError, match=r"mine\.json.*1"):
        read_fixture(path)


@pytest.mark.parametrize("rate", ["NaN", "Infinity", "1e999"])
def test_a_rate_that_is_not_a_number_is_refused(tmp_path, rate):
    text = json.dumps(with_change("accounts", "1", surcharge_rate=0.125)).replace("0.125", rate)
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(FixtureError, match=r"surcharge_rate|is not JSON"):
        read_fixture(path)


def test_a_key_that_was_created_too_late_for_any_expiry_is_refused(tmp_path):
    path = tmp_path / "mine.json"
    document = with_change("api_keys", "1", created_at="9999-12-31T00:00:00Z")
    path.write_text(json.dumps(document), encoding="utf-8")

    with pytest.raises(FixtureError, match="created_at"):
        build(Settings(fixture=str(path)))


def test_a_path_is_not_a_name_of_a_fixture_for_the_control_surface(sandbox, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(SMALL), encoding="utf-8")

    answers = [
        sandbox.control("POST", "/worlds", {"fixture": name})
        for name in (str(path), "../fixtures/demo", "demo.json", "")
    ]

    assert [answer.status for answer in answers] == [400] * 4
