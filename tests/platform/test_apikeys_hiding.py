"""What a refusal gives away: nothing. Hidden and missing look the same, as do all unusable keys."""

import pytest

from tests.platform.minting import NOBODY, mint, put, set_clock

OPERATIONS = {
    "create": ("POST", "/v5/apikeys"),
    "list": ("GET", "/v5/apikeys"),
    "read": ("GET", "/v5/apikeys/{id}"),
    "update": ("PUT", "/v5/apikeys/{id}"),
    "delete": ("DELETE", "/v5/apikeys/{id}"),
}


def ask(sandbox, operation, *, key, target, headers=None):
    """One request aimed at an account (create, list) or a key, and all of the answer but its id."""
    method, path = OPERATIONS[operation]
    body, query = ..., ""
    if operation == "create":
        body = {"name": "x", "permissions": ["apikeys:create"], "account_id": target}
    if operation == "list":
        query = f"account_id={target}"
    if operation == "update":
        body = {"name": "x"}
    answer = sandbox.ask(
        method, path.format(id=target), key=key, json_body=body, query=query, headers=headers
    )
    headers = {name: value for name, value in answer.headers.items() if "request-id" not in name}
    return answer.status, headers, answer.body


def names_accounts(operation):
    return operation in ("create", "list")


@pytest.mark.proves("spec 7-body")
def test_a_hidden_resource_is_described_by_three_strings_without_details(sandbox):
    blind = mint(sandbox, ["payments:read"], by="merchant").key

    answer = sandbox.ask("GET", "/v5/apikeys", key=blind)

    assert answer.json() == {
        "error": "not_found",
        "message": "The resource was not found.",
        "details": "",
    }


@pytest.mark.proves("spec 7-body")
def test_a_lacking_permission_is_named_in_the_details(sandbox):
    key = mint(sandbox, ["apikeys:read"], by="merchant").key

    answer = sandbox.ask("DELETE", f"/v5/apikeys/{NOBODY}", key=key)

    assert answer.json() == {
        "error": "permission_denied",
        "message": "The API key lacks the permission for this operation.",
        "details": "requires apikeys:delete or apikeys:delete:sub",
    }


def unusable_keys(sandbox, profile):
    """Every way in which a key can be no good, as the headers that carry it."""
    prefixes = profile.key_prefixes
    good = sandbox.key("merchant")
    lapsing = mint(sandbox, ["all"], by="merchant", expires_at="2026-07-31T00:00:00Z")
    revoked = mint(sandbox, ["all"], by="merchant")
    put(sandbox, revoked.id, status="revoked")
    set_clock(sandbox, "2026-07-31T00:00:00Z")
    name = sandbox.header.encode()
    sent = {
        "missing": [],
        "empty": [""],
        "revoked": [revoked.key],
        "revoked from the start": [sandbox.key("revoked")],
        "expired": [sandbox.key("expired")],
        "expired just now": [lapsing.key],
        "deleted": [sandbox.key("deleted")],
        "legacy, too late": [sandbox.key("legacy")],
        "of a deleted account": [sandbox.key("orphan")],
        "unknown lookup": [f"{prefixes.uat}_{'a' * 12}_{'b' * 32}"],
        "unknown secret": [f"{good[:-32]}{'b' * 32}"],
        "unknown legacy token": [f"{prefixes.legacy}_{'c' * 32}"],
        "of production": [f"{prefixes.production}_{'a' * 12}_{'b' * 32}"],
        "too short": [good[:-1]],
        "too long": [f"{good}x"],
        "other case": [good.upper()],
        "without prefix": [good.removeprefix(f"{prefixes.uat}_")],
        "with another scheme": [f"Bearer {good}"],
        "not ASCII": [f"{good[:-1]}\xe9"],
        "no key at all": ["swordfish"],
        "two that differ": [good, sandbox.key("partner")],
        "a blank": [" "],
        "a prefix alone": [f"{prefixes.uat}_"],
        "a NUL": ["\x00"],
        "very long": ["a" * 100_000],
        "in quotes": [f'"{good}"'],
        "twice in one": [f"{good},{good}"],
        "with a blank before it": [f" {good}"],
        "with a line break": [f"{good}\n"],
    }
    json = (b"content-type", b"application/json")
    return {
        way: [json, *((name, value.encode("latin-1")) for value in values)]
        for way, values in sent.items()
    }


@pytest.mark.proves("spec 5.1, 7-401", "assumed C4")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_all_unusable_keys_get_byte_for_byte_one_401_whatever_they_are_aimed_at(
    wider, profile, operation
):
    named = wider.account if names_accounts(operation) else wider.key_id
    targets = [named("merchant"), named("other_merchant"), NOBODY]

    answers = {
        (way, id): ask(wider, operation, key=None, target=id, headers=headers)
        for way, headers in unusable_keys(wider, profile).items()
        for id in targets
    }

    expected = answers["missing", NOBODY]
    assert expected[0] == 401
    assert [at for at, answer in answers.items() if answer != expected] == []


@pytest.mark.proves("spec 7-body")
def test_an_unusable_key_is_described_by_three_strings_without_details(sandbox):
    answer = sandbox.ask("GET", "/v5/apikeys", key="revoked")

    assert answer.json() == {
        "error": "authentication_failed",
        "message": "The API key is missing or cannot be used.",
        "details": "",
    }


def test_the_same_key_sent_twice_is_one_key(sandbox):
    name, value = sandbox.header.encode(), sandbox.key("merchant").encode()

    answer = sandbox.ask("GET", "/v5/apikeys", headers=[(name, value), (name, value)])

    assert answer.status == 200


@pytest.mark.proves("spec 5-apikey", "assumed C6")
@pytest.mark.parametrize("name", ["x-service-apikey", "X-Service-APIKey", "X-SERVICE-APIKEY"])
def test_the_name_of_the_key_header_is_read_in_any_case(served, name):
    # spec 5: over a socket, since in process all names are in lower case already.
    url = f"{served.url}/v5/apikeys"

    answer = served.client.get(url, headers={name: served.key("merchant")})

    assert answer.status_code == 200


@pytest.mark.proves("assumed C5, Q22")
@pytest.mark.parametrize(
    ("permissions", "status"), [(["payments:read"], 404), (["apikeys:read"], 401)]
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_key_that_may_not_is_told_so_before_its_headers_and_body_are_judged(
    sandbox, operation, permissions, status
):
    held = permissions
    if permissions == ["apikeys:read"] and operation in ("list", "read"):
        held = ["apikeys:edit"]
    key = mint(sandbox, held, by="merchant").key.encode()
    method, path = OPERATIONS[operation]
    headers = [
        (sandbox.header.encode(), key),
        (b"accept", b"text/html"),
        (b"content-type", b"text/plain"),
    ]

    answer = sandbox.ask(method, path.format(id=NOBODY), headers=headers, body=b"{")

    assert answer.status == status
