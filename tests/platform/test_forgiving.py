"""Small slips of clients: noted in the journal, or taken as what they mean."""

import gzip
import json

import pytest

NEW = {"name": "x", "permissions": ["payments:read"]}

FILTERS = {
    "/v2/transactions": ["account_id", "terminal_id", "event_id", "search_term"],
    "/v1/transactions": ["account_id", "mid"],
    "/v2/terminals": ["account_id", "search"],
    "/v1/accounts": ["parent_id", "search"],
    "/v1/batches": ["account_id", "terminal_id"],
}


@pytest.mark.proves("assumed C13")
def test_an_empty_filter_is_not_a_filter_and_the_journal_says_so(sandbox):
    sandbox.sold()
    for path, names in FILTERS.items():
        plain = sandbox.get(path, by="merchant")
        for query in (f"{name}={value}" for name in names for value in ("", "null")):
            answer = sandbox.get(path, by="merchant", query=query)
            said = f"the query parameter {query.partition('=')[0]} is empty or null"
            assert (answer.status, answer.body) == (plain.status, plain.body), query
            assert said in str(sandbox.journal(answer)["notes"])


def test_seconds_in_place_of_milliseconds_are_noted(sandbox):
    answer = sandbox.get("/v2/transactions", by="merchant", query="start_date=1795573578")

    assert answer.status == 200
    assert "is in January 1970; were seconds sent" in str(sandbox.journal(answer)["notes"])


@pytest.mark.proves("assumed D46, D48")
def test_a_byte_order_mark_is_not_part_of_a_body_or_a_scenario(sandbox):
    saved = sandbox.saved().decode()
    for method, path, body in (
        ("POST", "/v5/apikeys", json.dumps(NEW)),
        ("POST", "/_sandbox/worlds", '{"name": "other"}'),
        ("PUT", "/_sandbox/worlds/default/snapshot", saved),
    ):
        answer = sandbox.ask(method, path, key="merchant", body=body.encode("utf-8-sig"))
        assert answer.status in (200, 201), path
    utf_16 = sandbox.load(saved.encode("utf-16"))

    assert (utf_16.status, "save it as UTF-8" in utf_16.json()["message"]) == (400, True)
    scenario = {"toml": '\ufeffname = "from an editor"'}
    sandbox.manage("PUT", "/scenario", scenario).expect(200)


@pytest.mark.proves("assumed D46")
def test_an_encoded_body_is_a_415_that_names_the_encoding(sandbox):
    body = gzip.compress(json.dumps(NEW).encode())
    sandbox.defaults |= {"content-encoding": "gzip"}

    answer = sandbox.ask("POST", "/v5/apikeys", key="merchant", body=body)

    assert answer.status == 415
    assert "Content-Encoding: 'gzip'" in answer.json()["details"]
    assert answer.headers["accept-encoding"] == "identity"
    assert "Content-Encoding: 'gzip' is not supported" in str(sandbox.journal(answer)["notes"])
