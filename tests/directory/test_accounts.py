"""Accounts: their fields, creation and changes. Source: spec 2.6, assumed 1.3."""

import pytest

from tests.directory.making import (
    ACCOUNT,
    ADDRESS,
    NOBODY,
    account_id,
    an_account,
    detail,
    events,
    everything,
    get,
    made,
    mint,
    post,
    put,
    set_clock,
    shown,
)

BOTH = ["/v1/accounts", "/v2/accounts"]

LEAST = {
    "organization_id": None,
    "available_processor_configs": [],
    "tax_id": None,
    "mcc": None,
    "type": "merchant",
    "status": "active",
    "name": "Elm Street Bakery",
    "description": "Bakery",
    "address": ADDRESS,
    "surcharge_rate": None,
    "tax_rate": None,
    "surcharge_confirmation_required": None,
    "surcharge_basis": None,
    "tax_basis": None,
    "created_at": "2026-03-01T12:00:00.000Z",
    "deleted_at": None,
    "updated_at": None,
}
"""An account created with the least, less what names others."""

FULL = {
    "available_processor_configs": ["cfg-tsys-001", "cfg-pass-001"],
    "tax_id": "12-3456789",
    "mcc": "5812",
    "surcharge_rate": 3.5,
    "tax_rate": 8.25,
    "surcharge_confirmation_required": False,
    "surcharge_basis": "total",
    "tax_basis": "subtotal_plus_tip",
}


def ids(sandbox, account):
    above = ["psp", "partner"]
    return {
        "id": account["id"],
        "parent_account_ids": [account_id(sandbox, name) for name in above],
    }


# --- create -----------------------------------------------------------------------------------


@pytest.mark.proves(
    "spec 2.6, 2.6-status, 2.6-type, 2.4-unset, 4.4-paths-accounts", "assumed 0.5-ids, D20"
)
def test_an_account_created_with_the_least_shows_every_field_and_null_where_unset(sandbox):
    account = an_account(sandbox)

    assert account == LEAST | ids(sandbox, account)


@pytest.mark.proves("spec 2.6, 2.6-rates")
def test_an_account_keeps_everything_that_it_is_created_with(sandbox):
    account = an_account(sandbox, **FULL)

    assert account == LEAST | ids(sandbox, account) | FULL


@pytest.mark.proves("spec 4.4-paths, 4.4-paths-accounts, 9.4", "assumed 1.3-alias, 1.3")
@pytest.mark.parametrize("path", BOTH)
def test_reading_an_account_shows_what_its_creation_did_under_either_version(sandbox, path):
    account = an_account(sandbox, **FULL)

    read = shown(get(sandbox, f"{path}/{account['id']}"))

    assert read == account


@pytest.mark.proves("spec 2.3", "assumed D20")
def test_an_address_shows_all_six_fields_and_null_for_those_left_out(sandbox):
    account = an_account(sandbox, address={"city": "Austin"})

    assert account["address"] == {
        "street_line1": None,
        "street_line2": None,
        "city": "Austin",
        "state": None,
        "zip": None,
        "country": None,
    }


@pytest.mark.proves("assumed D20")
def test_null_in_a_creation_is_the_same_as_leaving_the_field_out(sandbox):
    account = an_account(sandbox, **dict.fromkeys(FULL), parent_id=None)

    assert account == LEAST | ids(sandbox, account)


@pytest.mark.proves("assumed 1.3-create")
@pytest.mark.parametrize("field", ["type", "name", "description", "address"])
@pytest.mark.parametrize("gone", ["left out", "null"])
@pytest.mark.parametrize("path", BOTH)
def test_a_creation_without_a_required_field_is_refused_and_the_field_named(
    sandbox, path, field, gone
):
    body = ACCOUNT | {field: None}
    if gone == "left out":
        del body[field]
    before = everything(sandbox)

    answer = post(sandbox, path, body)

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("assumed C8")
def test_administrators_of_a_new_account_are_known_fields_and_ignored(sandbox):
    admins = {"admin_email": "a@b.example", "admin_first_name": "A", "admin_last_name": 7}
    answer = post(sandbox, "/v1/accounts", ACCOUNT | admins)

    account = made(answer)

    assert account == LEAST | ids(sandbox, account)
    assert sandbox.journal(answer)["notes"] == []


@pytest.mark.proves("assumed C8")
@pytest.mark.parametrize(
    ("field", "hint"),
    [("tax_idd", "tax_id"), ("surchage_rate", "surcharge_rate"), ("has_access_to_mms", None)],
)
def test_an_unknown_field_is_ignored_and_the_journal_says_so(sandbox, field, hint):
    # assumed C8
    answer = post(sandbox, "/v1/accounts", ACCOUNT | {field: "x"})

    account, notes = made(answer), sandbox.journal(answer)["notes"]

    assert account == LEAST | ids(sandbox, account)
    assert len(notes) == 1
    assert f"'{field}' is unknown and was ignored" in notes[0]
    assert hint is None or repr(hint) in notes[0]


@pytest.mark.proves("assumed C8")
@pytest.mark.parametrize("field", ["id", "status", "created_at", "organization_id"])
def test_what_only_the_platform_decides_cannot_be_chosen_in_a_creation(sandbox, field):
    account = an_account(sandbox, **{field: "chosen"})

    assert account[field] != "chosen"
    assert account["status"] == "active"


BAD = [
    ("name", ""),
    ("name", 7),
    ("name", ["x"]),
    ("name", {}),
    ("name", True),
    ("description", 7),
    ("description", False),
    ("address", "12 Elm St"),
    ("address", []),
    ("address", 1),
    ("address.city", 7),
    ("address.zip", 78704),
    ("address.country", ["USA"]),
    ("mcc", "581"),
    ("mcc", "58122"),
    ("mcc", "58a2"),
    ("mcc", "\u0665\u0668\u0661\u0662"),
    ("mcc", "5812\n"),
    ("mcc", ""),
    ("mcc", 5812),
    ("tax_id", 123456789),
    ("tax_id", []),
    ("available_processor_configs", "cfg-tsys-001"),
    ("available_processor_configs", {}),
    ("available_processor_configs", [1]),
    ("available_processor_configs", [None]),
    ("available_processor_configs", [""]),
    ("available_processor_configs", ["x"] * 201),
    ("surcharge_rate", "3.5"),
    ("surcharge_rate", -1),
    ("surcharge_rate", -0.01),
    ("surcharge_rate", 100.5),
    ("surcharge_rate", 10_001),
    ("surcharge_rate", True),
    ("surcharge_rate", []),
    ("tax_rate", "8"),
    ("tax_rate", 1e300),
    ("tax_rate", -5),
    ("tax_rate", {}),
    ("surcharge_confirmation_required", "true"),
    ("surcharge_confirmation_required", 1),
    ("surcharge_confirmation_required", 0),
    ("surcharge_basis", "all"),
    ("surcharge_basis", "Total"),
    ("surcharge_basis", ""),
    ("surcharge_basis", 1),
    ("tax_basis", "tip"),
    ("tax_basis", []),
]


def bad(field, value):
    outer, _, inner = field.partition(".")
    return {outer: ADDRESS | {inner: value} if inner else value}


@pytest.mark.proves("spec 7-other", "assumed 7.2, 0.5-http, 0.5-errors")
@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_creation_with_a_bad_value_is_refused_and_the_field_named(sandbox, field, value):
    before = everything(sandbox)

    answer = post(sandbox, "/v1/accounts", ACCOUNT | bad(field, value))

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("spec 2.6-type", "assumed 1.3-create")
@pytest.mark.parametrize("type", ["", "shop", "Merchant", 1, [], {}, True])
def test_a_creation_with_an_unknown_type_is_refused_and_the_field_named(sandbox, type):
    answer = post(sandbox, "/v1/accounts", ACCOUNT | {"type": type})

    assert "type" in detail(answer)


@pytest.mark.parametrize("parent", [7, [], {}, False])
def test_a_parent_that_is_no_string_is_refused_and_the_field_named(sandbox, parent):
    answer = post(sandbox, "/v1/accounts", ACCOUNT | {"parent_id": parent})

    assert "parent_id" in detail(answer)


# --- change -----------------------------------------------------------------------------------

CHANGES = [
    ("name", "Elm Street Cafe"),
    ("description", ""),
    ("address", ADDRESS | {"street_line1": "14 Elm St"}),
    ("mcc", "5814"),
    ("tax_id", "98-7654321"),
    ("organization_id", "org_1"),
    ("available_processor_configs", ["cfg-payroc-001"]),
    ("available_processor_configs", []),
    ("surcharge_rate", 2.5),
    ("surcharge_rate", 0.0),
    ("tax_rate", 8.75),
    ("surcharge_confirmation_required", True),
    ("surcharge_basis", "subtotal"),
    ("tax_basis", "subtotal_plus_tax"),
]

NULLABLE = [
    "tax_id",
    "organization_id",
    "surcharge_rate",
    "tax_rate",
    "surcharge_confirmation_required",
    "surcharge_basis",
    "tax_basis",
]


@pytest.mark.proves("assumed 1.3-update, C10, 1.3-alias")
@pytest.mark.parametrize(("field", "value"), CHANGES)
@pytest.mark.parametrize("path", BOTH)
def test_an_update_changes_the_one_field_that_it_names_and_dates_it(sandbox, path, field, value):
    account = an_account(sandbox, **FULL)
    set_clock(sandbox, "2026-03-01T12:00:05.250Z")

    changed = shown(put(sandbox, f"{path}/{account['id']}", {field: value}))

    assert changed == account | {field: value, "updated_at": "2026-03-01T12:00:05.250Z"}
    assert shown(get(sandbox, f"/v1/accounts/{account['id']}")) == changed
    assert events(sandbox) == ["account.created", "account.updated"]


@pytest.mark.proves("assumed C10")
@pytest.mark.parametrize("field", NULLABLE)
def test_null_in_an_update_unsets_what_may_be_unset(sandbox, field):
    account = an_account(sandbox, **FULL)
    path = f"/v1/accounts/{account['id']}"
    shown(put(sandbox, path, {"organization_id": "org_1"}))

    changed = shown(put(sandbox, path, {field: None}))

    assert changed[field] is None
    assert events(sandbox) == ["account.created", "account.updated", "account.updated"]


@pytest.mark.proves("assumed C10")
@pytest.mark.parametrize(
    "field",
    ["name", "description", "address", "mcc", "available_processor_configs", "status"],
)
def test_null_in_an_update_is_refused_for_what_is_never_unset(sandbox, field):
    # assumed C10
    account = an_account(sandbox, **FULL)
    before = everything(sandbox)

    answer = put(sandbox, f"/v1/accounts/{account['id']}", {field: None})

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("assumed 7.2")
@pytest.mark.parametrize(
    ("field", "value"),
    [*BAD, ("status", "deleted"), ("status", "Active"), ("status", 1), ("organization_id", 7)],
)
def test_an_update_with_a_bad_value_is_refused_and_the_field_named(sandbox, field, value):
    account = an_account(sandbox, **FULL)
    before = everything(sandbox)

    answer = put(sandbox, f"/v1/accounts/{account['id']}", bad(field, value))

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("assumed 1.3-update")
@pytest.mark.parametrize(
    "ignored", [{"type": "partner"}, {"parent_id": NOBODY}, {"id": "x"}, {"colour": "red"}]
)
def test_what_an_update_cannot_change_is_ignored_and_the_journal_says_so(sandbox, ignored):
    account = an_account(sandbox, **FULL)

    answer = put(sandbox, f"/v1/accounts/{account['id']}", ignored)

    assert shown(answer) == account
    assert f"'{next(iter(ignored))}'" in sandbox.journal(answer)["notes"][0]
    assert events(sandbox) == ["account.created"]


@pytest.mark.proves("spec 6.3-account.updated")
@pytest.mark.parametrize(
    "same", [{}, FULL, {"status": "active"}, {"address": ADDRESS}, {"surcharge_rate": 350}]
)
def test_an_update_that_changes_nothing_is_not_announced_nor_dated(sandbox, same):
    account = an_account(sandbox, **FULL)
    set_clock(sandbox, "2026-03-02T00:00:00Z")

    answer = put(sandbox, f"/v1/accounts/{account['id']}", same)

    assert shown(answer) == account
    assert events(sandbox) == ["account.created"]


@pytest.mark.proves("spec 5.6", "assumed 4.7-write-only")
def test_an_update_needs_no_permission_to_read_and_shows_its_result(sandbox):
    # spec 5.6, assumed 4.7
    account = an_account(sandbox)
    writer = mint(sandbox, ["accounts:edit"], by="partner")["key"]
    path = f"/v1/accounts/{account['id']}"

    written, read = put(sandbox, path, {"name": "x"}, by=writer), get(sandbox, path, by=writer)

    assert shown(written)["name"] == "x"
    assert detail(read, 401, "permission_denied")
