"""No secret of a key is kept or said but where the spec shows it. Source: assumed D5, D26."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.driving import InProcess, fresh
from tests.openapi.planting import PRODUCTION
from tests.openapi.planting import WHOLE as SUPPLIED
from tests.platform.refusals import assert_key_refusal
from tests.platform.secret_texts import escaped, everything_kept, secret_of
from tests.profiles import BRANDED

Placing = Callable[[str], dict[str, Any]]


def _creation(**fields: Any) -> dict[str, Any]:
    body = {"name": "x", "permissions": ["payments:read"]} | fields
    return {"method": "POST", "path": "/v5/apikeys", "json_body": body}


def _listing(query: str) -> dict[str, Any]:
    return {"method": "GET", "path": "/v5/apikeys", "query": query}


def _body(text: str | bytes) -> dict[str, Any]:
    body = text.encode() if isinstance(text, str) else text
    return {"method": "POST", "path": "/v5/apikeys", "body": body}


# tests/openapi/test_secrets_by_row has every field, path and parameter; here are the spellings.
PLACES: dict[str, Placing] = {
    "unknown path": lambda key: {"method": "GET", "path": f"/v1/{key}/{key}"},
    "encoded query": lambda key: _listing("x=" + "".join(f"%{ord(char):02X}" for char in key)),
    "query after a plus": lambda key: _listing(f"x=a+{key}"),
    "unknown field, cut off": lambda key: _creation(**{"-" * 70 + key: 1}),
    "nested": lambda key: _creation(a={"b": [{"c": [key]}]}),
    "duplicate field": lambda key: _body(f'{{"{key}":1,"{key}":2}}'),
    "broken JSON": lambda key: _body(f'{{"name": "{key}'),
    "no JSON": lambda key: _body(f"key={key}"),
    "not UTF-8": lambda key: _body(b'\xff{"name":"%b"}' % key.encode()),
    "escaped value": lambda key: _body(f'{{"name":"{escaped(key)}"}}'),
    "escaped field": lambda key: _body(f'{{"{escaped(key)}":1}}'),
    "one letter escaped": lambda key: _body(f'{{"x":"{escaped(key[0])}{key[1:]}"}}'),
    "underscores escaped": lambda key: _body('{"x":"' + key.replace("_", "\\u005f") + '"}'),
    "escaped in broken JSON": lambda key: _body(f'{{"x":"{escaped(key)}"'),
    "escaped twice over": lambda key: _body(json.dumps({"x": json.dumps({"key": key})})),
    "behind a tab": lambda key: _creation(expires_at=f"my key:\t{key}"),
    "behind an escaped line break": lambda key: _body(f'{{"x":"\\u000a{key}"}}'),
    "behind a letter": lambda key: _creation(expires_at=f"key{key}"),
    "where the journal cuts": lambda key: _creation(x="-" * 16_350 + key),
    "retrievable flag": lambda key: _creation(always_retrievable=key),
    "as a key without the flag": lambda key: _creation(key=key),
}


@pytest.mark.proves("spec 5.3, 6.1.7")
@pytest.mark.parametrize("whose", ["merchant", "legacy", "retrievable", "other_merchant"])
def test_a_key_in_a_wrong_place_is_neither_stored_nor_repeated(sandbox, whose):
    key = sandbox.key(whose)

    for by in ("merchant", None):
        for place, request in PLACES.items():
            answer = sandbox.ask(**request(key), key=by)
            # A listing that is served shows the keys that the spec lets one read again.
            assert answer.status < 400 or secret_of(key) not in answer.body.decode(), place
            assert secret_of(key) not in str(sandbox.journal(answer)), place
    assert secret_of(key) not in everything_kept(sandbox)


@pytest.mark.proves("spec 5.3")
def test_a_key_that_authenticates_or_fails_to_is_kept_as_its_last_four_characters(sandbox):
    names = ("merchant", "revoked", "expired", "deleted", "legacy")
    for whose in names:
        entry = sandbox.journal(sandbox.get("/v5/apikeys", by=whose))
        assert entry["key"] == "****" + sandbox.key(whose)[-4:]
    sandbox.get("/v5/apikeys", by=SUPPLIED)

    kept = everything_kept(sandbox)
    for key in (SUPPLIED, *map(sandbox.key, names)):
        assert secret_of(key) not in kept


@pytest.mark.proves("spec 2.1-secret, 5.3, 5.4", "assumed D26")
def test_a_key_is_in_the_answers_that_may_show_it_and_in_nothing_stored(sandbox):
    fields = '"name":"x","permissions":["payments:read"],"always_retrievable":true'
    minted = sandbox.ask(**_creation(), key="merchant").json()
    supplied, again = (
        sandbox.ask(**_body(f'{{{fields},"key":"{written}"}}'), key="merchant")
        for written in (escaped(SUPPLIED), SUPPLIED)
    )
    supplied = supplied.expect(201)
    ids = {one["key"]: one["id"] for one in (minted, supplied)}
    ids[sandbox.key("retrievable")] = sandbox.key_id("retrievable")

    for key, id in ids.items():
        path = f"/v5/apikeys/{id}"
        read = sandbox.get(path, by="merchant")
        listed = sandbox.get("/v5/apikeys", by="merchant")
        used = sandbox.get("/v5/apikeys", by=key)
        sandbox.put(path, {"name": "y"}, by="merchant")
        sandbox.delete(path, by="merchant")
        is_shown = key != minted["key"]
        assert used.status != 401
        for answer in (read, listed):
            assert (secret_of(key) in answer.body.decode()) is is_shown
        assert secret_of(key) not in everything_kept(sandbox)
    assert supplied["key"] == SUPPLIED
    assert again.status == 400
    assert secret_of(SUPPLIED) not in again.body.decode()


@pytest.mark.proves("assumed D5")
def test_the_keys_of_another_profile_are_masked_as_well():
    sandbox = fresh(profile=BRANDED)
    key = sandbox.key("merchant")

    sandbox.get(f"/v5/apikeys/{key}", by="merchant", query=f"x={key}")
    sandbox.ask("POST", "/v5/apikeys", key="merchant", body=f'{{"x":"{escaped(key)}"}}'.encode())

    production = PRODUCTION.replace("svc_live", "acme_prod")
    header = sandbox.get("/v5/apikeys", by=production)
    body = sandbox.ask(**_creation(name=production), key="merchant")

    assert key.startswith("acme_test_")
    assert (header.status, body.status) == (401, 400)
    _assert_nothing_kept(sandbox, production, header.body, body.body)
    assert secret_of(key) not in everything_kept(sandbox)


# --- production keys --------------------------------------------------------------------------

NOTE = "production key was sent to a sandbox"


@pytest.mark.proves("spec 1-pairing", "assumed D5, C4, 4.4-format")
def test_a_production_key_as_header_is_a_401_that_the_journal_explains(sandbox, caplog):
    begins_alike = ["svc_live_", "svc_live_x", "svc_live_strange!-characters"]
    for key in (PRODUCTION, *begins_alike, "svc_live_" + "A" * 10_000):
        answer = sandbox.get("/v5/apikeys", by=key)
        assert_key_refusal(answer, 401, "authentication_failed")
        assert NOTE in str(sandbox.journal(answer)["notes"])
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert len([one for one in warnings if "production key" in one]) == 5
    assert "svc_live" not in everything_kept(sandbox)
    _assert_nothing_kept(sandbox, PRODUCTION, answer.body, "\n".join(warnings))


@pytest.mark.proves("assumed D5, 4.4-format")
def test_a_production_key_that_is_sent_anywhere_is_kept_nowhere_and_refused_in_a_body(sandbox):
    item = f"/v5/apikeys/{sandbox.key_id('merchant_read_only')}"
    said = []

    with sandbox.unchanged():
        for request in PLACES.values():
            answer = sandbox.ask(**request(PRODUCTION), key="merchant")
            assert answer.status < 500
            said.append(answer.body)
        # tests/openapi/test_secrets_by_row has every field.
        for spelt in (PRODUCTION, escaped(PRODUCTION), "xsvc_live_1"):
            body = f'{{"name":"till 4 ({spelt})"}}'.encode()
            for method, path in (("POST", "/v5/apikeys"), ("PUT", item)):
                answer = sandbox.ask(method, path, key="merchant", body=body)
                assert_key_refusal(answer, 400, "validation_error")
                assert NOTE in str(sandbox.journal(answer)["notes"])
                said.append(answer.body)
    _assert_nothing_kept(sandbox, PRODUCTION, *said)


def test_words_that_only_resemble_a_production_key_are_ordinary_names(sandbox):
    alike = ("svc_live", "not svc_live_ at all", "live", "svc-live-key", "svc_live_-")
    for name in (*alike, "svc_lively_a"):
        assert sandbox.ask(**_creation(name=name), key="merchant").status == 201


def _assert_nothing_kept(sandbox: InProcess, key: str, *said: bytes | str) -> None:
    """Neither the secret nor the lookup, nor the two ends of the secret."""
    secret = secret_of(key)
    texts = [one.decode() if isinstance(one, bytes) else one for one in said]
    for text in (everything_kept(sandbox), *texts):
        for part in (secret, key.split("_")[2], secret[:8], secret[-8:]):
            assert part not in text
