"""The life of a key after its creation: changes, revocation, deletion, expiry, last use."""

import pytest

from tests.platform.minting import (
    NOBODY,
    authenticates,
    delete,
    event_types,
    messages,
    mint,
    put,
    read,
    set_clock,
)

LATER = "2026-03-01T13:00:00.000Z"


@pytest.fixture
def made(sandbox):
    """A key of the merchant that reads keys; its creation is the first message about it."""
    return mint(sandbox, ["apikeys:read"], by="merchant", name="till")


def metadata(made, **changes):
    """How the key is read later: as it was created, without plaintext."""
    return {**made.body, "key": None, **changes}


# --- revoke and reinstate ---------------------------------------------------------------------


@pytest.mark.proves("spec 3.1-revoke, 5.10", "assumed 8.2-revoke")
def test_a_revoked_key_stops_authenticating_at_once(sandbox, made):
    answer = put(sandbox, made.id, status="revoked")

    assert answer.status == 200
    assert answer.json() == metadata(made, status="revoked")
    assert not authenticates(sandbox, made.key)


@pytest.mark.proves("spec 3.1-reinstate, 5.11")
def test_a_reinstated_key_authenticates_again_with_its_old_expiry(sandbox, made):
    put(sandbox, made.id, status="revoked")

    answer = put(sandbox, made.id, status="active")

    assert answer.status == 200
    assert answer.json() == metadata(made)
    assert authenticates(sandbox, made.key)


@pytest.mark.proves("spec 5.10")
def test_a_key_can_revoke_itself_and_is_then_out(sandbox):
    own = mint(sandbox, ["apikeys:edit"], by="merchant")

    answer = put(sandbox, own.id, by=own.key, status="revoked")

    assert (answer.status, answer.json()["status"]) == (200, "revoked")
    assert put(sandbox, own.id, by=own.key, status="active").status == 401


# --- name and expiry --------------------------------------------------------------------------


@pytest.mark.proves("spec 4.3-keys, 4.3-keys-null, 4.3-keys-answer", "assumed 4.3-update, C10")
@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"name": "bar"}, {"name": "bar"}),
        ({"expires_at": "2027-01-01T01:00:00+01:00"}, {"expires_at": "2027-01-01T00:00:00.000Z"}),
        (
            {"name": "bar", "expires_at": "2027-01-01T00:00:00Z"},
            {"name": "bar", "expires_at": "2027-01-01T00:00:00.000Z"},
        ),
        ({}, {}),
        ({"name": None, "expires_at": None, "status": None}, {}),
        ({"name": "till"}, {}),
    ],
)
def test_name_and_expiry_change_without_an_event_and_null_changes_nothing(
    sandbox, made, changes, shown
):
    answer = put(sandbox, made.id, **changes)

    assert answer.status == 200
    assert answer.json() == metadata(made, **shown)
    assert read(sandbox, made.id) == metadata(made, **shown)
    assert event_types(sandbox, made.id) == ["api_key.created"]


UPDATE_FAULTS = {
    "permissions": ("permissions", ["payments:read"]),
    "permissions as they are": ("permissions", ["apikeys:read"]),
    "permissions null": ("permissions", None),
    "account": ("account_id", NOBODY),
    "flag": ("always_retrievable", True),
    "unknown field": ("colour", "red"),
    "status unknown": ("status", "paused"),
    "status deleted": ("status", "deleted"),
    "status expired": ("status", "expired"),
    "status upper case": ("status", "REVOKED"),
    "status empty": ("status", ""),
    "status a boolean": ("status", False),
    "name empty": ("name", ""),
    "name a number": ("name", 7),
    "expiry a date": ("expires_at", "2030-01-31"),
    "expiry without offset": ("expires_at", "2030-01-31T00:00:00"),
    "expiry a number": ("expires_at", 1900000000000),
    "expiry past": ("expires_at", "2026-03-01T11:59:59.999Z"),
    "expiry now": ("expires_at", "2026-03-01T12:00:00Z"),
}


@pytest.mark.proves(
    "spec 2.1-permissions, 4.3-keys-status, 4.3-keys-permissions, 7-400", "assumed D19"
)
def test_a_faulty_change_is_refused_whole(sandbox, made):
    for why, (field, value) in UPDATE_FAULTS.items():
        changes = {"name": "bar", "status": "revoked", field: value}

        answer = put(sandbox, made.id, **changes)

        assert (answer.status, answer.json()["error"]) == (400, "validation_error"), why
        assert field in answer.json()["details"], why
        assert read(sandbox, made.id) == metadata(made), why
    assert event_types(sandbox, made.id) == ["api_key.created"]


@pytest.mark.proves("assumed 4.6")
@pytest.mark.parametrize(
    ("holder", "target", "status"),
    [
        (["apikeys:edit"], "second_merchant", 401),
        (["apikeys:edit:sub"], "partner", 401),
        (["apikeys:edit"], "other_merchant", 404),
        (["apikeys:edit", "apikeys:edit:sub"], "other_merchant", 404),
        (["apikeys:edit", "apikeys:edit:sub"], "deleted", 404),
        (["apikeys:read"], "partner", 401),
        (["payments:read"], "partner", 404),
    ],
)
def test_a_faulty_change_is_judged_only_after_the_key_was_found_and_may_be_changed(
    sandbox, holder, target, status
):
    # assumed 4.6
    key = mint(sandbox, holder, by="partner").key

    answer = put(sandbox, sandbox.key_id(target), by=key, colour="red", status="paused")

    assert answer.status == status


# --- delete -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 3.1-delete, 4.4-delete, 4.4-delete-answer, 2.1-status, 5.10, 5.11")
def test_a_deleted_key_is_answered_as_revoked_and_is_gone_at_once(sandbox, made):
    answer = delete(sandbox, made.id)

    assert answer.status == 200
    assert answer.json() == metadata(made, status="revoked")
    assert not authenticates(sandbox, made.key)
    assert sandbox.ask("GET", f"/v5/apikeys/{made.id}", key="merchant").status == 404


@pytest.mark.proves("spec 3.1-delete, 4.4-delete-repeat", "assumed 4.3-repeat")
def test_deleting_again_answers_the_same_and_announces_nothing(sandbox, made):
    first = delete(sandbox, made.id)
    set_clock(sandbox, LATER)

    again = [delete(sandbox, made.id), delete(sandbox, made.id, by="partner")]

    assert [answer.body for answer in again] == [first.body, first.body]
    assert [answer.status for answer in again] == [200, 200]
    assert event_types(sandbox, made.id) == ["api_key.created", "api_key.deleted"]


@pytest.mark.proves("spec 4.4-delete-self", "assumed 4.3-self-delete, Q12")
def test_a_key_can_delete_itself_and_is_then_out(sandbox):
    own = mint(sandbox, ["apikeys:delete"], by="merchant")

    answer = delete(sandbox, own.id, by=own.key)

    assert (answer.status, answer.json()["status"]) == (200, "revoked")
    assert delete(sandbox, own.id, by=own.key).status == 401


@pytest.mark.proves("assumed 4.7-deleted-account, C4, 4.1-gone")
@pytest.mark.parametrize("by", ["partner", "psp", "admin"])
def test_the_key_of_a_deleted_account_is_gone_for_everybody_and_does_not_authenticate(wider, by):
    orphan = wider.key_id("orphan")

    answers = [
        wider.ask("GET", f"/v5/apikeys/{orphan}", key=by),
        put(wider, orphan, by=by, name="x"),
        delete(wider, orphan, by=by),
    ]

    assert [answer.status for answer in answers] == [404, 404, 404]
    assert not authenticates(wider, wider.key("orphan"))


@pytest.mark.proves("spec 4.4-delete-rotation")
def test_replacing_a_key_leaves_no_moment_without_one(sandbox):
    # spec 4.4-delete-rotation
    old = mint(sandbox, ["all"], by="merchant")
    new = mint(sandbox, ["all"], by=old.key)

    answer = delete(sandbox, old.id, by=new.key)

    assert answer.status == 200
    assert (authenticates(sandbox, old.key), authenticates(sandbox, new.key)) == (False, True)


# --- bodies of events -------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-status, 6.1.7, 6.3-api-key-body, 6.3-api_key.deleted")
def test_each_event_shows_the_key_as_it_was_then_masked_and_without_permissions(sandbox, made):
    put(sandbox, made.id, status="revoked")
    put(sandbox, made.id, status="active", name="bar")
    delete(sandbox, made.id)

    bodies = [message["body"] for message in messages(sandbox, subject=made.id)]

    common = {
        "id": made.id,
        "account_id": sandbox.account("merchant"),
        "key": f"****{made.key[-4:]}",
        "key_last4": made.key[-4:],
        "expires_at": "2126-03-01T12:00:00.000Z",
        "created_at": "2026-03-01T12:00:00.000Z",
    }
    assert bodies == [
        {**common, "name": "till", "status": "active"},
        {**common, "name": "till", "status": "revoked"},
        {**common, "name": "bar", "status": "active"},
        {**common, "name": "bar", "status": "deleted"},
    ]


def test_an_event_belongs_to_the_keys_account_and_names_the_request_that_caused_it(sandbox, made):
    answer = put(sandbox, made.id, by="partner", status="revoked")

    message = messages(sandbox, subject=made.id)[-1]
    assert message["account_id"] == sandbox.account("merchant")
    assert message["request_id"] == answer.headers["x-sandbox-request-id"]


def test_messages_are_found_by_type_by_subject_and_since_an_instant(sandbox, made):
    other = mint(sandbox, ["payments:read"], by="merchant")
    set_clock(sandbox, LATER)
    put(sandbox, made.id, status="revoked")
    delete(sandbox, other.id)

    def found(**query):
        return [(one["event_type"], one["subject"]) for one in messages(sandbox, **query)]

    assert found(event_type="api_key.created") == [
        ("api_key.created", made.id),
        ("api_key.created", other.id),
    ]
    assert found(subject=other.id) == [
        ("api_key.created", other.id),
        ("api_key.deleted", other.id),
    ]
    assert found(since=LATER) == [("api_key.revoked", made.id), ("api_key.deleted", other.id)]
    assert found(event_type="api_key.deleted", subject=made.id) == []
    assert len(found()) == 4


# --- last use ---------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-last-used", "assumed 1.2-last-used")
def test_a_key_is_unused_until_it_authenticates_and_then_shows_when_it_last_did(sandbox, made):
    unused = read(sandbox, made.id)["last_used_at"]
    set_clock(sandbox, "2026-03-01T12:30:00Z")
    authenticates(sandbox, made.key)
    set_clock(sandbox, LATER)

    used = read(sandbox, made.id)["last_used_at"]

    assert (unused, used) == (None, "2026-03-01T12:30:00.000Z")


@pytest.mark.proves("assumed 1.2-last-used")
def test_a_key_that_reads_itself_sees_this_very_use(sandbox, made):
    set_clock(sandbox, LATER)

    shown = read(sandbox, made.id, by=made.key)

    assert shown["last_used_at"] == LATER


@pytest.mark.proves("assumed 1.2-last-used")
@pytest.mark.parametrize("status", [401, 404, 400])
def test_a_request_that_is_refused_after_authentication_is_a_use_too(sandbox, status):
    held = {401: "apikeys:read", 404: "payments:read", 400: "apikeys:create"}[status]
    key = mint(sandbox, [held], by="merchant")

    answer = sandbox.ask("POST", "/v5/apikeys", key=key.key, body=b"{")

    assert answer.status == status
    assert read(sandbox, key.id)["last_used_at"] == "2026-03-01T12:00:00.000Z"


@pytest.mark.proves("assumed 1.2-last-used")
def test_a_key_that_is_turned_away_was_not_used(sandbox, made):
    authenticates(sandbox, made.key)
    put(sandbox, made.id, status="revoked")
    set_clock(sandbox, LATER)
    authenticates(sandbox, made.key)

    assert read(sandbox, made.id)["last_used_at"] == "2026-03-01T12:00:00.000Z"


@pytest.mark.proves("spec 2.1-lookup", "assumed 1.2-last-used")
def test_a_request_with_a_wrong_secret_is_not_a_use_of_the_key(sandbox, made):
    authenticates(sandbox, made.key[:-1] + ("a" if made.key[-1] != "a" else "b"))

    assert read(sandbox, made.id)["last_used_at"] is None
