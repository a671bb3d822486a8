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
CODE = "482913750264"


@pytest.mark.proves("spec 2.9, 2.9-pin", "assumed Q8, 1.6, C8")
def test_a_credential_shows_exactly_six_fields_with_its_pin_hidden(sandbox):
    body = {"account_id": account_id(sandbox, "merchant"), "code": CODE, "pin": "193847"}
    answer = post(sandbox, PATH, body | {"is_activ": False, "is_active": False})

    credential, notes = made(answer), sandbox.journal(answer)["notes"]

    assert credential == body | {
        "id": credential["id"],
        "pin": "****",
        "is_active": True,
        "created_at": "2026-03-01T12:00:00.000Z",
    }
    assert shown(get(sandbox, f"{PATH}/{credential['id']}")) == credential
    assert any("'is_activ' is unknown and was ignored" in note for note in notes)


@pytest.mark.proves("assumed 1.6-create")
def test_without_an_account_a_credential_is_the_callers_own_and_its_code_is_made_up(sandbox):
    bodies = [{}, {"account_id": None}, *[{"code": None, "pin": None}] * 50]

    found = [made(post(sandbox, PATH, body, by="merchant")) for body in bodies]

    assert {one["account_id"] for one in found} == {account_id(sandbox, "merchant")}
    assert all(re.fullmatch(r"[0-9]{12}", one["code"]) for one in found)
    assert len({one["code"] for one in found}) == len(bodies)


@pytest.mark.proves("assumed 1.6-create")
def test_a_code_is_any_twelve_characters_that_no_live_credential_has(sandbox):
    for code in (CODE, "ABCdef-_.: x", "\u00e4" * 12):
        for account in ("merchant", "other_merchant"):
            first = a_credential(sandbox, account, by="psp", code=code)
            before = sandbox.state()
            answer = post(sandbox, PATH, {"code": code}, by="merchant")
            assert "code" in detail(answer, 409, "conflict")
            assert sandbox.state() == before
            assert first["code"] == code
            delete(sandbox, f"{PATH}/{first['id']}", by="psp")


@pytest.mark.proves("assumed 1.6-update")
def test_a_change_of_pin_is_silent(sandbox):
    # spec 6.3 has no credential.updated
    credential = a_credential(sandbox)
    path = f"{PATH}/{credential['id']}"
    set_clock(sandbox, "2026-03-02T00:00:00Z")

    for change in ({"pin": "555555"}, {"pin": "555555", "is_active": True}, {}):
        assert shown(put(sandbox, path, change)) == credential
    assert " pin: string should match" in detail(put(sandbox, path, {"pin": "55555"}))
    blocked = shown(put(sandbox, path, {"pin": "555555", "is_active": False}))

    assert blocked == credential | {"is_active": False}
    assert events(sandbox) == ["credential.created", "credential.blocked"]


@pytest.mark.proves("assumed 1.6-delete, C11")
@pytest.mark.parametrize("is_blocked", [False, True])
def test_deleting_a_credential_shows_it_inactive_and_it_is_not_listed(sandbox, is_blocked):
    credential = a_credential(sandbox)
    path = f"{PATH}/{credential['id']}"
    if is_blocked:
        shown(sandbox.ask("POST", f"{path}/block", key="partner"))

    deleted = shown(delete(sandbox, path))

    assert deleted == credential | {"is_active": False}
    assert shown(get(sandbox, PATH))["credentials"] == []
    assert events(sandbox)[-1] == "credential.deleted"


@pytest.mark.proves("spec 2.9-pin, 6.1.7")
def test_no_pin_is_in_a_listing_a_message_or_the_journal(sandbox):
    # spec 6.1.7 masks it wherever it is sent, and it is kept nowhere.
    answer = post(sandbox, PATH, {"code": CODE, "pin": "731926"}, by="merchant")
    path = f"{PATH}/{made(answer)['id']}"
    for wrong in ({}, {"is_active": 7}):
        put(sandbox, path, {"pin": "847362"} | wrong, by="merchant")

    for read in (
        get(sandbox, PATH, by="merchant"),
        sandbox.control("GET", "/worlds/default/messages"),
        sandbox.control("GET", "/worlds/default/requests"),
    ):
        assert b"731926" not in read.body
        assert b"847362" not in read.body
