"""Operators say where webhooks go. Source: spec 6.1.3, 6.1.11; assumed 8.3, D22, D25."""

import re

import pytest

from sandbox.webhooks.signing import write_secret
from tests.control.refusals import assert_refused
from tests.webhooks.calling import (
    ENDPOINTS,
    add,
    change,
    message,
    reached,
    reset,
    sample,
    shown,
)

URL = "http://127.0.0.1:9/hooks"
SECRET = write_secret(b"k" * 32)
PRODUCTION_KEY = "svc_live_abcdefghijkl_abcdefghijklmnopqrstuvwxyz012345"


# --- create, list, read, delete ---------------------------------------------------------------


def test_an_endpoint_needs_a_url_only_and_gets_the_defaults(sandbox):
    answer = sandbox.control("POST", ENDPOINTS, {"url": URL})

    body = answer.json()
    assert answer.status == 201
    assert re.fullmatch(r"ep_[A-Za-z0-9]{27}", body.pop("id"))
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", body.pop("secret"))
    assert body == {
        "url": URL,
        "description": "",
        "account_id": None,
        "application_id": None,
        "event_types": [],
        "filters": {},
        "old_secrets": [],
        "disabled": False,
        "disabled_reason": None,
        "failing_since": None,
        "disables_at": None,
        "created_at": "2026-03-01T12:00:00.000Z",
    }


def test_an_endpoint_is_what_it_was_asked_to_be(sandbox):
    wanted = {
        "id": "mine-1_A",
        "url": "https://example.com:8443/a?b=c%20d",
        "description": "mine",
        "account_id": sandbox.account("merchant"),
        "event_types": ["transaction.sale", "transaction.refund"],
        "filters": {"status": ["captured", "accepted"], "processor": ["any-name"]},
        "secret": SECRET,
    }

    body = add(sandbox, **wanted | {"disabled": True})

    created = {"created_at": "2026-03-01T12:00:00.000Z"}
    disabled = {"disabled": True, "disabled_reason": "disabled by hand"}
    well = {"old_secrets": [], "failing_since": None, "disables_at": None}
    assert re.fullmatch(r"app_[A-Za-z0-9]{27}", body.pop("application_id"))
    assert body == wanted | created | disabled | well


def test_null_is_as_if_it_was_not_given(sandbox):
    names = ("id", "description", "account_id", "event_types", "filters", "secret", "disabled")

    body = add(sandbox, **dict.fromkeys(names))

    assert (body["description"], body["event_types"], body["filters"]) == ("", [], {})
    assert body["id"].startswith("ep_")
    assert body["disabled"] is False


def test_a_filter_of_null_or_of_nothing_is_not_a_filter(sandbox):
    body = add(sandbox, filters={"status": None, "processor": [], "transaction_type": ["sale"]})

    assert body["filters"] == {"transaction_type": ["sale"]}


def test_repeated_event_types_are_kept_once(sandbox):
    body = add(sandbox, event_types=["batch.opened", "account.updated", "batch.opened"])

    assert body["event_types"] == ["batch.opened", "account.updated"]


def test_endpoints_are_listed_in_the_order_in_which_they_came_and_read(sandbox):
    first, second = add(sandbox), add(sandbox, id="a")

    listed = sandbox.control("GET", ENDPOINTS).json()

    assert listed == {"endpoints": [first, second], "total": 2}
    assert shown(sandbox, first["id"]) == first
    assert first["id"] != second["id"]
    assert first["secret"] != second["secret"]


def test_a_deleted_endpoint_is_gone_and_gets_nothing_more(sandbox):
    id = add(sandbox)["id"]
    before = sample(sandbox)

    deleted = sandbox.control("DELETE", f"{ENDPOINTS}/{id}")

    assert (deleted.status, deleted.body) == (204, b"")
    assert sandbox.control("GET", ENDPOINTS).json()["total"] == 0
    assert [one["status"] for one in message(sandbox, before)["deliveries"]] == ["canceled"]
    assert reached(sandbox, sample(sandbox)) == []


@pytest.mark.parametrize(
    ("method", "segment"),
    [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/rotate-secret"),
        ("POST", "/enable"),
        ("POST", "/recover"),
    ],
)
def test_an_endpoint_that_does_not_exist_is_a_404(sandbox, method, segment):
    add(sandbox, id="mine")
    body = {"since": "2026-03-01T12:00:00Z"} if segment == "/recover" else {}

    answer = sandbox.control(
        method, f"{ENDPOINTS}/other{segment}", body if method != "GET" else ...
    )

    assert_refused(answer, 404, "not_found")


def test_an_id_that_is_taken_is_a_409_and_leaves_the_endpoint_alone(sandbox):
    before = add(sandbox, id="mine")

    answer = sandbox.control("POST", ENDPOINTS, {"url": "http://127.0.0.1:1/", "id": "mine"})

    assert_refused(answer, 409, "endpoint_taken")
    assert shown(sandbox, "mine") == before


# --- what cannot be ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "nearest"),
    [
        ({"url": "hooks"}, None),
        ({"url": f"http://host/?key={PRODUCTION_KEY}"}, None),
        ({"event_types": ["transaction.sales"]}, "transaction.sale"),
        ({"event_types": ["batch.opened", "qqq"]}, None),
        ({"event_types": "batch.opened"}, None),
        ({"event_types": ["batch.opened"] * 101}, None),
        ({"filters": {"status": ["capturd"]}}, "captured"),
        ({"filters": {"status": ["acepted"]}}, "accepted"),
        ({"filters": {"transaction_type": ["sales"]}}, "sale"),
        ({"filters": {"transaction_type": [""]}}, None),
        ({"filters": {"status": "captured"}}, None),
        ({"filters": {"statuses": ["captured"]}}, "status"),
        ({"filters": ["status"]}, None),
        ({"filter": {}}, "filters"),
        ({"adress": URL}, None),
        ({"event_type": ["batch.opened"]}, "event_types"),
        ({"disabled": "yes"}, None),
        ({"disabled_reason": "x"}, "disabled"),
        ({"description": "x" * 501}, None),
        ({"description": PRODUCTION_KEY}, None),
        ({"filters": {"processor": [PRODUCTION_KEY]}}, None),
        ({"account_id": "00000000-0000-4000-8000-000000000000"}, None),
        ({"account_id": ""}, None),
        ({"secret": "whsec_short"}, None),
        ({"secret": SECRET.removeprefix("whsec_")}, None),
        ({"secret": PRODUCTION_KEY}, None),
        ({"secret": "whsec_" + "A" * 200}, None),
    ],
    ids=lambda value: str(value)[:60],
)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_what_cannot_be_is_a_400_that_helps_and_changes_nothing(sandbox, method, body, nearest):
    before = add(sandbox, id="mine")
    path, url = (ENDPOINTS, {"url": URL}) if method == "POST" else (f"{ENDPOINTS}/mine", {})

    answer = sandbox.control(method, path, url | body)

    assert_refused(answer, 400, "validation_error", nearest)
    assert answer.json()["message"].startswith(next(iter(body)))
    assert "svc_live" not in answer.body.decode()
    assert str(body.get("secret")) not in answer.body.decode()
    assert sandbox.control("GET", ENDPOINTS).json() == {"endpoints": [before], "total": 1}


def test_an_endpoint_without_a_url_is_a_400(sandbox):
    assert_refused(sandbox.control("POST", ENDPOINTS, {}), 400, "validation_error")


def test_the_id_of_an_endpoint_cannot_be_changed(sandbox):
    add(sandbox, id="mine")

    answer = sandbox.control("PATCH", f"{ENDPOINTS}/mine", {"id": "other"})

    assert_refused(answer, 400, "validation_error")


# --- change -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "https://example.com/"},
        {"description": "other"},
        {"description": ""},
        {"event_types": ["batch.opened"]},
        {"event_types": []},
        {"filters": {"status": ["captured"]}},
        {"filters": {}},
        {"secret": write_secret(b"o" * 32)},
        {"account_id": None},
        {},
    ],
    ids=str,
)
def test_what_is_given_changes_and_the_rest_stays(sandbox, changes):
    before = add(
        sandbox,
        description="mine",
        account_id=sandbox.account("merchant"),
        event_types=["account.updated"],
        filters={"status": ["active"]},
        secret=SECRET,
    )

    after = change(sandbox, before["id"], **changes)

    gone = {"application_id": None} if "account_id" in changes else {}
    assert after == before | changes | gone
    assert shown(sandbox, before["id"]) == after


def test_null_leaves_everything_as_it_is_but_the_account(sandbox):
    before = add(
        sandbox, description="mine", event_types=["batch.opened"], filters={"status": ["open"]}
    )
    names = ("url", "description", "event_types", "filters", "secret", "disabled")

    after = change(sandbox, before["id"], **dict.fromkeys(names))

    assert after == before


def test_an_endpoint_is_disabled_and_enabled_by_a_change(sandbox):
    id = add(sandbox)["id"]
    waiting = sample(sandbox)

    disabled = change(sandbox, id, disabled=True)
    missed = sample(sandbox)
    again = change(sandbox, id, disabled=True)
    enabled = change(sandbox, id, disabled=False)

    assert (disabled["disabled"], disabled["disabled_reason"]) == (True, "disabled by hand")
    assert again == disabled
    assert (enabled["disabled"], enabled["disabled_reason"]) == (False, None)
    assert [one["status"] for one in message(sandbox, waiting)["deliveries"]] == ["canceled"]
    assert reached(sandbox, missed) == []
    assert reached(sandbox, sample(sandbox)) == [id]


def test_enabling_answers_the_endpoint_also_when_it_was_enabled(sandbox):
    id = add(sandbox, disabled=True)["id"]

    for _ in range(2):
        answer = sandbox.control("POST", f"{ENDPOINTS}/{id}/enable")

        assert answer.status == 200
        assert answer.json() == shown(sandbox, id)
        assert answer.json()["disabled"] is False


# --- recover ----------------------------------------------------------------------------------


def test_recovering_a_disabled_endpoint_is_a_409(sandbox):
    add(sandbox, id="mine", disabled=True)

    answer = sandbox.control("POST", f"{ENDPOINTS}/mine/recover", {"since": "2026-03-01T12:00:00Z"})

    assert_refused(answer, 409, "endpoint_disabled")
    assert "enable" in answer.json()["details"]


@pytest.mark.parametrize("body", [{}, {"since": None}, {"since": "2026-03-01"}, {"sinc": "x"}])
def test_recovering_needs_a_moment(sandbox, body):
    add(sandbox, id="mine")

    answer = sandbox.control("POST", f"{ENDPOINTS}/mine/recover", body)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")


# --- reset ------------------------------------------------------------------------------------


def test_endpoints_stay_over_a_reset_while_messages_and_deliveries_go(sandbox):
    first, second = add(sandbox, description="old"), add(sandbox, id="b", disabled=True)
    sample(sandbox)

    reset(sandbox)

    listed = sandbox.control("GET", ENDPOINTS).json()["endpoints"]
    assert listed == [first, second]
    assert sandbox.control("GET", "/worlds/default/messages").json()["total"] == 0
    assert reached(sandbox, sample(sandbox)) == [first["id"]]


def test_an_endpoint_that_is_made_after_a_reset_takes_the_place_of_none(sandbox):
    before = add(sandbox, description="old")
    reset(sandbox)

    after = add(sandbox, description="new")

    assert after["id"] != before["id"]
    assert shown(sandbox, before["id"]) == before
