"""Operators send requests to the platform, new ones and those of the journal again."""

import pytest

from tests.control.exports import exported
from tests.control.refusals import assert_refused
from tests.openapi.described import fresh_checked
from tests.scenarios.running import carrying
from tests.support.caller import turns
from tests.support.open_requests import desk_opens

SEND = "/_sandbox/worlds/default/send"


@pytest.fixture
def sandbox():
    """A sandbox whose every answer is compared with the documents."""
    return fresh_checked()


def sale(sandbox, **more):
    body = {"amount": 1000, "terminal_id": sandbox.terminal_id("merchant")}
    body |= carrying("tok_visa_credit")
    return {"method": "POST", "path": "/v3/payment", "key": "partner", "body": body} | more


def send(sandbox, **body):
    return sandbox.manage("POST", "/send", body)


@pytest.mark.proves("assumed D25-send")
def test_a_sent_request_takes_the_usual_steps_and_is_not_counted(sandbox):
    before = sandbox.look("coverage")

    answer = send(sandbox, **sale(sandbox))
    shown = answer.json()
    kept = sandbox.look(f"requests/{shown['request_id']}")
    by_id = send(sandbox, method="GET", path="/v5/apikeys", key=sandbox.key_id("merchant")).json()

    assert (answer.status, shown["status"], shown["fault"]) == (200, 200, None)
    assert shown["body"]["status"] == "captured"
    assert shown["headers"]["x-sandbox-request-id"] == shown["request_id"]
    assert (kept["origin"], kept["status"], kept["route"]) == ("console", 200, "payments.create")
    assert kept["key_id"] == sandbox.key_id("partner")
    assert kept["request"]["amount"] == 1000
    assert by_id["status"] == 200
    assert sandbox.look(f"requests/{by_id['request_id']}")["key_id"] == sandbox.key_id("merchant")
    after = sandbox.look("coverage")
    assert after["operations"] == before["operations"]


def test_query_and_headers_arrive_and_refusals_of_the_platform_are_answers(sandbox):
    listing = {"method": "GET", "path": "/v2/transactions", "key": "partner"}
    for body, status in (
        (listing | {"query": "limit=1"}, 200),
        (listing | {"query": "limit=nonsense"}, 400),
        (listing | {"path": "/v2/transactions?limit=nonsense"}, 400),
        (listing | {"path": "/v9/nothing"}, 404),
        (sale(sandbox, body='{"amount": '), 400),
    ):
        assert send(sandbox, **body).json()["status"] == status, body
    forced = {"X-Sandbox-Outcome": "insufficient_funds"}
    sold = send(sandbox, **sale(sandbox, headers=forced)).json()
    assert sold["body"]["status_reason"] == "insufficient_funds"
    keyless = send(sandbox, method="GET", path="/v5/apikeys").json()
    assert (keyless["status"], "error" in keyless["body"]) == (401, True)
    assert sandbox.look(f"requests/{keyless['request_id']}")["key"] is None


def test_a_transport_fault_is_shown_and_breaks_nothing(sandbox):
    for fault, status in (("http_503", 503), ("drop_after", None), ("malformed_json", 200)):
        sandbox.manage("POST", "/scenario/next", {"fault": fault})

        shown = send(sandbox, **sale(sandbox)).json()

        assert (shown["status"], shown["fault"]) == (status, None if fault == "http_503" else fault)
        assert isinstance(shown["body"], str) is (fault == "malformed_json")


@pytest.mark.proves("assumed D25-send")
def test_without_waiting_the_id_comes_before_the_answer(sandbox, requests):
    desk_opens(sandbox)
    body = sale(sandbox, wait=False)
    del body["body"]["card_reader_data"]

    begun = requests.ask("POST", SEND, body)

    sandbox.control_surface.check("POST", SEND, begun)
    assert (begun.status, list(begun.json())) == (202, ["request_id"])
    while not requests.taps():
        requests.run(turns())
    requests.tap(card="tok_visa_credit")
    while (kept := sandbox.manage("GET", f"/requests/{begun.json()['request_id']}")).status == 404:
        requests.run(turns())
    assert (kept.json()["status"], kept.json()["response"]["status"]) == (200, "captured")


# --- replay -----------------------------------------------------------------------------------


def replay(sandbox, id, **body):
    return sandbox.manage("POST", f"/requests/{id}/replay", body)


def test_a_request_is_sent_again_as_it_was_or_with_changes(sandbox):
    first = send(sandbox, **sale(sandbox)).json()["request_id"]

    again = replay(sandbox, first).json()
    other = replay(sandbox, first, key="other_merchant").json()
    keyless = replay(sandbox, first, key=None).json()
    changed = replay(sandbox, first, body=sale(sandbox)["body"] | {"amount": 777}).json()

    assert (again["status"], again["body"]["status"]) == (200, "captured")
    assert again["request_id"] != first
    assert sandbox.look(f"requests/{again['request_id']}")["key_id"] == sandbox.key_id("partner")
    assert other["status"] in (403, 404)
    assert keyless["status"] == 401
    assert changed["body"]["total_amount"] == 777


def test_a_replayed_request_keeps_accept_and_content_type(sandbox):
    text, html = {"content-type": "text/plain"}, {"accept": "text/html"}
    misspelt = {"x-sandbox-outcome": "lost_crad"}
    listed = {"method": "GET", "path": "/v5/apikeys", "key": "merchant", "headers": html}
    sent = [*(sale(sandbox, headers=one) for one in (text, misspelt)), listed]
    ids = [send(sandbox, **one).json()["request_id"] for one in sent]

    assert [replay(sandbox, id).json()["status"] for id in ids] == [415, 400, 406]
    assert replay(sandbox, ids[0], body=sale(sandbox)["body"]).json()["status"] == 200
    assert replay(sandbox, ids[2], headers={"Accept": "*/*"}).json()["status"] == 200


def test_a_query_is_shown_sent_again_and_exported_as_it_was(sandbox):
    query = "search_term=Smith %26 Co%2B5%25&limit=1"
    sandbox.get("/v2/transactions", query=query.replace(" ", "%20"))
    (first,) = sandbox.look("requests")["requests"]

    again = replay(sandbox, first["id"]).expect(200)["request_id"]

    assert first["query"] == sandbox.look(f"requests/{again}")["query"] == query
    assert query.replace(" ", "%20") in exported(sandbox, "curl")["content"]


def test_a_request_that_the_journal_has_only_in_part_is_not_sent(sandbox):
    long = send(sandbox, **sale(sandbox, body={"text": "x" * 20_000})).json()["request_id"]
    key = sandbox.key("merchant")
    masked = [sandbox.get(f"/v5/{key}"), sandbox.get("/v5/apikeys", query=f"x={key}")]
    masked.append(sandbox.post("/v5/apikeys", {"name": key}))

    for id in (long, *(sandbox.journal(one)["id"] for one in masked)):
        assert_refused(replay(sandbox, id), 409, "not_replayable")

    assert replay(sandbox, long, body=sale(sandbox)["body"]).json()["status"] == 200
    assert_refused(replay(sandbox, "req_none"), 404, "not_found")
    short = send(sandbox, method="GET", path="/v5/apikeys", key="merchant").json()["request_id"]
    assert_refused(replay(sandbox, short, key="nobody"), 400, "validation_error")
