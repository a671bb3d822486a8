"""What happened in a world: its messages and its journal."""

from typing import Any

import pytest

from tests.conftest import NOW
from tests.driving import InProcess, Response


def make_keys(sandbox: InProcess, count: int) -> list[str]:
    """The ids of new keys, oldest first."""
    body = {"name": "made", "permissions": ["payments:read"]}
    answers = [
        sandbox.ask("POST", "/v5/apikeys", key="merchant", json_body=body) for _ in range(count)
    ]
    return [answer.json()["id"] for answer in answers]


def ask(sandbox: InProcess, what: str, query: str = "") -> Any:
    answer = sandbox.control("GET", f"/worlds/default/{what}", query=query)
    assert answer.status == 200, answer.body
    return answer.json()


# --- messages ---------------------------------------------------------------------------------


def test_a_message_is_shown_with_its_body_and_what_it_is_about(sandbox):
    id = make_keys(sandbox, 1)[0]

    (message,) = ask(sandbox, "messages")["messages"]

    assert list(message) == [
        *("id", "event_type", "account_id", "subject", "request_id", "created_at"),
        *("body", "deliveries"),
    ]
    assert message["id"].startswith("msg_")
    assert message["event_type"] == "api_key.created"
    assert message["account_id"] == sandbox.account("merchant")
    assert (message["subject"], message["created_at"]) == (id, NOW)
    assert message["body"]["id"] == id
    assert message["deliveries"] == []
    assert sandbox.control("GET", f"/worlds/default/messages/{message['id']}").json() == message
    entry = sandbox.control("GET", f"/worlds/default/requests/{message['request_id']}").json()
    assert entry["events"] == [message["id"]]


def test_messages_come_newest_last(sandbox):
    ids = make_keys(sandbox, 3)

    listed = ask(sandbox, "messages")

    assert [message["subject"] for message in listed["messages"]] == ids
    assert (listed["total"], listed["offset"]) == (3, 0)


@pytest.mark.parametrize(
    ("query", "expected", "offset"),
    [
        ("limit=2", [3, 4], 3),
        ("limit=2&offset=0", [0, 1], 0),
        ("limit=2&offset=4", [4], 4),
        ("offset=3", [3, 4], 3),
        ("offset=5", [], 5),
        ("offset=99", [], 99),
        ("limit=1000", [0, 1, 2, 3, 4], 0),
    ],
)
def test_without_an_offset_the_window_is_on_the_newest(sandbox, query, expected, offset):
    ids = make_keys(sandbox, 5)

    listed = ask(sandbox, "messages", query)

    assert [message["subject"] for message in listed["messages"]] == [ids[n] for n in expected]
    assert (listed["total"], listed["offset"]) == (5, offset)


def test_messages_are_filtered_by_type_subject_and_time(sandbox):
    first, second = make_keys(sandbox, 2)
    sandbox.control("PUT", "/worlds/default/clock", {"now": "2026-04-01T00:00:00Z"})
    path = f"/v5/apikeys/{first}"
    sandbox.ask("PUT", path, key="merchant", json_body={"status": "revoked"})

    counts = [
        ask(sandbox, "messages", query)["total"]
        for query in (
            "event_type=api_key.created",
            "event_type=api_key.revoked",
            "event_type=transaction.sale",
            f"subject={first}",
            f"subject={second}",
            "subject=nobody",
            "since=2026-04-01T00:00:00Z",
            "since=2026-04-01T00:00:00.001Z",
            f"since={NOW}",
            f"event_type=api_key.created&subject={first}&since={NOW}",
            f"event_type=api_key.revoked&subject={second}",
        )
    ]

    assert counts == [2, 1, 0, 2, 1, 0, 1, 0, 3, 1, 0]


# --- the journal ------------------------------------------------------------------------------


def test_an_entry_tells_a_request_from_its_beginning_to_its_answer(sandbox):
    body = {"name": "made", "permissions": ["payments:read"]}
    answer = sandbox.ask("POST", "/v5/apikeys", key="merchant", json_body=body, query="x=1%202")

    entry = sandbox.journal(answer)

    assert list(entry) == [
        *("id", "at", "method", "path", "query", "route", "key", "key_id", "key_name"),
        *(
            "account_id",
            "subject",
            "origin",
            "client",
            "headers",
            "status",
            "duration_ms",
            "request",
            "response",
            "decisions",
        ),
        *("outcome", "near_misses", "events", "notes", "summary"),
    ]
    assert entry["id"] == answer.headers["x-sandbox-request-id"]
    assert (entry["at"], entry["method"], entry["path"]) == (NOW, "POST", "/v5/apikeys")
    assert (entry["query"], entry["route"], entry["status"]) == ("x=1 2", "apikeys.create", 201)
    assert entry["key"] == "****" + sandbox.key("merchant")[-4:]
    assert entry["account_id"] == sandbox.account("merchant")
    assert entry["duration_ms"] >= 0
    assert entry["request"] == body
    assert entry["response"] == answer.json() | {"key": "****"}
    assert (entry["outcome"], entry["near_misses"], entry["notes"]) == (None, [], [])
    assert len(entry["events"]) == 1
    for decision in entry["decisions"]:
        assert list(decision) == ["step", "verdict", "reason", "clause"]


def test_an_entry_of_a_refusal_ends_with_the_step_that_refused(sandbox):
    answer = sandbox.ask("GET", "/v5/apikeys/nowhere", key="merchant")

    entry = sandbox.journal(answer)

    steps = [decision["step"] for decision in entry["decisions"]]
    assert steps == ["route", "authenticate", "visibility", "target"]
    assert entry["decisions"][-1]["verdict"] == "404"
    assert (entry["status"], entry["events"]) == (404, [])


def three_requests(sandbox: InProcess) -> list[Response]:
    return [
        sandbox.ask("GET", "/v5/apikeys", key="merchant"),
        sandbox.ask("GET", "/v5/apikeys/nowhere", key="merchant"),
        sandbox.ask("GET", "/nowhere"),
    ]


def test_requests_are_numbered_and_listed_newest_last(sandbox):
    three_requests(sandbox)

    listed = ask(sandbox, "requests")

    assert [entry["id"] for entry in listed["requests"]] == [
        "req_0000000001",
        "req_0000000002",
        "req_0000000003",
    ]
    assert listed["total"] == 3


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("route=apikeys.list", ["/v5/apikeys"]),
        ("status=404", ["/v5/apikeys/nowhere", "/nowhere"]),
        ("route=apikeys.read&status=404", ["/v5/apikeys/nowhere"]),
        ("status=500", []),
        ("limit=1", ["/nowhere"]),
        ("limit=1&offset=1", ["/v5/apikeys/nowhere"]),
        ("status=404&limit=1", ["/nowhere"]),
    ],
)
def test_requests_are_filtered_by_row_and_status(sandbox, query, paths):
    three_requests(sandbox)

    listed = ask(sandbox, "requests", query)

    assert [entry["path"] for entry in listed["requests"]] == paths


def test_an_emptied_journal_goes_on_numbering(sandbox):
    answer = three_requests(sandbox)[0]

    cleared = sandbox.control("DELETE", "/worlds/default/requests")
    after = ask(sandbox, "requests")
    next_one = sandbox.ask("GET", "/v5/apikeys", key="merchant")

    id = answer.headers["x-sandbox-request-id"]
    assert (cleared.status, cleared.body) == (204, b"")
    assert (after["requests"], after["total"]) == ([], 0)
    assert sandbox.control("GET", f"/worlds/default/requests/{id}").status == 404
    assert next_one.headers["x-sandbox-request-id"] == "req_0000000004"


def test_control_requests_are_not_in_the_journal(sandbox):
    sandbox.control("GET", "/worlds")
    sandbox.control("GET", "/worlds/default/requests")

    assert ask(sandbox, "requests")["total"] == 0


def test_large_bodies_are_kept_cut_off(sandbox):
    body = {"name": "n" * 60_000, "permissions": ["payments:read"]}

    answer = sandbox.ask("POST", "/v5/apikeys", key="merchant", json_body=body)

    entry = sandbox.journal(answer)
    assert answer.status == 201
    assert len(entry["request"]) < 17_000
    assert entry["request"].endswith("cut off")


@pytest.mark.proves("assumed D25-origins")
def test_requests_without_a_key_cannot_push_out_those_with_one(sandbox):
    own = sandbox.ask("GET", "/v5/apikeys", key="merchant")
    for _ in range(1_200):
        sandbox.ask("GET", "/v5/apikeys")

    listed = sandbox.control("GET", "/worlds/default/requests", query="limit=1000").json()

    assert listed["requests"][0]["id"] == own.headers["x-sandbox-request-id"]
    assert listed["total"] == 101
    assert [one["id"] for one in listed["requests"]] == sorted(
        one["id"] for one in listed["requests"]
    )


@pytest.mark.proves("assumed D25-origins")
def test_a_page_of_another_origin_leaves_no_trace_in_the_journal(sandbox):
    headers = [(b"origin", b"https://evil.example"), (b"sec-fetch-site", b"cross-site")]

    assert sandbox.ask("POST", "/v3/payment", headers=headers).status == 401

    assert sandbox.control("GET", "/worlds/default/requests").json()["total"] == 0
