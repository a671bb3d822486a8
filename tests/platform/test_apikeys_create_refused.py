"""Creating a key: what is refused, why, and which reason wins where several apply.

The order is assumed 4.4-order; the numbers of steps here are those of its table.
"""

import json

import pytest

from tests.platform.minting import NOBODY, delete, messages, mint, put, refused_by
from tests.platform.refusals import BODY_MAX

VALID = {"name": "till", "permissions": ["payments:read"]}


def create(sandbox, *, key, body):
    return sandbox.ask("POST", "/v5/apikeys", key=key, json_body=body)


def verdict(answer):
    return answer.status, answer.json()["error"]


# --- order ------------------------------------------------------------------------------------

MALFORMED = {"name": "", "permissions": ["payments:fly"], "colour": "red", "expires_at": "soon"}
"""A body with as many faults as fit: step 7 refuses it."""


TURNED_AWAY = {
    "step 1, an unusable key": (None, (401, "authentication_failed")),
    "step 2, a blind key": (["payments:read"], (404, "not_found")),
    "step 3, a key without creation": (
        ["apikeys:read", "apikeys:delete:sub"],
        (401, "permission_denied"),
    ),
}
HUGE = b"x" * (BODY_MAX + 1)


@pytest.mark.proves("assumed 4.4-order")
@pytest.mark.parametrize(("held", "expected"), TURNED_AWAY.values(), ids=TURNED_AWAY)
@pytest.mark.parametrize("body", [b"{", b"[]", json.dumps(MALFORMED).encode(), HUGE])
def test_steps_1_to_3_win_over_every_fault_of_the_body(sandbox, held, expected, body):
    key = "revoked" if held is None else mint(sandbox, held, by="partner").key

    answer = sandbox.ask("POST", "/v5/apikeys", key=key, body=body)

    assert verdict(answer) == expected


@pytest.mark.proves("assumed 4.4-order")
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"name": NaN}'])
@pytest.mark.parametrize("form", ["apikeys:create", "apikeys:create:sub"])
def test_step_4_a_body_that_is_not_a_json_object_is_refused_whichever_form_is_held(
    sandbox, form, body
):
    key = mint(sandbox, [form], by="partner").key

    answer = sandbox.ask("POST", "/v5/apikeys", key=key, body=body)

    assert verdict(answer) == (400, "validation_error")


@pytest.mark.proves("assumed 4.4-order")
@pytest.mark.parametrize("form", ["apikeys:create", "apikeys:create:sub"])
@pytest.mark.parametrize("target", ["outside", "parent", "deleted", "missing", "empty"])
def test_step_5_an_account_out_of_reach_wins_over_every_later_fault(sandbox, form, target):
    key = mint(sandbox, [form], by="partner").key
    ids = {
        "outside": sandbox.account("other_merchant"),
        "parent": sandbox.account("psp"),
        "deleted": sandbox.account("deleted_merchant"),
        "missing": NOBODY,
        "empty": "",
    }

    answer = create(sandbox, key=key, body={**MALFORMED, "account_id": ids[target]})

    assert verdict(answer) == (404, "not_found")


@pytest.mark.proves("assumed 4.4-order, 4.4-fields")
@pytest.mark.parametrize("account_id", [7, True, [], {}, 1.5])
@pytest.mark.parametrize("form", ["apikeys:create", "apikeys:create:sub"])
def test_step_5_an_account_that_is_not_a_string_is_a_fault_of_the_body(sandbox, form, account_id):
    key = mint(sandbox, [form], by="partner").key

    answer = create(sandbox, key=key, body={**MALFORMED, "account_id": account_id})

    assert verdict(answer) == (400, "validation_error")
    assert "account_id" in answer.json()["details"]


@pytest.mark.proves("assumed 4.4-order")
@pytest.mark.parametrize(
    ("form", "account", "requires"),
    [
        ("apikeys:create", "merchant", "requires apikeys:create:sub"),
        ("apikeys:create:sub", "partner", "requires apikeys:create"),
        ("apikeys:create:sub", None, "requires apikeys:create"),
    ],
)
def test_step_6_the_wrong_form_wins_over_every_later_fault(sandbox, form, account, requires):
    key = mint(sandbox, [form], by="partner").key
    account_id = account and sandbox.account(account)

    answer = create(sandbox, key=key, body={**MALFORMED, "account_id": account_id})

    assert verdict(answer) == (401, "permission_denied")
    assert answer.json()["details"] == requires


@pytest.mark.proves("assumed 4.4-order, 4.4-fields, C5")
@pytest.mark.parametrize(
    "fault",
    [{"name": ""}, {"colour": "red"}, {"expires_at": "soon"}, {"always_retrievable": True}],
)
def test_step_7_a_faulty_body_wins_over_a_grant_that_is_not_held(sandbox, fault):
    key = mint(sandbox, ["apikeys:create"], by="merchant").key
    body = {"name": "x", "permissions": ["payments:refund", "webhooks:read"], **fault}

    answer = create(sandbox, key=key, body=body)

    assert verdict(answer) == (400, "validation_error")


@pytest.mark.proves("assumed 4.4-order")
def test_step_7_an_unknown_permission_wins_over_one_that_is_not_held(sandbox):
    key = mint(sandbox, ["apikeys:create"], by="merchant").key
    body = {"name": "x", "permissions": ["payments:refund", "payments:fly"]}

    answer = create(sandbox, key=key, body=body)

    assert verdict(answer) == (400, "validation_error")


@pytest.mark.proves("assumed 4.4-order, 4.4-grants")
def test_steps_8_and_9_what_is_not_held_wins_over_what_only_a_psp_grants(sandbox):
    key = mint(sandbox, ["apikeys:create"], by="merchant").key
    body = {"name": "x", "permissions": ["webhooks:read"]}

    lacking = create(sandbox, key=key, body=body)
    holding = create(sandbox, key="merchant", body=body)

    assert verdict(lacking) == verdict(holding) == (403, "forbidden")
    assert refused_by(sandbox, lacking) == ("grant", "403", "spec 4.1.4")
    assert refused_by(sandbox, holding) == ("grant", "403", "spec 5.8")


# --- step 7, fault by fault -------------------------------------------------------------------

ABSENT = object()

FAULTS = {
    "unknown field": ("colour", "red"),
    "unknown field, null": ("colour", None),
    "scopes": ("scopes", ["payments:read"]),
    "id": ("id", NOBODY),
    "status": ("status", "active"),
    "key_last4": ("key_last4", "abcd"),
    "created_at": ("created_at", "2026-03-01T12:00:00Z"),
    "last_used_at": ("last_used_at", None),
    "is_legacy": ("is_legacy", False),
    "name absent": ("name", ABSENT),
    "name null": ("name", None),
    "name empty": ("name", ""),
    "name a number": ("name", 7),
    "name a list": ("name", ["till"]),
    "permissions absent": ("permissions", ABSENT),
    "permissions null": ("permissions", None),
    "permissions empty": ("permissions", []),
    "permissions a string": ("permissions", "payments:read"),
    "permissions an object": ("permissions", {"payments:read": True}),
    "permission a number": ("permissions", ["payments:read", 7]),
    "permission null": ("permissions", [None]),
    "permission nested": ("permissions", [["payments:read"]]),
    "permission unknown action": ("permissions", ["payments:read", "payments:fly"]),
    "permission unknown type": ("permissions", ["refunds:read"]),
    "permission without action": ("permissions", ["payments"]),
    "permission empty": ("permissions", [""]),
    "permission upper case": ("permissions", ["PAYMENTS:READ"]),
    "permission with space": ("permissions", [" payments:read"]),
    "permission wildcard": ("permissions", ["payments:*"]),
    "permission unknown subtype": ("permissions", ["payments:read:sub"]),
    "permission half a subtype": ("permissions", ["accounts:create"]),
    "legacy_all": ("permissions", ["legacy_all"]),
    "legacy_all beside another": ("permissions", ["payments:read", "legacy_all"]),
    "expiry a number": ("expires_at", 1900000000000),
    "expiry a boolean": ("expires_at", True),
    "expiry empty": ("expires_at", ""),
    "expiry a word": ("expires_at", "tomorrow"),
    "expiry a date": ("expires_at", "2030-01-31"),
    "expiry without offset": ("expires_at", "2030-01-31T00:00:00"),
    "expiry no such day": ("expires_at", "2030-02-30T00:00:00Z"),
    "expiry a duration": ("expires_at", "P1Y"),
    "expiry past": ("expires_at", "2026-03-01T11:59:59.999Z"),
    "expiry now": ("expires_at", "2026-03-01T12:00:00.000Z"),
    "expiry now, elsewhere": ("expires_at", "2026-03-01T14:00:00+02:00"),
    "flag a string": ("always_retrievable", "true"),
    "flag a number": ("always_retrievable", 1),
    "flag a list": ("always_retrievable", []),
}


@pytest.mark.proves(
    "spec 4.1-name, 4.1-permissions, 4.1.1, 4.1.2, 4.1.3, 4.1.6, 7-400",
    "assumed 1.2-name, 1.2-expires, 4.4-fields",
)
def test_a_faulty_field_is_refused_and_named(sandbox):
    for why, (field, value) in FAULTS.items():
        body = {name: one for name, one in {**VALID, field: value}.items() if one is not ABSENT}

        answer = create(sandbox, key="merchant", body=body)

        shown = answer.json()
        assert verdict(answer) == (400, "validation_error"), why
        assert set(shown) == {"error", "message", "details"}
        assert field in shown["details"], why
    assert messages(sandbox) == []


@pytest.mark.proves("spec 4.1.6, 2.2-legacy-all")
def test_legacy_all_is_refused_even_to_a_key_that_holds_it(sandbox):
    answer = create(sandbox, key="legacy", body={"name": "x", "permissions": ["legacy_all"]})

    assert verdict(answer) == (400, "validation_error")
    assert refused_by(sandbox, answer) == ("operation", "400", "spec 4.1.6")


def test_several_faults_are_all_named(sandbox):
    body = {"name": "", "permissions": [], "colour": "red", "expires_at": "soon"}

    details = create(sandbox, key="merchant", body=body).json()["details"]

    assert all(field in details for field in body)


# --- supplied keys ----------------------------------------------------------------------------


def form(profile, lookup="brandnew0001", secret="s" * 32):
    return f"{profile.key_prefixes.uat}_{lookup}_{secret}"


BAD_KEYS = {
    "empty": lambda profile: "",
    "too short a lookup": lambda profile: form(profile, lookup="brandnew001"),
    "too long a lookup": lambda profile: form(profile, lookup="brandnew00001"),
    "too short a secret": lambda profile: form(profile, secret="s" * 31),
    "too long a secret": lambda profile: form(profile, secret="s" * 33),
    "a secret with a dash": lambda profile: form(profile, secret="-" * 32),
    "a lookup not ASCII": lambda profile: form(profile, lookup="brandnéw0001"),
    "a newline at the end": lambda profile: form(profile) + "\n",
    "no prefix": lambda profile: f"{'l' * 12}_{'s' * 32}",
    "another prefix": lambda profile: f"sk_test_{'l' * 12}_{'s' * 32}",
    "the prefix in capitals": lambda profile: form(profile).replace("_", "X", 1),
    "the legacy form": lambda profile: f"{profile.key_prefixes.legacy}_{'t' * 32}",
    "the production prefix": lambda profile: (
        f"{profile.key_prefixes.production}_{'l' * 12}_{'s' * 32}"
    ),
    "a number": lambda profile: 7,
    "a list": lambda profile: [],
}


@pytest.mark.proves(
    "spec 4.1-retrievable, 7-400, 8-lookup, 8-secret", "assumed 4.4-fields, 4.4-format"
)
def test_a_malformed_supplied_key_is_refused_and_not_repeated(sandbox, profile):
    for why, bad in BAD_KEYS.items():
        body = {**VALID, "always_retrievable": True, profile.supplied_key_field: bad(profile)}

        answer = create(sandbox, key="merchant", body=body)

        assert verdict(answer) == (400, "validation_error"), why
        assert "s" * 31 not in answer.body.decode(), why
    assert messages(sandbox) == []


@pytest.mark.proves("spec 4.1-retrievable", "assumed 1.2-supplied")
@pytest.mark.parametrize("flag", [{}, {"always_retrievable": False}], ids=["absent", "false"])
def test_a_supplied_key_without_the_flag_is_refused(sandbox, profile, flag):
    body = {**VALID, **flag, profile.supplied_key_field: form(profile)}

    answer = create(sandbox, key="merchant", body=body)

    assert verdict(answer) == (400, "validation_error")
    assert profile.supplied_key_field in answer.json()["details"]


@pytest.mark.proves("spec 4.1-retrievable")
@pytest.mark.parametrize("given", [False, True], ids=["absent", "null"])
def test_the_flag_without_a_supplied_key_is_refused(sandbox, profile, given):
    body = {**VALID, "always_retrievable": True}
    if given:
        body[profile.supplied_key_field] = None

    answer = create(sandbox, key="merchant", body=body)

    assert verdict(answer) == (400, "validation_error")
    assert profile.supplied_key_field in answer.json()["details"]


@pytest.mark.proves("spec 2.1-lookup", "assumed 4.4-fields")
@pytest.mark.parametrize("state", ["active", "revoked", "deleted"])
@pytest.mark.parametrize("secret", ["same", "other"])
def test_a_lookup_that_is_used_already_is_refused_whatever_became_of_its_key(
    sandbox, profile, state, secret
):
    taken = mint(sandbox, ["payments:read"], by="other_merchant")
    if state == "revoked":
        put(sandbox, taken.id, by="other_merchant", status="revoked")
    if state == "deleted":
        delete(sandbox, taken.id, by="other_merchant")
    value = taken.key if secret == "same" else taken.key[:-32] + "s" * 32
    body = {**VALID, "always_retrievable": True, profile.supplied_key_field: value}

    answer = create(sandbox, key="merchant", body=body)

    assert verdict(answer) == (400, "validation_error")
    assert profile.supplied_key_field in answer.json()["details"]


@pytest.mark.proves("spec 4.1-supplied")
def test_the_name_of_the_supplied_key_under_another_profile_is_an_unknown_field(sandbox, profile):
    other = {"key": "own_key", "own_key": "key"}[profile.supplied_key_field]
    body = {**VALID, "always_retrievable": True, other: form(profile)}

    answer = create(sandbox, key="merchant", body=body)

    assert verdict(answer) == (400, "validation_error")
    assert f"{other}: unknown field" in answer.json()["details"]
