"""The life of a key after its creation: changes, deletion, expiry, last use.

That every order of changes and clocks has the status and the events that it should, the state
machine in `test_apikeys_machine` proves.
"""

import pytest

from tests.support.directory import NOBODY

NOON = "2026-03-01T12:00:00.000Z"
LATER = "2026-03-01T13:00:00.000Z"


@pytest.fixture
def made(sandbox):
    """A key of the merchant that reads keys; its creation is the first message about it."""
    return sandbox.mint(["apikeys:read"], by="merchant", name="till")


def metadata(made, **changes):
    """How the key is read later: as it was created, without plaintext."""
    return {**made, "key": None, **changes}


# --- changes ----------------------------------------------------------------------------------

UPDATE_FAULTS = {
    "permissions": [["payments:read"], ["apikeys:read"], None],
    "account_id": [NOBODY],
    "always_retrievable": [True],
    "colour": ["red"],
    "status": ["paused", "deleted", "expired", "REVOKED", "", False],
    "name": ["", 7],
    "expires_at": [
        *("2030-01-31", "2030-01-31T00:00:00", 1900000000000),
        *("2026-03-01T11:59:59.999Z", "2026-03-01T12:00:00Z"),
    ],
}


@pytest.mark.proves(
    "spec 2.1-permissions, 4.3-keys-status, 4.3-keys-permissions, 7-400", "assumed D19, D42"
)
def test_a_faulty_change_is_refused_whole(sandbox, made):
    for field, values in UPDATE_FAULTS.items():
        for value in values:
            changes = {"name": "bar", "status": "revoked", field: value}
            answer = sandbox.change_key(made["id"], **changes)
            assert answer.error() == (400, "validation_error"), changes
            assert field in answer.json()["details"], changes
    assert sandbox.read_key(made["id"]) == metadata(made)
    assert sandbox.fired(subject=made["id"]) == ["api_key.created"]
    # What it is already may be sent back.
    expired = sandbox.read_key(sandbox.key_id("expired"))
    same = {name: expired[name] for name in ("name", "status", "expires_at")}
    assert sandbox.change_key(expired["id"], **same).expect(200) == expired


# --- revocation and deletion ------------------------------------------------------------------


@pytest.mark.proves("spec 3.1-revoke, 5.10, 4.4-delete-self", "assumed 4.3-self-delete, Q12")
def test_a_key_can_revoke_or_delete_itself_and_then_stops_authenticating_at_once(sandbox):
    for change in (
        lambda key: sandbox.change_key(key["id"], by=key["key"], status="revoked"),
        lambda key: sandbox.delete_key(key["id"], by=key["key"]),
    ):
        own = sandbox.mint(["apikeys:edit", "apikeys:delete"], by="merchant")
        answer = change(own)
        assert answer.expect(200) == metadata(own, status="revoked", last_used_at=NOON)
        assert change(own).status == 401


@pytest.mark.proves(
    "spec 3.1-delete, 4.4-delete, 4.4-delete-answer, 4.4-delete-repeat, 2.1-status, 5.10, 5.11",
    "assumed 4.3-repeat",
)
def test_a_deleted_key_is_gone_and_deleting_again_answers_the_same_unannounced(sandbox, made):
    def expires():
        agenda = sandbox.look("agenda")["agenda"]
        return made["id"] in [one["subject"]["id"] for one in agenda]

    assert expires()
    first = sandbox.delete_key(made["id"])
    assert not expires()
    sandbox.set_clock(LATER)

    again = [sandbox.delete_key(made["id"]), sandbox.delete_key(made["id"], by="partner")]

    assert (first.status, first.json()) == (200, metadata(made, status="revoked"))
    assert [(one.status, one.body) for one in again] == [(200, first.body)] * 2
    assert not sandbox.authenticates(made["key"])
    assert sandbox.get(f"/v5/apikeys/{made['id']}", by="merchant").status == 404
    assert sandbox.fired(subject=made["id"]) == ["api_key.created", "api_key.deleted"]


# --- last use ---------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-last-used, 2.1-lookup", "assumed 1.2-last-used")
def test_a_key_shows_its_last_use_even_if_that_reads_the_key_itself(sandbox, made):
    def last_used(**by):
        return sandbox.read_key(made["id"], **by)["last_used_at"]

    sandbox.authenticates(made["key"][:-1] + ("a" if made["key"][-1] != "a" else "b"))
    assert last_used() is None
    assert last_used(by=made["key"]) == NOON
    sandbox.set_clock("2026-03-01T12:30:00Z")
    sandbox.authenticates(made["key"])
    sandbox.set_clock(LATER)
    sandbox.change_key(made["id"], status="revoked")
    # It is turned away, which is no use.
    sandbox.authenticates(made["key"])
    assert last_used() == "2026-03-01T12:30:00.000Z"


@pytest.mark.proves("assumed 1.2-last-used")
def test_a_request_that_is_refused_after_authentication_is_a_use_too(sandbox):
    for held, status in (("apikeys:read", 401), ("payments:read", 404), ("apikeys:create", 400)):
        key = sandbox.mint([held], by="merchant")
        answer = sandbox.ask("POST", "/v5/apikeys", key=key["key"], body=b"{")
        assert answer.status == status
        assert sandbox.read_key(key["id"])["last_used_at"] == NOON


# --- legacy and retrievable keys --------------------------------------------------------------


@pytest.mark.proves("spec 5.5, 8-legacy", "assumed D33, 8.2-legacy, Q23")
def test_a_legacy_key_accepts_an_expiry_up_to_the_end_of_legacy_keys(sandbox):
    id = sandbox.key_id("legacy")
    for expiry in ("2026-03-02T00:00:00Z", "2026-07-31T00:00:00Z"):
        assert sandbox.change_key(id, expires_at=expiry).status == 200

    for now in ("2026-07-30T00:00:00Z", "2026-08-01T00:00:00Z"):
        sandbox.set_clock(now)
        answer = sandbox.change_key(id, expires_at="2026-08-02T00:00:00Z", name="renamed")
        assert answer.error() == (400, "validation_error")
        assert "2026-07-31T00:00:00.000Z" in answer.json()["details"]
        assert sandbox.last_decision(answer) == ("rule", "400", "assumed D33")
    shown = sandbox.read_key(id)
    assert (shown["expires_at"], shown["name"]) == ("2026-07-31T00:00:00.000Z", "Demo legacy key")


@pytest.mark.proves(
    "spec 2.1-key, 2.1-legacy, 2.1-retrievable, 3.1-revoke, 5.4", "assumed 1.2-last4, 8.2-legacy"
)
def test_legacy_and_retrievable_keys_show_their_plaintext_and_live_like_any_other(sandbox):
    for name, is_shown in (
        *(("legacy", True), ("retrievable", True), ("merchant_read_only", False)),
        ("second_merchant", False),
    ):
        id, key = sandbox.key_id(name), sandbox.key(name)
        expected = key if is_shown else None
        listed = sandbox.get("/v5/apikeys").json()
        assert [one["key"] for one in listed if one["id"] == id] == [expected], name
        shown = sandbox.read_key(id, by="partner")
        assert (shown["key"], shown["key_last4"]) == (expected, key[-4:])
        is_legacy = name == "legacy"
        assert (shown["is_legacy"], shown["permissions"] == ["legacy_all"]) == (is_legacy,) * 2
        assert (shown["expires_at"] == "2026-07-31T00:00:00.000Z") is is_legacy
        for status in ("revoked", "active"):
            assert sandbox.change_key(id, by="partner", status=status).json()["key"] == expected
            assert sandbox.authenticates(key) is (status == "active")
        assert sandbox.delete_key(id, by="partner").json()["key"] == expected
        assert not sandbox.authenticates(key)
        happened = ["api_key.revoked", "api_key.reinstated", "api_key.deleted"]
        assert sandbox.fired(subject=id) == happened
