"""Credentials: codes, PINs, and whether they are active. Source: spec 2.9, assumed 1.6."""

import re

import pytest

PATH = "/v1/accounts/credentials"
CODE = "482913750264"


@pytest.mark.proves("spec 2.9, 2.9-pin", "assumed Q8, 1.6")
def test_a_credential_shows_exactly_six_fields_with_its_pin_hidden(sandbox):
    body = {"account_id": sandbox.account_id("merchant"), "code": CODE, "pin": "193847"}
    credential = sandbox.post(PATH, body | {"is_active": False}).expect(201)

    assert credential == body | {
        "id": credential["id"],
        "pin": "****",
        "is_active": True,
        "created_at": "2026-03-01T12:00:00.000Z",
    }
    assert sandbox.get(f"{PATH}/{credential['id']}").expect(200) == credential


@pytest.mark.proves("assumed 1.6-create")
def test_without_an_account_a_credential_is_the_callers_own_and_its_code_is_made_up(sandbox):
    bodies = [{}, {"account_id": None}, *[{"code": None, "pin": None}] * 50]

    found = [sandbox.post(PATH, body, by="merchant").expect(201) for body in bodies]

    assert {one["account_id"] for one in found} == {sandbox.account_id("merchant")}
    assert all(re.fullmatch(r"[0-9]{12}", one["code"]) for one in found)
    assert len({one["code"] for one in found}) == len(bodies)


@pytest.mark.proves("assumed 1.6-create")
def test_a_code_is_any_twelve_characters_that_no_live_credential_has(sandbox):
    for code in (CODE, "ABCdef-_.: x", "\u00e4" * 12):
        for account in ("merchant", "other_merchant"):
            first = sandbox.a_credential(account, by="psp", code=code)

            with sandbox.unchanged():
                answer = sandbox.post(PATH, {"code": code}, by="merchant")
                assert "code" in answer.detail(409, "conflict")
            assert first["code"] == code
            sandbox.delete(f"{PATH}/{first['id']}", by="psp")


@pytest.mark.proves("assumed 1.6-update")
def test_a_change_of_pin_is_silent(sandbox):
    # spec 6.3 has no credential.updated
    credential = sandbox.a_credential()
    path = f"{PATH}/{credential['id']}"
    sandbox.set_clock("2026-03-02T00:00:00Z")

    for change in ({"pin": "555555"}, {"pin": "555555", "is_active": True}, {}):
        assert sandbox.put(path, change).expect(200) == credential
    assert " pin: string should match" in sandbox.put(path, {"pin": "55555"}).detail()
    blocked = sandbox.put(path, {"pin": "555555", "is_active": False}).expect(200)

    assert blocked == credential | {"is_active": False}
    assert sandbox.fired() == ["credential.created", "credential.blocked"]


@pytest.mark.proves("assumed 1.6-delete, C11")
@pytest.mark.parametrize("is_blocked", [False, True])
def test_deleting_a_credential_shows_it_inactive_and_it_is_not_listed(sandbox, is_blocked):
    credential = sandbox.a_credential()
    path = f"{PATH}/{credential['id']}"
    if is_blocked:
        sandbox.post(f"{path}/block").expect(200)

    deleted = sandbox.delete(path).expect(200)

    assert deleted == credential | {"is_active": False}
    assert sandbox.get(PATH).expect(200)["credentials"] == []
    assert sandbox.fired()[-1] == "credential.deleted"


@pytest.mark.proves("spec 2.9-pin, 6.1.7")
def test_no_pin_is_in_a_listing_a_message_or_the_journal(sandbox):
    # spec 6.1.7 masks it wherever it is sent, and it is kept nowhere.
    answer = sandbox.post(PATH, {"code": CODE, "pin": "731926"}, by="merchant")
    path = f"{PATH}/{answer.expect(201)['id']}"
    for wrong in ({}, {"is_active": 7}):
        sandbox.put(path, {"pin": "847362"} | wrong, by="merchant")

    for read in (
        sandbox.get(PATH, by="merchant"),
        sandbox.manage("GET", "/messages"),
        sandbox.manage("GET", "/requests"),
    ):
        assert b"731926" not in read.body
        assert b"847362" not in read.body
