"""What happened in a world: its messages and its journal."""

import pytest

from tests.driving import NOW, InProcess

KEY = {"name": "made", "permissions": ["payments:read"]}


def make_keys(sandbox: InProcess, count: int) -> list[str]:
    """The ids of new keys, oldest first."""
    return [sandbox.mint(["payments:read"], by="merchant")["id"] for _ in range(count)]


# --- messages ---------------------------------------------------------------------------------


def test_messages_come_newest_last_and_the_window_is_on_the_newest(sandbox):
    ids = make_keys(sandbox, 5)

    for query, expected, offset in (
        ({}, [0, 1, 2, 3, 4], 0),
        ({"limit": 2}, [3, 4], 3),
        ({"limit": 2, "offset": 0}, [0, 1], 0),
        ({"limit": 2, "offset": 4}, [4], 4),
        ({"offset": 3}, [3, 4], 3),
        ({"offset": 5}, [], 5),
        ({"offset": 99}, [], 99),
        ({"limit": 1000}, [0, 1, 2, 3, 4], 0),
    ):
        listed = sandbox.look("messages", **query)
        found = [message["subject"] for message in listed["messages"]]
        assert found == [ids[n] for n in expected], query
        assert (listed["total"], listed["offset"]) == (5, offset)
    # They are read backwards from the newest.
    newest = sandbox.look("messages", limit=3)
    oldest = sandbox.look("messages", limit=3, before=newest["next"])
    seen = [message["subject"] for page in (oldest, newest) for message in page["messages"]]
    assert (seen, oldest["next"], oldest["total"]) == (ids, None, 5)


def test_messages_are_filtered_by_what_they_are_about_and_what_became_of_them(sandbox):
    first, second = make_keys(sandbox, 2)
    sandbox.add_endpoint(id="e")
    sandbox.set_clock("2026-04-01T00:00:00Z")
    path = f"/v5/apikeys/{first}"
    sandbox.put(path, {"status": "revoked"}, by="merchant")

    for query, total in (
        ({"event_type": "api_key.created"}, 2),
        ({"event_type": "api_key.revoked"}, 1),
        ({"event_type": "transaction.sale"}, 0),
        ({"subject": first}, 2),
        ({"subject": second}, 1),
        ({"subject": "nobody"}, 0),
        ({"since": "2026-04-01T00:00:00Z"}, 1),
        ({"since": "2026-04-01T00:00:00.001Z"}, 0),
        ({"since": NOW}, 3),
        ({"event_type": "api_key.created", "subject": first, "since": NOW}, 1),
        ({"event_type": "api_key.revoked", "subject": second}, 0),
        ({"account": sandbox.account_id("merchant")}, 3),
        ({"account": "merchant"}, 3),
        ({"account": "partner"}, 0),
        ({"account": "merchant", "status": "revoked"}, 1),
        ({"q": first.upper()}, 2),
        ({"q": sandbox.messages()[0]["id"][4:].upper()}, 1),
        ({"endpoint": "e", "delivery": "pending"}, 1),
        ({"delivery": "failed"}, 0),
        ({"endpoint": "other"}, 0),
    ):
        assert sandbox.look("messages", **query)["total"] == total, query


# --- the journal ------------------------------------------------------------------------------


def test_an_entry_describes_a_request_up_to_its_answer(sandbox):
    answer = sandbox.post("/v5/apikeys", KEY, by="merchant", query="x=1%202")

    entry = sandbox.journal(answer)

    assert entry["id"] == answer.headers["x-sandbox-request-id"]
    assert (entry["at"], entry["method"], entry["path"]) == (NOW, "POST", "/v5/apikeys")
    assert (entry["query"], entry["route"], entry["status"]) == ("x=1 2", "apikeys.create", 201)
    assert entry["key"] == "****" + sandbox.key("merchant")[-4:]
    assert entry["account_id"] == sandbox.account_id("merchant")
    assert entry["duration_ms"] >= 0
    assert (entry["request"], entry["response"]) == (KEY, answer.json() | {"key": "****"})
    assert (entry["outcome"], entry["near_misses"], entry["notes"]) == (None, [], [])
    assert len(entry["events"]) == 1


def test_a_cleared_journal_continues_its_numbers(sandbox):
    for path in ("/v5/apikeys", "/v5/apikeys/nowhere", "/nowhere"):
        sandbox.get(path, by="merchant")

    cleared = sandbox.manage("DELETE", "/requests")
    after = sandbox.look("requests")
    next_one = sandbox.get("/v5/apikeys", by="merchant")

    assert (cleared.status, cleared.body) == (204, b"")
    assert (after["requests"], after["total"]) == ([], 0)
    assert sandbox.manage("GET", "/requests/req_0000000001").status == 404
    assert next_one.headers["x-sandbox-request-id"] == "req_0000000004"


@pytest.mark.proves("assumed D25-origins")
def test_requests_of_the_control_api_and_of_other_origins_leave_no_trace(sandbox):
    headers = [(b"origin", b"https://evil.example"), (b"sec-fetch-site", b"cross-site")]
    sandbox.control("GET", "/worlds")

    assert sandbox.ask("POST", "/v3/payment", headers=headers).status == 401
    assert sandbox.look("requests")["total"] == 0
