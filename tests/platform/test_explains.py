"""Every refusal can be explained: the journal names the step and the clause, and the clause exists.

That last part holds for the whole suite: the fixture `sandbox` looks up whatever was cited.
"""

import pytest

from tests.platform.minting import (
    NOBODY,
    citations,
    known_clauses,
    messages,
    mint,
    refused_by,
    set_clock,
)

NEW = {"name": "x", "permissions": ["payments:read"]}


def permitted(sandbox, *permissions):
    return mint(sandbox, list(permissions), by="partner").key


UNUSABLE = {
    "unknown": ("spec 5.1", lambda sandbox: sandbox.key("merchant")[:-4] + "0000"),
    "malformed": ("spec 2.1-format", lambda _: "swordfish"),
    "revoked": ("spec 3.1-revoke", lambda _: "revoked"),
    "expired": ("spec 3.1-expiry", lambda _: "expired"),
    "deleted": ("spec 3.1-delete", lambda _: "deleted"),
    "account deleted": ("assumed C4", lambda _: "orphan"),
    "missing": ("spec 5.1", lambda _: None),
}


@pytest.mark.proves("spec 5.10")
@pytest.mark.parametrize(("clause", "key"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_key_that_is_turned_away_is_told_apart_in_the_journal_alone(wider, clause, key):
    answer = wider.ask("GET", "/v5/apikeys", key=key(wider))

    assert answer.json()["details"] == ""
    assert refused_by(wider, answer) == ("authenticate", "401", clause)


@pytest.mark.proves("spec 5.5")
def test_an_overdue_legacy_key_is_explained_by_the_date_of_all_of_them(sandbox):
    set_clock(sandbox, "2026-08-01T00:00:00Z")

    entry = sandbox.journal(sandbox.ask("GET", "/v5/apikeys", key="legacy"))

    last = entry["decisions"][-1]
    assert (last["step"], last["verdict"]) == ("authenticate", "401")
    assert "2026-07-31T00:00:00.000Z" in last["reason"]


BODIES = {
    "-": ...,
    "a new key": NEW,
    "a numeric account": NEW | {"account_id": 7},
    "an unknown field": NEW | {"colour": "red"},
    "a false permission": NEW | {"permissions": ["payments:fly"]},
    "a past expiry": NEW | {"expires_at": "2020-01-01T00:00:00Z"},
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
all;                GET /v5/apikey;                   -;                  route 404 assumed C1
all;                PATCH /v5/apikeys;                -;                  route 405 assumed C9
"""


@pytest.mark.proves("spec 5.9, 4.1.4, 4.1.2, 7-401, 7-403, 7-404", "assumed C5, D19, Q22")
@pytest.mark.parametrize("refusal", REFUSALS.strip().splitlines())
def test_the_journal_names_the_step_and_the_clause_of_a_refusal(sandbox, refusal):
    held, request, body, expected = (one.strip() for one in refusal.split(";"))
    method, path = request.split()
    key = permitted(sandbox, held)
    ids = {name: sandbox.key_id(name) for name in ("other_merchant", "deleted", "merchant")}
    before = len(messages(sandbox))

    answer = sandbox.ask(
        method, path.format(**ids, missing=NOBODY), key=key, json_body=BODIES[body]
    )

    assert refused_by(sandbox, answer) == tuple(expected.split(maxsplit=2))
    assert sandbox.journal(answer)["events"] == []
    assert len(messages(sandbox)) == before


@pytest.mark.proves("assumed C5")
def test_the_steps_of_a_success_are_all_there_in_order(sandbox):
    body = NEW | {"account_id": sandbox.account("merchant")}

    entry = sandbox.journal(sandbox.ask("POST", "/v5/apikeys", key="partner", json_body=body))

    assert [(one["step"], one["verdict"], one["clause"]) for one in entry["decisions"]] == [
        ("route", "ok", "spec 4.1"),
        ("authenticate", "ok", "spec 5.1"),
        ("visibility", "ok", "spec 5.9"),
        ("target", "ok", "spec 5.7"),
        ("grant", "ok", "spec 4.1.4"),
    ]
    assert all(one["reason"] for one in entry["decisions"])


@pytest.mark.proves("assumed C5")
def test_a_refusal_lists_the_steps_that_were_passed_before_it(sandbox):
    answer = sandbox.ask("GET", f"/v5/apikeys/{NOBODY}", key="merchant")

    steps = [(one["step"], one["verdict"]) for one in sandbox.journal(answer)["decisions"]]

    assert steps == [
        ("route", "ok"),
        ("authenticate", "ok"),
        ("visibility", "ok"),
        ("target", "404"),
    ]


def test_every_change_in_the_life_of_a_key_cites_a_clause_that_exists(sandbox):
    path = f"/v5/apikeys/{mint(sandbox, ['all'], by='merchant').id}"
    for status in ("revoked", "revoked", "active", "active"):
        sandbox.ask("PUT", path, key="merchant", json_body={"status": status})
    for _ in range(2):
        sandbox.ask("DELETE", path, key="merchant")

    cited = set(citations(sandbox))

    assert {
        "spec 3.1-revoke",
        "spec 3.1-reinstate",
        "spec 3.1-delete",
        "spec 4.4-delete",
        "assumed 4.3-same-status",
    } <= cited
    assert cited <= known_clauses()


def test_the_journal_shows_who_called_masked(sandbox):
    entry = sandbox.journal(sandbox.ask("GET", "/v5/apikeys", key="merchant"))

    assert entry["key"] == f"****{sandbox.key('merchant')[-4:]}"
    assert entry["account_id"] == sandbox.account("merchant")
    assert (entry["route"], entry["status"]) == ("apikeys.list", 200)
