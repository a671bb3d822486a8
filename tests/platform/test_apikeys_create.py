"""Creating a key: what it yields, what is refused, and which reason wins where several apply.

The order is assumed 4.4-order; the numbers of steps here are those of its table.
"""

import json
import re

import pytest

from sandbox.domain.permissions import CONCRETE
from tests.platform.refusals import BODY_MAX
from tests.profiles import under_both
from tests.support.directory import NOBODY

pytestmark = under_both

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
VALID = {"name": "till", "permissions": ["payments:read"]}


def create(sandbox, *, key="merchant", body):
    sent = {"body": body} if isinstance(body, bytes) else {"json_body": body}
    return sandbox.ask("POST", "/v5/apikeys", key=key, **sent)


def supplied(profile, lookup="brandnew0001", secret="s" * 28 + "LAST"):
    return f"{profile.key_prefixes.uat}_{lookup}_{secret}"


# --- the answer -------------------------------------------------------------------------------


@pytest.mark.proves(
    "spec 2.1, 2.1-flags, 2.1-key, 2.1-last4, 2.1-format, 4.1, 4.1.7, 5.4, 8-lookup, 8-secret",
    "assumed C11, 0.5-ids",
)
def test_a_created_key_is_shown_whole_and_its_plaintext_this_once(sandbox, profile):
    body = create(sandbox, body=VALID).expect(201)

    assert UUID.fullmatch(body["id"])
    assert re.fullmatch(
        rf"{profile.key_prefixes.uat}_[A-Za-z0-9]{{12}}_[A-Za-z0-9]{{32}}", body["key"]
    )
    assert body == {
        "id": body["id"],
        "account_id": sandbox.account_id("merchant"),
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
    assert sandbox.read_key(body["id"]) == {**body, "key": None}


@pytest.mark.proves("spec 2.2, 2.2-macros, 4.1-permissions", "assumed 4.4-stored")
def test_permissions_are_stored_as_sent_without_duplicates(sandbox):
    twice = ["terminals:read", "payments:read", "terminals:read", "accounts:read", "payments:read"]

    for sent in (twice, CONCRETE, ["payments:read", "all"]):
        made = sandbox.mint(sent, by="psp")
        assert made["permissions"] == list(dict.fromkeys(sent))
        assert sandbox.read_key(made["id"], by="psp")["permissions"] == made["permissions"]


# --- expiry -----------------------------------------------------------------------------------

A_CENTURY = {
    "2026-03-01T12:00:00Z": "2126-03-01T12:00:00.000Z",
    "2027-12-31T23:59:59.999Z": "2127-12-31T23:59:59.999Z",
    "2028-02-29T08:00:00Z": "2128-02-29T08:00:00.000Z",
    # 2100 is no leap year: assumed 8.2-leap.
    "2000-02-29T08:00:00Z": "2100-02-28T08:00:00.000Z",
}
EXPIRIES = {
    "2030-01-31T02:30:00.123456+02:30": "2030-01-31T00:00:00.123Z",
    "2026-03-01T12:00:00.001Z": "2026-03-01T12:00:00.001Z",
}


@pytest.mark.proves("spec 2.1-expires, 4.1-expires, 8-expiry", "assumed 1.2-expires, 8.2-leap")
def test_an_expiry_is_kept_in_utc_to_the_millisecond_and_is_a_century_away_by_default(sandbox):
    for sent, shown in EXPIRIES.items():
        made = sandbox.mint(["payments:read"], by="merchant", expires_at=sent)
        assert made["expires_at"] == shown, sent
    for now, shown in A_CENTURY.items():
        sandbox.set_clock(now)
        for sent in ({}, {"expires_at": None}):
            made = sandbox.mint(["payments:read"], by="merchant", **sent)
            assert made["expires_at"] == shown, now


# --- which step refuses -----------------------------------------------------------------------

MALFORMED = {"name": "", "permissions": ["payments:fly"], "colour": "red", "expires_at": "soon"}
"""A body with as many faults as fit: step 7 refuses it."""

FORMS = ("apikeys:create", "apikeys:create:sub")
INVALID = (400, "validation_error")


def steps(sandbox):
    """Step, what the key of the partner holds, the body, and the refusal."""
    for held, refusal in {
        "nothing, it is revoked": (401, "authentication_failed"),
        "payments:read": (404, "not_found"),
        "apikeys:read apikeys:delete:sub": (401, "permission_denied"),
    }.items():
        for body in (b"{", b"[]", json.dumps(MALFORMED).encode(), b"x" * (BODY_MAX + 1)):
            yield "1 to 3", held, body, refusal
    for form in FORMS:
        for body in (b"", b"{", b"[]", b"null", b'{"name": NaN}'):
            yield "4", form, body, INVALID
        yield "5", form, MALFORMED | {"account_id": ""}, (404, "not_found")
        for id in (7, True, [], {}, 1.5):
            yield "5", form, MALFORMED | {"account_id": id}, INVALID
    beyond = {"name": "x", "permissions": ["payments:refund", "webhooks:read"]}
    for fault in (
        *({"name": ""}, {"colour": "red"}, {"expires_at": "soon"}, {"always_retrievable": True}),
        {"permissions": ["payments:refund", "payments:fly"]},
    ):
        yield "7", "apikeys:create", beyond | fault, INVALID


@pytest.mark.proves("assumed 4.4-order, 4.4-fields, C5")
def test_the_earliest_step_refuses_whatever_else_is_wrong(sandbox):
    keys = {"nothing, it is revoked": "revoked"}

    for step, held, body, refusal in steps(sandbox):
        if held not in keys:
            keys[held] = sandbox.mint(held.split(), by="partner")["key"]
        assert create(sandbox, key=keys[held], body=body).error() == refusal, (step, held, body)


# --- step 7, fault by fault -------------------------------------------------------------------

ABSENT = object()

FAULTS = {
    "colour": ["red", None],
    "scopes": [["payments:read"]],
    "id": [NOBODY],
    "status": ["active"],
    "key_last4": ["abcd"],
    "created_at": ["2026-03-01T12:00:00Z"],
    "last_used_at": [None],
    "is_legacy": [False],
    "name": [ABSENT, None, "", 7, ["till"]],
    "permissions": [
        *(ABSENT, None, [], "payments:read", {"payments:read": True}),
        *(["payments:read", 7], [None], [["payments:read"]], ["payments:read", "payments:fly"]),
        *(["refunds:read"], ["payments"], [""], ["PAYMENTS:READ"], [" payments:read"]),
        *(["payments:*"], ["payments:read:sub"], ["accounts:create"]),
        *(["legacy_all"], ["payments:read", "legacy_all"]),
    ],
    "expires_at": [
        *(1900000000000, True, "", "tomorrow", "2030-01-31", "2030-01-31T00:00:00"),
        *("2030-02-30T00:00:00Z", "P1Y", "2026-03-01T11:59:59.999Z"),
        *("2026-03-01T12:00:00.000Z", "2026-03-01T14:00:00+02:00"),
    ],
    "always_retrievable": ["true", 1, []],
}


@pytest.mark.proves(
    "spec 4.1-name, 4.1-permissions, 4.1.1, 4.1.2, 4.1.3, 4.1.6, 2.2-legacy-all, 7-400",
    "assumed 1.2-name, 1.2-expires, 4.4-fields",
)
def test_a_faulty_field_is_refused_and_named(sandbox):
    for field, values in FAULTS.items():
        for value in values:
            body = {name: one for name, one in {**VALID, field: value}.items() if one is not ABSENT}
            answer = create(sandbox, body=body)
            assert answer.error() == INVALID, (field, value)
            assert field in answer.json()["details"], (field, value)
    several = create(sandbox, body=MALFORMED | {"permissions": []}).json()["details"]
    assert all(field in several for field in MALFORMED)
    assert sandbox.messages() == []


# --- supplied keys ----------------------------------------------------------------------------


@pytest.mark.proves("spec 2.1-retrievable, 4.1-retrievable, 4.1-supplied", "assumed 1.2-supplied")
def test_a_supplied_key_is_accepted_and_shown_on_every_read(sandbox, profile):
    own = supplied(profile)
    more = {"always_retrievable": True, profile.supplied_key_field: own}

    made = sandbox.mint(["apikeys:read"], by="merchant", **more)

    listed = sandbox.get("/v5/apikeys", by="merchant").json()
    shown = [made[name] for name in ("key", "key_last4", "always_retrievable")]
    assert shown == [own, "LAST", True]
    assert "own_key" not in made
    assert sandbox.read_key(made["id"])["key"] == own
    assert [key["key"] for key in listed if key["id"] == made["id"]] == [own]
    assert sandbox.authenticates(own)
    plain = sandbox.mint(["payments:read"], by="merchant", always_retrievable=False)
    assert plain["always_retrievable"] is False
    assert sandbox.read_key(plain["id"])["key"] is None


def bad_keys(profile):
    good = supplied(profile, secret="s" * 32)
    return [
        *("", f"{good}\n", good.replace("_", "X", 1), 7, []),
        supplied(profile, secret="s" * 31),
        f"{profile.key_prefixes.production}_{'l' * 12}_{'s' * 32}",
        f"{profile.key_prefixes.legacy}_{'t' * 32}",
    ]


@pytest.mark.proves(
    "spec 4.1-retrievable, 4.1-supplied, 7-400, 8-lookup, 8-secret",
    "assumed 1.2-supplied, 4.4-fields, 4.4-format",
)
def test_a_supplied_key_needs_the_form_of_a_key_and_the_flag_needs_a_supplied_key(sandbox, profile):
    field, own = profile.supplied_key_field, supplied(profile, secret="s" * 32)

    for bad in bad_keys(profile):
        answer = create(sandbox, body=VALID | {"always_retrievable": True, field: bad})
        assert answer.error() == INVALID, bad
        assert "s" * 31 not in answer.body.decode(), bad
    assert f"must be {profile.key_prefixes.uat}_, 12 letters" in answer.json()["details"]
    for unpaired in (
        *({field: own}, {"always_retrievable": False, field: own}),
        *({"always_retrievable": True}, {"always_retrievable": True, field: None}),
    ):
        answer = create(sandbox, body=VALID | unpaired)
        assert answer.error() == INVALID, unpaired
        assert field in answer.json()["details"], unpaired
    other = {"key": "own_key", "own_key": "key"}[field]
    answer = create(sandbox, body=VALID | {"always_retrievable": True, other: own})
    assert answer.error() == INVALID
    assert f"{other}: unknown field" in answer.json()["details"]
    answer = create(sandbox, body=VALID | dict.fromkeys("abcdefg", 1))
    assert answer.json()["details"].endswith("e: unknown field; and 2 more")
    assert sandbox.messages() == []


@pytest.mark.proves("spec 2.1-lookup", "assumed 4.4-fields")
def test_a_used_lookup_is_refused_even_if_its_key_was_deleted(sandbox, profile):
    taken = sandbox.mint(["payments:read"], by="other_merchant")

    for become in (
        lambda: None,
        lambda: sandbox.change_key(taken["id"], by="other_merchant", status="revoked"),
        lambda: sandbox.delete_key(taken["id"], by="other_merchant"),
    ):
        become()
        for value in (taken["key"], taken["key"][:-32] + "s" * 32):
            more = {"always_retrievable": True, profile.supplied_key_field: value}
            answer = create(sandbox, body=VALID | more)
            assert answer.error() == INVALID
            assert profile.supplied_key_field in answer.json()["details"]
