"""Small slips of clients: noted in the journal, or taken as what they mean."""

import gzip
import json

import pytest

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


@pytest.mark.proves("assumed D46")
def test_a_byte_order_mark_is_not_part_of_a_body(sandbox):
    body = b"\xef\xbb\xbf" + json.dumps({"name": "x", "permissions": ["payments:read"]}).encode()

    assert sandbox.ask("POST", "/v5/apikeys", key="merchant", body=body).status == 201
    world = b"\xef\xbb\xbf" + json.dumps({"name": "other"}).encode()
    assert sandbox.ask("POST", "/_sandbox/worlds", body=world).status == 201


@pytest.mark.proves("assumed D48")
def test_a_byte_order_mark_is_not_part_of_a_saved_world_or_a_scenario(sandbox):
    place = "/_sandbox/worlds/default"
    saved = sandbox.ask("GET", f"{place}/snapshot").body
    loaded = sandbox.ask("PUT", f"{place}/snapshot", body=b"\xef\xbb\xbf" + saved)
    utf_16 = sandbox.ask("PUT", f"{place}/snapshot", body=saved.decode().encode("utf-16"))
    scenario = json.dumps({"toml": '\ufeffname = "from an editor"'}).encode()

    assert loaded.status == 200
    assert (utf_16.status, "save it as UTF-8" in utf_16.json()["message"]) == (400, True)
    assert sandbox.ask("PUT", f"{place}/scenario", body=scenario).status == 200


@pytest.mark.proves("assumed D46")
def test_an_encoded_body_is_a_415_that_names_the_encoding(sandbox):
    body = gzip.compress(json.dumps({"name": "x", "permissions": ["payments:read"]}).encode())
    headers = [
        (b"accept", b"application/json"),
        (b"content-type", b"application/json"),
        (b"content-encoding", b"gzip"),
        (b"x-service-apikey", sandbox.key("merchant").encode()),
    ]

    answer = sandbox.ask("POST", "/v5/apikeys", headers=headers, body=body)

    assert answer.status == 415
    assert "Content-Encoding: 'gzip'" in answer.json()["details"]
    assert answer.headers["accept-encoding"] == "identity"
    assert "Content-Encoding: 'gzip' is not read" in str(sandbox.journal(answer)["notes"])


@pytest.mark.proves("assumed D43")
def test_a_filter_by_processor_selects_events_of_batches_too(sandbox):
    for processor in ("tsys", "other"):
        body = {"url": "http://receiver.invalid/", "filters": {"processor": [processor]}}
        assert sandbox.manage("POST", "/endpoints", body).status == 201
    sandbox.sold()

    (opened,) = sandbox.look("messages", event_type="batch.opened")["messages"]

    assert len(opened["deliveries"]) == 1
