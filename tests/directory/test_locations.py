"""Locations: their fields, creation, changes, filters, deletion. Source: spec 2.8, assumed 1.5."""

import pytest

from tests.directory.making import (
    ADDRESS,
    NOBODY,
    a_location,
    a_terminal,
    account_id,
    delete,
    detail,
    events,
    everything,
    get,
    location_id,
    made,
    post,
    put,
    set_clock,
    shown,
    terminal_id,
)

NO_ADDRESS = {
    "street_line1": None,
    "street_line2": None,
    "city": None,
    "state": None,
    "zip": None,
    "country": None,
}

LEAST = {
    "name": "Patio",
    "address": NO_ADDRESS,
    "phone": None,
    "email": None,
    "status": "active",
    "processor_config_id": None,
    "country_code": "840",
    "currency": "USD",
    "terminal_id": None,
    "metadata": None,
    "surcharge_rate": None,
    "tax_rate": None,
    "surcharge_confirmation_required": None,
    "surcharge_basis": None,
    "tax_basis": None,
    "created_at": "2026-03-01T12:00:00.000Z",
    "updated_at": None,
    "deleted_at": None,
}
"""A location created with the least, less what names others."""

FULL = {
    "address": ADDRESS,
    "phone": "5125551234",
    "email": "patio@shop.example",
    "processor_config_id": "cfg-tsys-001",
    "country_code": "124",
    "currency": "CAD",
    "surcharge_rate": 3.5,
    "tax_rate": 8.25,
    "surcharge_confirmation_required": True,
    "surcharge_basis": "total",
    "tax_basis": "subtotal",
}


def ids(sandbox, location):
    return {"id": location["id"], "account_id": account_id(sandbox, "merchant")}


# --- create -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.8, 2.8-status, 2.8-null-fields", "assumed 1.5-create, 1.5-metadata")
def test_a_location_created_with_the_least_shows_every_field_its_defaults_and_null(sandbox):
    location = a_location(sandbox)

    assert location == LEAST | ids(sandbox, location)


@pytest.mark.proves("spec 2.8, 2.3, 4.4-paths-locations")
def test_a_location_keeps_everything_that_it_is_created_with(sandbox):
    location = a_location(sandbox, **FULL)

    assert location == LEAST | ids(sandbox, location) | FULL
    assert shown(get(sandbox, f"/v1/locations/{location['id']}", by="merchant")) == location


def test_null_in_a_creation_is_the_same_as_leaving_the_field_out(sandbox):
    location = a_location(sandbox, **dict.fromkeys(FULL), terminal_id=None, status=None)

    assert location == LEAST | ids(sandbox, location)


@pytest.mark.proves("spec 2.8-status")
def test_a_location_can_be_created_blocked(sandbox):
    # assumed 1.5 lists status among the fields of a creation.
    location = a_location(sandbox, status="blocked")

    assert location["status"] == "blocked"


@pytest.mark.proves("assumed 1.5-create")
@pytest.mark.parametrize("field", ["account_id", "name"])
@pytest.mark.parametrize("gone", ["left out", "null"])
def test_a_creation_without_a_required_field_is_refused_and_the_field_named(sandbox, field, gone):
    body = {"account_id": account_id(sandbox, "merchant"), "name": "Patio", field: None}
    if gone == "left out":
        del body[field]
    before = everything(sandbox)

    answer = post(sandbox, "/v1/locations", body)

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("assumed 4.7-create")
@pytest.mark.parametrize("account", ["other_merchant", "deleted_merchant", "admin", NOBODY])
def test_a_location_of_an_account_outside_the_hierarchy_is_not_found(sandbox, account):
    body = {"account_id": account_id(sandbox, account), "name": "Patio"}
    before = everything(sandbox)

    answer = post(sandbox, "/v1/locations", body)

    detail(answer, 404, "not_found")
    assert everything(sandbox) == before


@pytest.mark.proves("spec 2.8-null-fields", "assumed 1.5-metadata")
@pytest.mark.parametrize("metadata", [{"a": 1}, [], "text", 7, True, {"b": {"c": None}}])
def test_metadata_is_taken_in_any_form_and_shown_as_null(sandbox, metadata):
    # spec 2.8: null in the shape seen
    body = {"account_id": account_id(sandbox, "merchant"), "name": "Patio", "metadata": metadata}
    answer = post(sandbox, "/v1/locations", body)

    location = made(answer)
    changed = shown(put(sandbox, f"/v1/locations/{location['id']}", {"metadata": metadata}))

    assert location["metadata"] is None
    assert changed == location
    assert sandbox.journal(answer)["notes"] == []
    assert events(sandbox) == ["location.created"]


@pytest.mark.proves("assumed C8")
def test_an_unknown_field_is_ignored_and_the_journal_says_so(sandbox):
    body = {"account_id": account_id(sandbox, "merchant"), "name": "Patio", "fone": "5125551234"}
    answer = post(sandbox, "/v1/locations", body)

    location, notes = made(answer), sandbox.journal(answer)["notes"]

    assert location == LEAST | ids(sandbox, location)
    assert len(notes) == 1
    assert "'fone' is unknown and was ignored" in notes[0]
    assert "'phone'" in notes[0]


# --- the terminal it points at ----------------------------------------------------------------


@pytest.mark.proves("assumed 1.5-create")
def test_a_location_points_at_a_terminal_of_its_account(sandbox):
    terminal = a_terminal(sandbox)["terminal_id"]

    location = a_location(sandbox, terminal_id=terminal)

    assert location["terminal_id"] == terminal


def pointed_at(sandbox, name):
    if name == "deleted":
        id = a_terminal(sandbox)["terminal_id"]
        delete(sandbox, f"/v2/terminals/{id}")
        return id
    return NOBODY if name == "missing" else terminal_id(sandbox, name)


ELSEWHERE = ["second_merchant", "other_merchant", "missing", "deleted"]


@pytest.mark.proves("assumed 1.5-create")
@pytest.mark.parametrize("whose", ELSEWHERE)
def test_a_location_cannot_be_created_on_a_terminal_of_another_account(sandbox, whose):
    body = {
        "account_id": account_id(sandbox, "merchant"),
        "name": "Patio",
        "terminal_id": pointed_at(sandbox, whose),
    }
    before = everything(sandbox)

    answer = post(sandbox, "/v1/locations", body)

    assert "terminal_id" in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("assumed 1.5-create")
@pytest.mark.parametrize("whose", ELSEWHERE)
def test_a_location_cannot_be_moved_to_a_terminal_of_another_account(sandbox, whose):
    id = pointed_at(sandbox, whose)
    path = f"/v1/locations/{location_id(sandbox, 'merchant')}"
    before = everything(sandbox)

    answer = put(sandbox, path, {"terminal_id": id, "name": "x"})

    assert "terminal_id" in detail(answer)
    assert everything(sandbox) == before


def test_terminals_that_cannot_be_named_are_told_apart_by_nothing(sandbox):
    path = f"/v1/locations/{location_id(sandbox, 'merchant')}"

    answers = [
        put(sandbox, path, {"terminal_id": pointed_at(sandbox, whose)}, by="merchant")
        for whose in ("second_merchant", "other_merchant", "missing")
    ]

    assert len({(answer.status, answer.body) for answer in answers}) == 1


# --- bad values -------------------------------------------------------------------------------

STRINGS = ["name", "phone", "email", "country_code", "currency", "processor_config_id"]

BAD = [
    *((field, value) for field in [*STRINGS, "terminal_id"] for value in (7, True, [], {"a": 1})),
    ("name", ""),
    ("address", "12 Elm St"),
    ("address", []),
    ("address.state", 7),
    ("address.street_line2", ["x"]),
    ("status", "deleted"),
    ("status", ""),
    ("status", True),
    ("surcharge_rate", "3.5"),
    ("surcharge_rate", -0.5),
    ("surcharge_rate", 10_001),
    ("tax_rate", True),
    ("tax_rate", 100.1),
    ("surcharge_confirmation_required", "no"),
    ("surcharge_basis", "gross"),
    ("tax_basis", 1),
]


def bad(field, value):
    outer, _, inner = field.partition(".")
    return {outer: ADDRESS | {inner: value} if inner else value}


@pytest.mark.proves("assumed 7.2")
@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_creation_with_a_bad_value_is_refused_and_the_field_named(sandbox, field, value):
    body = {"account_id": account_id(sandbox, "merchant"), "name": "Patio"}
    before = everything(sandbox)

    answer = post(sandbox, "/v1/locations", body | bad(field, value))

    assert field in detail(answer)
    assert everything(sandbox) == before


@pytest.mark.proves("assumed 7.2")
@pytest.mark.parametrize(("field", "value"), BAD)
def test_an_update_with_a_bad_value_is_refused_and_the_field_named(sandbox, field, value):
    path = f"/v1/locations/{location_id(sandbox, 'merchant')}"
    before = everything(sandbox)

    answer = put(sandbox, path, bad(field, value))

    assert field in detail(answer)
    assert everything(sandbox) == before


# --- change -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 4.4-paths-locations", "assumed C10, 1.5")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "Terrace"),
        ("address", ADDRESS | {"zip": "78705"}),
        ("phone", ""),
        ("email", "new@shop.example"),
        ("processor_config_id", "cfg-pass-001"),
        ("country_code", "840"),
        ("currency", "USD"),
        ("surcharge_rate", 0.0),
        ("tax_rate", 9.0),
        ("surcharge_confirmation_required", False),
        ("surcharge_basis", "subtotal"),
        ("tax_basis", "total"),
    ],
)
def test_an_update_changes_the_one_field_that_it_names_and_dates_it(sandbox, field, value):
    location = a_location(sandbox, **FULL)
    path = f"/v1/locations/{location['id']}"
    set_clock(sandbox, "2026-03-01T12:00:05.250Z")

    changed = shown(put(sandbox, path, {field: value}))

    assert changed == location | {field: value, "updated_at": "2026-03-01T12:00:05.250Z"}
    assert shown(get(sandbox, path)) == changed
    assert events(sandbox) == ["location.created", "location.updated"]


@pytest.mark.proves("assumed C10")
@pytest.mark.parametrize(
    "field",
    [
        *("surcharge_rate", "tax_rate", "surcharge_confirmation_required"),
        *("surcharge_basis", "tax_basis"),
    ],
)
def test_null_in_an_update_unsets_what_may_be_unset(sandbox, field):
    location = a_location(sandbox, **FULL)

    changed = shown(put(sandbox, f"/v1/locations/{location['id']}", {field: None}))

    assert changed == location | {field: None, "updated_at": "2026-03-01T12:00:00.000Z"}


@pytest.mark.proves("assumed C10")
@pytest.mark.parametrize("field", [*STRINGS, "address", "terminal_id", "status"])
def test_null_in_an_update_is_refused_for_what_is_never_unset(sandbox, field):
    path = f"/v1/locations/{location_id(sandbox, 'merchant')}"
    before = everything(sandbox)

    answer = put(sandbox, path, {field: None})

    assert field in detail(answer)
    assert everything(sandbox) == before


def test_the_account_of_a_location_never_changes(sandbox):
    location = a_location(sandbox)
    elsewhere = {"account_id": account_id(sandbox, "second_merchant")}

    changed = shown(put(sandbox, f"/v1/locations/{location['id']}", elsewhere))

    assert changed == location
    assert events(sandbox) == ["location.created"]


@pytest.mark.proves("spec 6.3-location.updated")
@pytest.mark.parametrize("same", [{}, FULL, {"status": "active"}, {"metadata": {"a": 1}}])
def test_an_update_that_changes_nothing_is_not_announced_nor_dated(sandbox, same):
    location = a_location(sandbox, **FULL)
    set_clock(sandbox, "2026-03-02T00:00:00Z")

    answer = put(sandbox, f"/v1/locations/{location['id']}", same)

    assert shown(answer) == location
    assert events(sandbox) == ["location.created"]


# --- listing and deletion ---------------------------------------------------------------------


@pytest.mark.proves("assumed 1.5, 0.5-lists")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("search=bistro", ["Barton Springs Bistro Patio", "Barton Springs Bistro"]),
        ("search=PATIO", ["Barton Springs Bistro Patio"]),
        ("search=hill%20country", ["Hill Country Grocers"]),
        ("search=rose", []),
        ("search=hello", []),
        ("search=bistro&status=active", ["Barton Springs Bistro Patio"]),
        ("status=blocked", ["Barton Springs Bistro"]),
        ("status=blocked&search=grocer", []),
    ],
)
def test_each_filter_of_the_listing_alone_and_with_others(sandbox, query, names):
    if "status" in query:
        path = f"/v1/locations/{location_id(sandbox, 'merchant')}"
        shown(sandbox.ask("POST", f"{path}/block", key="partner"))

    listed = shown(get(sandbox, "/v1/locations", query=query))

    assert [one["name"] for one in listed["locations"]] == names
    assert listed["total"] == len(names)


@pytest.mark.proves("assumed 4.7-deleted, 4.7-twice, C11, Q24, 0.5-errors")
def test_a_deleted_location_is_gone_for_every_operation(sandbox):
    path = f"/v1/locations/{a_location(sandbox)['id']}"
    answer = delete(sandbox, path)

    again = [
        delete(sandbox, path),
        get(sandbox, path),
        put(sandbox, path, {"name": "x"}),
        sandbox.ask("POST", f"{path}/block", key="partner"),
        sandbox.ask("POST", f"{path}/unblock", key="partner"),
    ]

    assert (answer.status, answer.body) == (204, b"")
    assert [detail(one, 404, "not_found") for one in again]
    assert events(sandbox) == ["location.created", "location.deleted"]
    assert shown(get(sandbox, "/v1/locations", query="search=Terrace"))["total"] == 0
