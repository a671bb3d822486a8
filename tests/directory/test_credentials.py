"""Credentials: codes, PINs, and whether they are active. Source: spec 2.9, assumed 1.6."""

import re

import pytest

from tests.directory.making import (
    a_credential,
    account_id,
    delete,
    detail,
    events,
    get,
    made,
    post,
    put,
    set_clock,
    shown,
)

PATH = "/v1/accounts/credentials"


@pytest.mark.proves("spec 2.9, 2.9-pin", "assumed Q8, 1.6")
def test_a_credential_shows_exactly_six_fields_with_its_pin_hidden(sandbox):
    credential = a_credential(sandbox, code="482913750264", pin="193847")

    assert credential == {
        "id": credential["id"],
        "account_id": account_id(sandbox, "merchant"),
        "code": "482913750264",
        "pin": "****",
        "is_active": True,
        "created_at": "2026-03-01T12:00:00.000Z",
    }
    assert shown(get(sandbox, f"{PATH}/{credential['id']}")) == credential


@pytest.mark.proves("assumed 1.6-create")
@pytest.mark.parametrize("body", [{}, {"account_id": None}, {"code": None, "pin": None}])
def test_without_an_account_a_credential_is_the_callers_own_and_its_code_is_made_up(sandbox, body):
    credential = made(post(sandbox, PATH, body, by="merchant"))

    assert credential["account_id"] == account_id(sandbox, "merchant")
    assert re.fullmatch(r"[0-9]{12}", credential["code"])
    assert credential["pin"] == "****"


def test_codes_that_are_made_up_differ(sandbox):
    codes = {a_credential(sandbox)["code"] for _ in range(50)}

    assert len(codes) == 50


@pytest.mark.proves("assumed 1.6-create")
@pytest.mark.parametrize("code", ["482913750264", "ABCdef-_.: x", "\u00e4" * 12])
def test_a_code_is_any_twelve_characters(sandbox, code):
    credential = a_credential(sandbox, code=code)

    assert credential["code"] == code


@pytest.mark.proves("assumed 1.6-create")
@pytest.mark.parametrize("account", ["merchant", "other_merchant"])
def test_a_code_that_is_taken_is_refused_for_every_owner(sandbox, account):
    a_credential(sandbox, account, by="psp", code="482913750264")
    before = sandbox.state()

    answer = post(sandbox, PATH, {"code": "482913750264"}, by="merchant")

    assert "code" in detail(answer, 409, "conflict")
    assert sandbox.state() == before


def test_a_code_is_free_again_after_its_credential_was_deleted(sandbox):
    first = a_credential(sandbox, code="482913750264")
    delete(sandbox, f"{PATH}/{first['id']}")

    second = a_credential(sandbox, code="482913750264")

    assert second["id"] != first["id"]


@pytest.mark.proves("assumed C8")
def test_an_unknown_field_is_ignored_and_the_journal_says_so(sandbox):
    answer = post(sandbox, PATH, {"is_activ": False, "is_active": False}, by="merchant")

    credential, notes = made(answer), sandbox.journal(answer)["notes"]

    assert credential["is_active"] is True
    assert any("'is_activ' is unknown and was ignored" in note for note in notes)


# --- change -----------------------------------------------------------------------------------


@pytest.mark.proves("assumed 1.6-update")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"pin": "555555"}, []),
        ({"pin": "555555", "is_active": True}, []),
        ({"pin": "555555", "is_active": False}, ["credential.blocked"]),
        ({}, []),
    ],
)
def test_a_change_of_pin_is_silent(sandbox, change, expected):
    # spec 6.3 has no credential.updated
    credential = a_credential(sandbox)
    set_clock(sandbox, "2026-03-02T00:00:00Z")

    changed = shown(put(sandbox, f"{PATH}/{credential['id']}", change))

    assert changed == credential | {"is_active": not expected}
    assert events(sandbox) == ["credential.created", *expected]


# --- listing and deletion ---------------------------------------------------------------------


@pytest.mark.proves("assumed 0.5-lists, 1.6")
def test_credentials_are_listed_newest_first_as_reading_each_shows_them(sandbox):
    made_here = [a_credential(sandbox, name) for name in ("merchant", "second_merchant", "partner")]
    a_credential(sandbox, "other_merchant", by="psp")

    listed = shown(get(sandbox, PATH))

    assert listed == {
        "credentials": made_here[::-1],
        "total": 3,
        "limit": 50,
        "offset": 0,
        "page": 1,
    }


@pytest.mark.proves("assumed 1.6-delete, C11")
@pytest.mark.parametrize("blocked", [False, True])
def test_deleting_a_credential_shows_it_inactive_and_it_is_gone(sandbox, blocked):
    credential = a_credential(sandbox)
    path = f"{PATH}/{credential['id']}"
    if blocked:
        shown(sandbox.ask("POST", f"{path}/block", key="partner"))

    deleted = shown(delete(sandbox, path))
    again = [
        delete(sandbox, path),
        get(sandbox, path),
        put(sandbox, path, {"pin": "555555"}),
        sandbox.ask("POST", f"{path}/block", key="partner"),
        sandbox.ask("POST", f"{path}/unblock", key="partner"),
    ]

    assert deleted == credential | {"is_active": False}
    assert [detail(one, 404, "not_found") for one in again]
    assert shown(get(sandbox, PATH))["credentials"] == []
    assert events(sandbox)[-1] == "credential.deleted"


@pytest.mark.proves("spec 2.9-pin, 6.1.7")
def test_no_pin_stands_in_a_listing_a_message_or_the_journal(sandbox):
    # spec 6.1.7 masks it wherever it is sent, and it is kept nowhere.
    answer = post(sandbox, PATH, {"code": "482913750264", "pin": "731926"}, by="merchant")
    path = f"{PATH}/{made(answer)['id']}"
    put(sandbox, path, {"pin": "847362"}, by="merchant")
    put(sandbox, path, {"pin": "847362", "is_active": 7}, by="merchant")

    read = [
        get(sandbox, PATH, by="merchant").body,
        sandbox.control("GET", "/worlds/default/messages").body,
        sandbox.control("GET", "/worlds/default/requests").body,
    ]

    assert not any(pin in body for body in read for pin in (b"731926", b"847362"))
