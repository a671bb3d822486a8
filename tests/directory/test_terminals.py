"""Terminals: their fields, creation, VAR sheets and changes. Source: spec 2.7, assumed 1.4."""

import pytest

from tests.directory.making import (
    NOBODY,
    a_terminal,
    account_id,
    an_account,
    delete,
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
    terminal_body,
)
from tests.support.payments import sold

LEAST = {
    "name": "bar",
    "description": None,
    "mid": "886000002000",
    "tid": "00000042",
    "store_number": None,
    "bin": None,
    "vid": None,
    "agent_bank_number": None,
    "merchant_category_code": None,
    "terminal_capability": "5",
    "currency_code": "USD",
    "country_code": "840",
    "processor_config_id": "cfg-tsys-001",
    "status": "active",
    "created_at": "2026-03-01T12:00:00.000Z",
    "deleted_at": None,
    "updated_at": None,
    "merchant_name": None,
    "transactions": [],
    "surcharge_rate": None,
    "tax_rate": None,
    "surcharge_confirmation_required": None,
    "surcharge_basis": None,
    "tax_basis": None,
    "var_sheet": None,
    "batching": None,
}
"""A terminal created with the least, less what names others."""

FULL = {
    "description": "Bar in the back",
    "store_number": "0001",
    "bin": "999991",
    "vid": "V1234567",
    "agent_bank_number": "000000",
    "merchant_category_code": "5812",
    "terminal_capability": "3",
    "currency_code": "840",
    "country_code": "124",
    "merchant_name": "Barton Springs Bistro",
    "surcharge_rate": 3.5,
    "tax_rate": 8.25,
    "surcharge_confirmation_required": True,
    "surcharge_basis": "total",
    "tax_basis": "subtotal",
}


def ids(sandbox, terminal):
    return {
        "terminal_id": terminal["terminal_id"],
        "account_id": account_id(sandbox, "merchant"),
    }


# --- create -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.7, 2.7-status, 2.7-null-fields", "assumed 1.4-constant")
def test_a_terminal_created_with_the_least_shows_every_field_and_null_where_unset(sandbox):
    terminal = a_terminal(sandbox)

    assert terminal == LEAST | ids(sandbox, terminal)


@pytest.mark.proves("spec 2.7, 4.4-paths-terminals")
def test_a_terminal_keeps_everything_that_it_is_created_with(sandbox):
    terminal = a_terminal(sandbox, **FULL)

    assert terminal == LEAST | ids(sandbox, terminal) | FULL


def test_reading_a_terminal_shows_what_its_creation_did(sandbox):
    terminal = a_terminal(sandbox, **FULL)

    read = shown(get(sandbox, f"/v2/terminals/{terminal['terminal_id']}", by="merchant"))

    assert read == terminal


def test_null_in_a_creation_is_the_same_as_leaving_the_field_out(sandbox):
    terminal = a_terminal(sandbox, **dict.fromkeys(FULL))

    assert terminal == LEAST | ids(sandbox, terminal)


@pytest.mark.proves("assumed 1.4-create")
@pytest.mark.parametrize("field", ["account_id", "processor_config_id", "name", "mid", "tid"])
@pytest.mark.parametrize("gone", ["left out", "null"])
def test_a_creation_without_a_required_field_is_refused_and_the_field_named(sandbox, field, gone):
    body = terminal_body(sandbox) | {field: None}
    if gone == "left out":
        del body[field]
    before = everything(sandbox)

    answer = post(sandbox, "/v2/terminals", body)

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("assumed 4.7-create")
@pytest.mark.parametrize("account", ["other_merchant", "deleted_merchant", "psp", NOBODY])
def test_a_terminal_of_an_account_outside_the_hierarchy_is_not_found(sandbox, account):
    before = everything(sandbox)

    answer = post(sandbox, "/v2/terminals", terminal_body(sandbox, account))

    detail(answer, 404, "not_found")
    assert everything(sandbox) == before


@pytest.mark.parametrize(
    ("alias", "field"), [("terminal_name", "name"), ("terminal_description", "description")]
)
def test_a_field_has_an_older_name_that_is_no_unknown_field(sandbox, alias, field):
    body = terminal_body(sandbox)
    del body["name"]
    answer = post(sandbox, "/v2/terminals", {"name": "bar"} | body | {alias: "patio"})
    if alias == "terminal_name":
        answer = post(sandbox, "/v2/terminals", body | {alias: "patio", "tid": "00000043"})

    terminal = made(answer)

    assert terminal[field] == "patio"
    assert alias not in terminal
    assert sandbox.journal(answer)["notes"] == []


def test_the_newer_name_of_a_field_wins_over_its_older_one(sandbox):
    terminal = a_terminal(sandbox, name="new", terminal_name="old")

    assert terminal["name"] == "new"


@pytest.mark.proves("assumed C8")
@pytest.mark.parametrize(("field", "hint"), [("terminal_nam", "terminal_name"), ("colour", None)])
def test_an_unknown_field_is_ignored_and_the_journal_says_so(sandbox, field, hint):
    answer = post(sandbox, "/v2/terminals", terminal_body(sandbox, **{field: "x"}))

    terminal, notes = made(answer), sandbox.journal(answer)["notes"]

    assert terminal == LEAST | ids(sandbox, terminal)
    assert len(notes) == 1
    assert f"'{field}' is unknown and was ignored" in notes[0]
    assert hint is None or repr(hint) in notes[0]


@pytest.mark.proves("spec 2.7-null-fields", "assumed 1.4-constant")
def test_transactions_var_sheet_and_batching_never_vary(sandbox):
    terminal = a_terminal(sandbox, transactions=["x"], batching={"auto": True})

    assert (terminal["transactions"], terminal["var_sheet"], terminal["batching"]) == (
        [],
        None,
        None,
    )


# --- the account's processors -----------------------------------------------------------------


@pytest.mark.proves("assumed 1.4-config")
@pytest.mark.parametrize("config", ["cfg-pass-001", "cfg-tsys-002", "CFG-TSYS-001"])
def test_a_processor_that_the_account_does_not_list_is_refused(sandbox, config):
    # assumed 1.4-config: the merchant of the cast lists one.
    before = everything(sandbox)

    answer = post(sandbox, "/v2/terminals", terminal_body(sandbox, processor_config_id=config))

    assert "processor_config_id" in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("assumed 1.4-config")
def test_an_account_that_lists_no_processor_takes_any(sandbox):
    shop = an_account(sandbox)

    terminal = a_terminal(sandbox, shop["id"], processor_config_id="cfg-anything-9")

    assert terminal["processor_config_id"] == "cfg-anything-9"


@pytest.mark.proves("assumed 1.4-config")
def test_a_terminal_cannot_be_moved_to_a_processor_that_its_account_does_not_list(sandbox):
    terminal = a_terminal(sandbox)
    before = everything(sandbox)

    answer = put(
        sandbox,
        f"/v2/terminals/{terminal['terminal_id']}",
        {"processor_config_id": "cfg-pass-001", "name": "x", "status": "blocked"},
    )

    assert "processor_config_id" in detail(answer)
    assert everything(sandbox) == before


# --- bad values -------------------------------------------------------------------------------

STRINGS = [
    *("name", "description", "mid", "tid", "store_number", "bin", "vid", "agent_bank_number"),
    *("merchant_category_code", "terminal_capability", "currency_code", "country_code"),
    *("processor_config_id", "merchant_name"),
]

BAD = [
    *((field, value) for field in STRINGS for value in (7, True, ["x"], {})),
    ("name", ""),
    ("mid", ""),
    ("tid", ""),
    ("processor_config_id", ""),
    ("merchant_category_code", "581"),
    ("merchant_category_code", "58122"),
    ("merchant_category_code", "abcd"),
    ("surcharge_rate", "3.5"),
    ("surcharge_rate", -1),
    ("surcharge_rate", 10_001),
    ("surcharge_rate", False),
    ("tax_rate", 100.01),
    ("tax_rate", [8]),
    ("surcharge_confirmation_required", "yes"),
    ("surcharge_confirmation_required", 1),
    ("surcharge_basis", "everything"),
    ("tax_basis", 7),
    ("var_sheet", "sheet"),
    ("var_sheet", []),
    ("var_sheet", 7),
    ("var_sheet", False),
]


@pytest.mark.proves("assumed 7.2")
@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_creation_with_a_bad_value_is_refused_and_the_field_named(sandbox, field, value):
    before = everything(sandbox)

    answer = post(sandbox, "/v2/terminals", terminal_body(sandbox) | {field: value})

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("assumed 7.2")
@pytest.mark.parametrize(
    ("field", "value"), [*BAD, ("status", "deleted"), ("status", "BLOCKED"), ("status", 0)]
)
def test_an_update_with_a_bad_value_is_refused_and_the_field_named(sandbox, field, value):
    path = f"/v2/terminals/{a_terminal(sandbox)['terminal_id']}"
    before = everything(sandbox)

    answer = put(sandbox, path, {field: value})

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.parametrize("account", [7, [], {}, True])
def test_an_account_id_that_is_no_string_is_refused_and_the_field_named(sandbox, account):
    answer = post(sandbox, "/v2/terminals", terminal_body(sandbox) | {"account_id": account})

    assert "account_id" in detail(answer)


# --- change -----------------------------------------------------------------------------------

NULLABLE = [
    *("vid", "agent_bank_number", "surcharge_rate", "tax_rate"),
    *("surcharge_confirmation_required", "surcharge_basis", "tax_basis"),
]


@pytest.mark.proves("spec 4.4-paths-terminals", "assumed C10, 1.4")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "window"),
        ("description", ""),
        ("mid", "886000003000"),
        ("tid", "99999999"),
        ("store_number", "0002"),
        ("bin", "424550"),
        ("vid", "V7654321"),
        ("agent_bank_number", "081960"),
        ("merchant_category_code", "5411"),
        ("terminal_capability", "6"),
        ("currency_code", "CAD"),
        ("country_code", "840"),
        ("merchant_name", "Bistro"),
        ("surcharge_rate", 0.0),
        ("tax_rate", 9.5),
        ("surcharge_confirmation_required", False),
        ("surcharge_basis", "subtotal_plus_tip"),
        ("tax_basis", "total"),
    ],
)
def test_an_update_changes_the_one_field_that_it_names_and_dates_it(sandbox, field, value):
    terminal = a_terminal(sandbox, **FULL)
    path = f"/v2/terminals/{terminal['terminal_id']}"
    set_clock(sandbox, "2026-03-01T12:00:05.250Z")

    changed = shown(put(sandbox, path, {field: value}))

    assert changed == terminal | {field: value, "updated_at": "2026-03-01T12:00:05.250Z"}
    assert shown(get(sandbox, path)) == changed
    assert events(sandbox) == ["terminal.created", "terminal.updated"]


@pytest.mark.proves("assumed C10")
@pytest.mark.parametrize("field", NULLABLE)
def test_null_in_an_update_unsets_what_may_be_unset(sandbox, field):
    terminal = a_terminal(sandbox, **FULL)

    changed = shown(put(sandbox, f"/v2/terminals/{terminal['terminal_id']}", {field: None}))

    assert changed == terminal | {field: None, "updated_at": "2026-03-01T12:00:00.000Z"}


@pytest.mark.proves("assumed C10")
@pytest.mark.parametrize("field", [*(name for name in STRINGS if name not in NULLABLE), "status"])
def test_null_in_an_update_is_refused_for_what_is_never_unset(sandbox, field):
    path = f"/v2/terminals/{a_terminal(sandbox, **FULL)['terminal_id']}"
    before = everything(sandbox)

    answer = put(sandbox, path, {field: None})

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.parametrize(
    ("alias", "field"), [("terminal_name", "name"), ("terminal_description", "description")]
)
def test_an_update_takes_the_older_names_too(sandbox, alias, field):
    path = f"/v2/terminals/{a_terminal(sandbox)['terminal_id']}"

    changed = shown(put(sandbox, path, {alias: "patio"}))

    assert changed[field] == "patio"


def test_the_account_of_a_terminal_never_changes(sandbox):
    terminal = a_terminal(sandbox)
    elsewhere = {"account_id": account_id(sandbox, "second_merchant")}

    changed = shown(put(sandbox, f"/v2/terminals/{terminal['terminal_id']}", elsewhere))

    assert changed == terminal
    assert events(sandbox) == ["terminal.created"]


@pytest.mark.proves("spec 6.3-terminal.updated")
@pytest.mark.parametrize("same", [{}, FULL, {"status": "active"}, {"tid": "00000042"}])
def test_an_update_that_changes_nothing_is_not_announced_nor_dated(sandbox, same):
    terminal = a_terminal(sandbox, **FULL)
    set_clock(sandbox, "2026-03-02T00:00:00Z")

    answer = put(sandbox, f"/v2/terminals/{terminal['terminal_id']}", same)

    assert shown(answer) == terminal
    assert events(sandbox) == ["terminal.created"]


def test_a_merchant_boards_its_own_terminal(sandbox):
    key = mint(sandbox, ["terminals:create"], by="merchant")["key"]

    terminal = a_terminal(sandbox, by=key)

    assert terminal["account_id"] == account_id(sandbox, "merchant")


@pytest.mark.proves("assumed 1.4-delete, D10")
def test_a_terminal_whose_payments_still_have_to_settle_is_not_deleted(sandbox):
    # assumed D10; for every state of a batch see tests/payments/test_batch_results.py.
    tx = sold(sandbox)
    fired = events(sandbox)

    answer = delete(sandbox, f"/v2/terminals/{tx['tid']}")

    assert tx["batch_id"] in detail(answer, 409, "conflict")
    assert events(sandbox) == fired
    assert shown(get(sandbox, f"/v2/terminals/{tx['tid']}"))["deleted_at"] is None
