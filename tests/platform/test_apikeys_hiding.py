"""What a refusal gives away: nothing. Hidden and missing look the same, as do all unusable keys."""

import pytest

from tests.profiles import under_both
from tests.support.directory import NOBODY

pytestmark = under_both

OPERATIONS = {
    "create": ("POST", "/v5/apikeys"),
    "list": ("GET", "/v5/apikeys"),
    "read": ("GET", "/v5/apikeys/{id}"),
    "update": ("PUT", "/v5/apikeys/{id}"),
    "delete": ("DELETE", "/v5/apikeys/{id}"),
}


def ask(sandbox, operation, *, key=None, target, headers=None):
    """One request aimed at an account (create, list) or a key, and all of the answer but its id."""
    method, path = OPERATIONS[operation]
    body = {
        "create": {"name": "x", "permissions": ["apikeys:create"], "account_id": target},
        "update": {"name": "x"},
    }.get(operation, ...)
    query = f"account_id={target}" if operation == "list" else ""
    answer = sandbox.ask(
        method, path.format(id=target), key=key, json_body=body, query=query, headers=headers
    )
    headers = {name: value for name, value in answer.headers.items() if "request-id" not in name}
    return answer.status, headers, answer.body


@pytest.mark.proves("spec 7-body")
def test_a_refusal_has_three_strings_and_details_for_a_lacking_permission_alone(sandbox):
    blind = sandbox.mint(["payments:read"], by="merchant")["key"]
    reader = sandbox.mint(["apikeys:read"], by="merchant")["key"]

    hidden = sandbox.get("/v5/apikeys", by=blind)
    denied = sandbox.delete(f"/v5/apikeys/{NOBODY}", by=reader)
    creator = sandbox.mint(["apikeys:create"], by="partner")["key"]
    below = {"account_id": sandbox.account_id("merchant")}
    wrong_form = sandbox.post("/v5/apikeys", below, by=creator)
    unusable = sandbox.get("/v5/apikeys", by="revoked")

    assert wrong_form.json()["details"] == "requires apikeys:create:sub"
    assert [list(one.json().values()) for one in (hidden, denied, unusable)] == [
        ["not_found", "The resource was not found.", ""],
        [
            "permission_denied",
            "The API key lacks the permission for this operation.",
            "requires apikeys:delete or apikeys:delete:sub",
        ],
        ["authentication_failed", "The API key is missing or cannot be used.", ""],
    ]
    assert list(hidden.json()) == ["error", "message", "details"]


def unusable_keys(sandbox, profile):
    """Every way in which a key can be no good, as the headers that carry it."""
    prefixes = profile.key_prefixes
    good = sandbox.key("merchant")
    lapsing = sandbox.mint(["all"], by="merchant", expires_at="2026-07-31T00:00:00Z")
    revoked = sandbox.mint(["all"], by="merchant")
    sandbox.change_key(revoked["id"], status="revoked")
    sandbox.set_clock("2026-07-31T00:00:00Z")
    name = sandbox.header.encode()
    ways = [
        *([], [good, sandbox.key("partner")], [revoked["key"]], [lapsing["key"]]),
        *([one] for one in ("", " ", "\x00", "swordfish", "a" * 100_000)),
        *([sandbox.key(one)] for one in ("revoked", "expired", "deleted", "legacy", "orphan")),
        *([f"{prefixes.uat}_{'a' * 12}_{'b' * 32}"], [f"{good[:-32]}{'b' * 32}"]),
        *([f"{prefixes.legacy}_{'c' * 32}"], [f"{prefixes.production}_{'a' * 12}_{'b' * 32}"]),
        *([good[:-1]], [f"{good}x"], [good.upper()], [good.removeprefix(f"{prefixes.uat}_")]),
        *([f"Bearer {good}"], [f"{good[:-1]}\xe9"], [f"{prefixes.uat}_"], [f'"{good}"']),
        *([f"{good},{good}"], [f" {good}"], [f"{good}\n"]),
    ]
    json = (b"content-type", b"application/json")
    return [[json, *((name, value.encode("latin-1")) for value in values)] for values in ways]


@pytest.mark.proves("spec 5.1, 7-401", "assumed C4")
def test_all_unusable_keys_get_byte_for_byte_one_401_whatever_they_are_aimed_at(wider, profile):
    unusable = unusable_keys(wider, profile)

    for operation in OPERATIONS:
        named = wider.account_id if operation in ("create", "list") else wider.key_id
        for target in (named("merchant"), named("other_merchant"), NOBODY):
            expected = ask(wider, operation, target=NOBODY)
            assert expected[0] == 401
            for headers in unusable:
                found = ask(wider, operation, target=target, headers=headers)
                assert found == expected, (operation, headers)


def test_the_same_key_sent_twice_is_one_key(sandbox):
    sandbox.defaults |= {sandbox.header: sandbox.key("merchant")}

    assert sandbox.get("/v5/apikeys", by="merchant").status == 200
