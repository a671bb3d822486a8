"""Keys and time: expiry, and the end of legacy keys. One more file of the life of a key."""

import pytest

from tests.platform.minting import authenticates, delete, event_types, mint, put, read, set_clock

EXPIRY = "2026-03-01T12:30:00.000Z"
BEFORE = "2026-03-01T12:29:59.999Z"
AFTER = "2026-03-01T13:00:00.000Z"


@pytest.fixture
def made(sandbox):
    """A key of the merchant that expires half an hour from now."""
    return mint(sandbox, ["apikeys:read"], by="merchant", expires_at=EXPIRY)


# --- expiry -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 3.1-expiry, 5.10", "assumed 8.2-boundary")
@pytest.mark.parametrize(("now", "is_usable"), [(BEFORE, True), (EXPIRY, False), (AFTER, False)])
def test_a_key_authenticates_until_the_instant_of_its_expiry_and_not_at_it(
    sandbox, made, now, is_usable
):
    # assumed 8.2-boundary
    set_clock(sandbox, now)

    assert authenticates(sandbox, made.key) is is_usable


@pytest.mark.proves("spec 4.1-expires, 8-expiry")
def test_the_default_expiry_is_a_real_end(sandbox):
    made = mint(sandbox, ["payments:read"], by="merchant")
    set_clock(sandbox, "2125-12-31T00:00:00Z")
    a_century_on = authenticates(sandbox, made.key)
    set_clock(sandbox, "2126-03-01T12:00:00Z")

    assert (a_century_on, authenticates(sandbox, made.key)) == (True, False)


# --- legacy and retrievable keys --------------------------------------------------------------


@pytest.mark.proves("spec 5.5, 8-legacy", "assumed 8.2-legacy, Q23")
@pytest.mark.parametrize(
    ("now", "is_usable"),
    [
        ("2026-03-01T12:00:00Z", True),
        ("2026-07-30T23:59:59.999Z", True),
        ("2026-07-31T00:00:00Z", False),
        ("2026-08-01T00:00:00Z", False),
    ],
)
def test_legacy_keys_authenticate_until_the_end_of_july_2026_begins(sandbox, now, is_usable):
    # spec 5.5, assumed 8.2-legacy
    set_clock(sandbox, now)

    assert authenticates(sandbox, "legacy") is is_usable


@pytest.mark.proves("spec 5.5, 8-legacy", "assumed D33")
@pytest.mark.parametrize("now", ["2026-07-30T00:00:00Z", "2026-08-01T00:00:00Z"])
def test_a_legacy_key_takes_no_expiry_after_the_end_of_legacy_keys(sandbox, now):
    id = sandbox.key_id("legacy")
    set_clock(sandbox, now)

    answer = put(sandbox, id, expires_at="2026-08-02T00:00:00Z", name="renamed")

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert "2026-07-31T00:00:00.000Z" in answer.json()["details"]
    shown = read(sandbox, id)
    assert (shown["expires_at"], shown["name"]) == ("2026-07-31T00:00:00.000Z", "Demo legacy key")


@pytest.mark.proves("assumed D33")
def test_a_legacy_key_takes_any_expiry_up_to_the_end_of_legacy_keys(sandbox):
    id = sandbox.key_id("legacy")

    nearer = put(sandbox, id, expires_at="2026-03-02T00:00:00Z")
    back = put(sandbox, id, expires_at="2026-07-31T00:00:00Z")

    assert [one.status for one in (nearer, back)] == [200, 200]
    assert read(sandbox, id)["expires_at"] == "2026-07-31T00:00:00.000Z"


@pytest.mark.proves("spec 2.1-legacy, 2.1-key", "assumed 1.2-last4, 8.2-legacy")
def test_a_legacy_key_is_shown_whole_and_as_what_it_is(sandbox, profile):
    shown = read(sandbox, sandbox.key_id("legacy"))

    plaintext = sandbox.key("legacy")
    assert plaintext.startswith(f"{profile.key_prefixes.legacy}_")
    assert shown == {
        "id": sandbox.key_id("legacy"),
        "account_id": sandbox.account("merchant"),
        "name": "Demo legacy key",
        "key": plaintext,
        "key_last4": plaintext[-4:],
        "permissions": ["legacy_all"],
        "status": "active",
        "expires_at": "2026-07-31T00:00:00.000Z",
        "created_at": "2025-01-06T09:00:00.000Z",
        "last_used_at": None,
        "is_legacy": True,
        "always_retrievable": False,
    }


@pytest.mark.proves("spec 2.1-key, 2.1-retrievable, 5.4")
@pytest.mark.parametrize(
    ("name", "is_shown"),
    [("legacy", True), ("retrievable", True), ("merchant", False), ("revoked", False)],
)
def test_the_plaintext_is_read_again_for_legacy_and_retrievable_keys_alone(sandbox, name, is_shown):
    id = sandbox.key_id(name)
    expected = sandbox.key(name) if is_shown else None

    listed = sandbox.ask("GET", "/v5/apikeys", key="partner").json()

    assert read(sandbox, id, by="partner")["key"] == expected
    assert [key["key"] for key in listed if key["id"] == id] == [expected]
    assert put(sandbox, id, by="partner", name="x").json()["key"] == expected
    assert delete(sandbox, id, by="partner").json()["key"] == expected


@pytest.mark.proves("spec 3.1-revoke")
def test_a_legacy_key_is_revoked_reinstated_and_deleted_like_any_other(sandbox):
    id = sandbox.key_id("legacy")

    put(sandbox, id, status="revoked")
    while_revoked = authenticates(sandbox, "legacy")
    put(sandbox, id, status="active")
    once_reinstated = authenticates(sandbox, "legacy")
    delete(sandbox, id)

    assert (while_revoked, once_reinstated) == (False, True)
    assert not authenticates(sandbox, "legacy")
    assert event_types(sandbox, id) == [
        "api_key.revoked",
        "api_key.reinstated",
        "api_key.deleted",
    ]
