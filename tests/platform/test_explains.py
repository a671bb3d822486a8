"""Every refusal can be explained: the journal names the step and the clause."""

import pytest

from tests.support.directory import NOBODY

NEW = {"name": "x", "permissions": ["payments:read"]}


UNUSABLE = {
    None: "spec 5.1",
    f"svc_uat_{'a' * 12}_{'b' * 32}": "spec 5.1",
    "swordfish": "spec 2.1-format",
    "revoked": "spec 3.1-revoke",
    "expired": "spec 3.1-expiry",
    "deleted": "spec 3.1-delete",
    "orphan": "assumed C4",
    "second_merchant": "assumed C4",
}


@pytest.mark.proves("spec 5.5, 5.10")
def test_refused_keys_differ_in_the_journal_only(wider):
    wider.delete(f"/v1/accounts/{wider.account_id('second_merchant')}").expect(204)
    for key, clause in UNUSABLE.items():
        answer = wider.get("/v5/apikeys", by=key)
        assert answer.json()["details"] == "", key
        assert wider.last_decision(answer) == ("authenticate", "401", clause), key
    assert wider.look("lens/second_merchant")["unusable"] == "its account was deleted"
    wider.set_clock("2026-08-01T00:00:00Z")
    late = wider.journal(wider.get("/v5/apikeys", by="legacy"))["decisions"][-1]
    assert (late["step"], late["verdict"]) == ("authenticate", "401")
    assert "2026-07-31T00:00:00.000Z" in late["reason"]


BODIES = {
    "-": ...,
    "a new key": NEW,
    "a numeric account": NEW | {"account_id": 7},
    "an unknown field": NEW | {"colour": "red"},
    "a false permission": NEW | {"permissions": ["payments:fly"]},
    "a past expiry": NEW | {"expires_at": "2020-01-01T00:00:00Z"},
    "an old macro": NEW | {"permissions": ["legacy_all"]},
    "one for PSPs": NEW | {"permissions": ["webhooks:read"]},
}

# What the key holds; method and path; body; step, status and clause of the refusal.
REFUSALS = """
payments:read;      GET /v5/apikeys;                  -;                  visibility 404 spec 5.9
apikeys:edit;       GET /v5/apikeys;                  -;                  visibility 401 spec 5.9
apikeys:read;       GET /v5/apikeys/{missing};        -;                  target 404 spec 7-404
apikeys:read;       GET /v5/apikeys/{other_merchant}; -;                  target 404 spec 7-404
apikeys:read:sub;   GET /v5/apikeys/{deleted};        -;                  target 404 spec 7-404
apikeys:read;       GET /v5/apikeys/{merchant};       -;                  target 401 spec 5.7
apikeys:create:sub; POST /v5/apikeys;                 a new key;          target 401 spec 5.7
apikeys:create;     POST /v5/apikeys;                 a numeric account;  target 400 spec 7-400
apikeys:create;     POST /v5/apikeys;                 an unknown field;   body 400 spec 7-400
apikeys:create;     POST /v5/apikeys;                 a false permission; operation 400 spec 4.1.2
apikeys:create;     POST /v5/apikeys;                 a past expiry;      operation 400 assumed D19
apikeys:create;     POST /v5/apikeys;                 a new key;          grant 403 spec 4.1.4
all;                POST /v5/apikeys;                 one for PSPs;       grant 403 spec 5.8
all;                POST /v5/apikeys;                 an old macro;       operation 400 spec 4.1.6
all;                GET /v5/apikey;                   -;                  route 404 assumed C1
all;                PUT /v1/accounts/credentials;    -;                  route 405 assumed C9
"""


@pytest.mark.proves("spec 5.9, 4.1.4, 4.1.2, 7-401, 7-403, 7-404", "assumed C5, D19, Q22")
def test_the_journal_names_the_step_and_the_clause_of_a_refusal(sandbox):
    ids = {name: sandbox.key_id(name) for name in ("other_merchant", "deleted", "merchant")}

    for refusal in REFUSALS.strip().splitlines():
        held, request, body, expected = (one.strip() for one in refusal.split(";"))
        method, path = request.split()
        key = sandbox.mint([held], by="partner")["key"]
        before = len(sandbox.messages())
        path = path.format(**ids, missing=NOBODY)
        answer = sandbox.ask(method, path, key=key, json_body=BODIES[body])
        assert sandbox.last_decision(answer) == tuple(expected.split(maxsplit=2)), refusal
        assert sandbox.journal(answer)["events"] == []
        assert len(sandbox.messages()) == before


@pytest.mark.proves("assumed C5")
def test_all_steps_are_there_in_order_up_to_the_one_that_refuses_and_the_caller_is_masked(sandbox):
    body = NEW | {"account_id": sandbox.account_id("merchant")}
    made = sandbox.journal(sandbox.post("/v5/apikeys", body))
    lost = sandbox.journal(sandbox.get(f"/v5/apikeys/{NOBODY}", by="merchant"))

    assert [(one["step"], one["verdict"], one["clause"]) for one in made["decisions"]] == [
        ("route", "ok", "spec 4.1"),
        ("authenticate", "ok", "spec 5.1"),
        ("visibility", "ok", "spec 5.9"),
        ("target", "ok", "spec 5.7"),
        ("grant", "ok", "spec 4.1.4"),
    ]
    assert all(one["reason"] for one in made["decisions"])
    steps = [f"{one['step']} {one['verdict']}" for one in lost["decisions"]]
    assert steps == ["route ok", "authenticate ok", "visibility ok", "target 404"]
    shown = [lost[name] for name in ("key", "account_id", "route", "status")]
    masked = f"****{sandbox.key('merchant')[-4:]}"
    assert shown == [masked, sandbox.account_id("merchant"), "apikeys.read", 404]
