"""Creating a key: what it yields. What is refused, and in which order, stands beside this."""

import re

import pytest

from tests.conftest import NOW
from tests.platform.minting import CONCRETE, authenticates, messages, mint, read, set_clock

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def create(sandbox, *, key, **body):
    return sandbox.ask("POST", "/v5/apikeys", key=key, json_body=body)


def supplied(profile, lookup="brandnew0001", secret="s" * 28 + "LAST"):
    return f"{profile.key_prefixes.uat}_{lookup}_{secret}"


# --- the answer -------------------------------------------------------------------------------


@pytest.mark.proves(
    "spec 2.1, 2.1-flags, 2.1-last4, 2.1-format, 4.1, 4.1.7, 8-lookup, 8-secret",
    "assumed C11, 0.5-ids",
)
def test_a_created_key_is_answered_whole_and_with_nothing_besides(sandbox, profile):
    answer = create(sandbox, key="merchant", name="till", permissions=["payments:read"])

    body = answer.json()
    assert answer.status == 201
    assert answer.headers["content-type"] == "application/json"
    assert UUID.fullmatch(body["id"])
    assert re.fullmatch(
        rf"{profile.key_prefixes.uat}_[A-Za-z0-9]{{12}}_[A-Za-z0-9]{{32}}", body["key"]
    )
    assert body == {
        "id": body["id"],
        "account_id": sandbox.account("merchant"),
        "name": "till",
        "key": body["key"],
        "key_last4": body["key"][-4:],
        "permissions": ["payments:read"],
        "status": "active",
        "expires_at": "2126-03-01T12:00:00.000Z",
        "created_at": "2026-03-01T12:00:00.000Z",
        "last_used_at": None,
        "is_legacy": False,
        "always_retrievable": False,
    }


@pytest.mark.proves("spec 2.1-key, 4.1.7, 5.4")
def test_the_plaintext_is_shown_this_once(sandbox):
    made = mint(sandbox, ["payments:read"], by="merchant")

    later = read(sandbox, made.id)

    assert later == {**made.body, "key": None}


@pytest.mark.proves("spec 4.1-account")
@pytest.mark.parametrize("named", [{}, {"account_id": None}], ids=["omitted", "null"])
def test_without_an_account_the_key_is_the_callers_own(sandbox, named):
    answer = create(sandbox, key="partner", name="x", permissions=["payments:read"], **named)

    assert answer.json()["account_id"] == sandbox.account("partner")


@pytest.mark.proves("spec 4.1-account, 5.2")
def test_a_key_made_for_a_descendant_acts_as_that_descendant(sandbox):
    made = mint(sandbox, ["apikeys:read"], by="partner", account="merchant")

    listed = sandbox.ask("GET", "/v5/apikeys", key=made.key).json()

    assert {key["account_id"] for key in listed} == {sandbox.account("merchant")}


@pytest.mark.proves("assumed 4.4-stored")
def test_permissions_keep_their_order_and_lose_their_duplicates(sandbox):
    sent = ["terminals:read", "payments:read", "terminals:read", "accounts:read", "payments:read"]

    made = mint(sandbox, sent, by="merchant")

    assert made.body["permissions"] == ["terminals:read", "payments:read", "accounts:read"]
    assert read(sandbox, made.id)["permissions"] == made.body["permissions"]


@pytest.mark.proves("spec 2.2, 4.1-permissions")
def test_every_concrete_permission_can_be_asked_for(sandbox):
    made = mint(sandbox, CONCRETE, by="psp")

    assert made.body["permissions"] == CONCRETE


@pytest.mark.proves("spec 2.2-macros", "assumed 4.4-stored")
def test_a_macro_is_stored_as_it_was_sent(sandbox):
    made = mint(sandbox, ["payments:read", "all"], by="merchant")

    assert made.body["permissions"] == ["payments:read", "all"]


# --- expiry -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-expires, 4.1-expires, 8-expiry", "assumed 8.2-leap")
@pytest.mark.parametrize(
    ("now", "expires_at"),
    [
        ("2026-03-01T12:00:00Z", "2126-03-01T12:00:00.000Z"),
        ("2027-12-31T23:59:59.999Z", "2127-12-31T23:59:59.999Z"),
        ("2028-02-29T08:00:00Z", "2128-02-29T08:00:00.000Z"),
        # 2100 is no leap year: assumed 8.2-leap.
        ("2000-02-29T08:00:00Z", "2100-02-28T08:00:00.000Z"),
    ],
)
@pytest.mark.parametrize("sent", [{}, {"expires_at": None}], ids=["omitted", "null"])
def test_without_an_expiry_the_key_lasts_a_hundred_calendar_years(sandbox, now, expires_at, sent):
    set_clock(sandbox, now)

    made = mint(sandbox, ["payments:read"], by="merchant", **sent)

    assert made.body["expires_at"] == expires_at


@pytest.mark.proves("spec 2.1-expires", "assumed 1.2-expires")
@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("2030-01-31T00:00:00Z", "2030-01-31T00:00:00.000Z"),
        ("2030-01-31T02:30:00+02:30", "2030-01-31T00:00:00.000Z"),
        ("2030-01-30T19:00:00-05:00", "2030-01-31T00:00:00.000Z"),
        ("2030-01-31T00:00:00.123456Z", "2030-01-31T00:00:00.123Z"),
        ("2030-01-31t00:00:00z", "2030-01-31T00:00:00.000Z"),
        ("2026-03-01T12:00:00.001Z", "2026-03-01T12:00:00.001Z"),
    ],
)
def test_an_expiry_with_an_offset_is_kept_in_utc_to_the_millisecond(sandbox, sent, shown):
    made = mint(sandbox, ["payments:read"], by="merchant", expires_at=sent)

    assert made.body["expires_at"] == shown


# --- supplied keys ----------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-retrievable, 4.1-retrievable, 4.1-supplied", "assumed 1.2-supplied")
def test_a_supplied_key_is_taken_and_shown_on_every_read(sandbox, profile):
    own = supplied(profile)

    made = mint(
        sandbox,
        ["apikeys:read"],
        by="merchant",
        always_retrievable=True,
        **{profile.supplied_key_field: own},
    )

    listed = sandbox.ask("GET", "/v5/apikeys", key="merchant").json()
    assert made.body["key"] == own
    assert made.body["key_last4"] == "LAST"
    assert made.body["always_retrievable"] is True
    assert "own_key" not in made.body
    assert read(sandbox, made.id)["key"] == own
    assert [key["key"] for key in listed if key["id"] == made.id] == [own]
    assert authenticates(sandbox, own)


def test_the_flag_given_as_false_is_as_good_as_none(sandbox):
    made = mint(sandbox, ["payments:read"], by="merchant", always_retrievable=False)

    assert made.body["always_retrievable"] is False
    assert read(sandbox, made.id)["key"] is None


# --- the event --------------------------------------------------------------------------------


@pytest.mark.proves("spec 6.3-api-key-body, 6.3-api_key.created")
def test_creation_is_announced_masked_and_without_permissions(sandbox):
    made = mint(sandbox, ["payments:read"], by="partner", account="merchant", name="till")

    (message,) = messages(sandbox)

    assert message["event_type"] == "api_key.created"
    assert message["subject"] == made.id
    assert message["account_id"] == sandbox.account("merchant")
    assert message["created_at"] == NOW
    assert message["body"] == {
        "id": made.id,
        "account_id": sandbox.account("merchant"),
        "name": "till",
        "status": "active",
        "key": f"****{made.key[-4:]}",
        "key_last4": made.key[-4:],
        "expires_at": "2126-03-01T12:00:00.000Z",
        "created_at": "2026-03-01T12:00:00.000Z",
    }


@pytest.mark.proves("spec 6.1.7")
def test_a_supplied_key_is_masked_in_its_event_all_the_same(sandbox, profile):
    more = {profile.supplied_key_field: supplied(profile)}

    mint(sandbox, ["payments:read"], by="merchant", always_retrievable=True, **more)

    (message,) = messages(sandbox)
    assert message["body"]["key"] == "****LAST"


def test_the_journal_of_a_creation_names_its_event_and_keeps_no_secret(sandbox, profile):
    answer = create(sandbox, key="merchant", name="till", permissions=["payments:read"])

    entry = sandbox.journal(answer)

    (message,) = messages(sandbox)
    assert entry["events"] == [message["id"]]
    assert entry["response"]["key"] == "****"
    assert answer.json()["key"] not in str(entry)
