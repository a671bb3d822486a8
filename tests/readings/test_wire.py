"""Readings of requests and answers: every value of each."""

import json

import pytest

from sandbox.app import build
from sandbox.domain.profile import parse_profile
from sandbox.settings import Settings
from tests.directory.making import (
    ACCOUNT,
    a_location,
    a_terminal,
    account_id,
    delete,
    get,
    made,
    messages,
    post,
    put,
    shown,
)
from tests.driving import InProcess
from tests.openapi.described import Described
from tests.readings.choosing import choose

TRIED = {
    "unset_strings": ("null", "empty"),
    "validation_status": ("400", "422"),
    "validation_detail": ("text", "objects"),
}
"""The values that the tests below try, the default first."""

PLAIN_OF_TERMINAL = (
    *("description", "store_number", "bin", "merchant_category_code", "merchant_name"),
)
PLAIN_OF_LOCATION = ("phone", "email", "processor_config_id", "terminal_id")


def _the(record, names):
    return {record[name] for name in names}


@pytest.mark.proves("assumed D35-unset")
@pytest.mark.parametrize(("value", "unset"), [("null", None), ("empty", "")])
def test_a_plain_string_without_a_value_is_null_or_empty(sandbox, value, unset):
    choose(sandbox, unset_strings=value)
    account = made(post(sandbox, "/v2/accounts", ACCOUNT, by="psp"))
    terminal, location = a_terminal(sandbox), a_location(sandbox)

    assert account["mcc"] == account["address"]["street_line2"] == unset
    assert account["tax_id"] is None
    assert _the(terminal, PLAIN_OF_TERMINAL) == {unset}
    assert (terminal["vid"], terminal["var_sheet"], terminal["deleted_at"]) == (None, None, None)
    assert _the(location, PLAIN_OF_LOCATION) == set(location["address"].values()) == {unset}
    assert location["metadata"] is None
    path = f"/v1/locations/{location['id']}"
    assert shown(get(sandbox, path)) == location
    assert location in shown(get(sandbox, "/v1/locations", query="limit=200"))["locations"]
    (event,) = [one for one in messages(sandbox) if one["event_type"] == "location.created"]
    assert event["body"] == location
    # A sparse event stays sparse.
    delete(sandbox, path)
    assert set(messages(sandbox)[-1]["body"]) == {"id", "account_id"}


@pytest.mark.proves("assumed D35-unset")
def test_empty_strings_are_shown_and_never_stored(sandbox):
    choose(sandbox, unset_strings="empty")
    path = f"/v1/locations/{a_location(sandbox)['id']}"
    assert shown(put(sandbox, path, {"phone": "555-0100"}))["email"] == ""

    snapshot = sandbox.control("GET", "/worlds/default/snapshot").json()
    assert sandbox.control("PUT", "/worlds/default/snapshot", snapshot).status in (200, 204)
    events = [one["body"]["email"] for one in messages(sandbox)]
    choose(sandbox, unset_strings="null")

    assert events == ["", ""]
    assert [one["body"]["email"] for one in messages(sandbox)] == events
    assert shown(get(sandbox, path))["email"] is None


def _malformed(sandbox):
    """Requests that are malformed in a field, in the query, as a whole, and in the target."""
    return [
        post(sandbox, "/v1/accounts", {**ACCOUNT, "name": 7}),
        get(sandbox, "/v2/terminals", query="limit=x"),
        post(sandbox, "/v1/locations", ["no object"]),
        get(sandbox, "/v2/terminals", query="account_id=a&account_id=b"),
    ]


def _breaks_a_rule(sandbox):
    body = {**ACCOUNT, "parent_id": account_id(sandbox, "second_merchant")}
    return post(sandbox, "/v1/accounts", body)


@pytest.mark.proves("assumed D35-validation")
@pytest.mark.parametrize(("value", "status"), [("400", 400), ("422", 422)])
def test_a_malformed_request_answers_400_or_422(sandbox, value, status):
    choose(sandbox, validation_status=value)

    answers = _malformed(sandbox)

    assert [answer.status for answer in answers] == [status] * 4
    assert {answer.json()["error"] for answer in answers} == {"validation_error"}
    assert "name: " in answers[0].json()["detail"]
    # Rules of an operation, and the routes of API keys, stay as they are.
    assert _breaks_a_rule(sandbox).status == 400
    assert post(sandbox, "/v5/apikeys", {"name": 7}).status == 400


@pytest.mark.proves("assumed D35-detail")
@pytest.mark.parametrize("value", TRIED["validation_detail"])
def test_the_detail_of_a_malformed_request_is_a_text_or_a_list_of_mistakes(sandbox, value):
    choose(sandbox, validation_detail=value)

    details = [answer.json()["detail"] for answer in _malformed(sandbox)]

    assert isinstance(_breaks_a_rule(sandbox).json()["detail"], str)
    keys = post(sandbox, "/v5/apikeys", {"name": 7}).json()
    assert set(keys) == {"error", "message", "details"}
    if value == "text":
        assert all(isinstance(detail, str) for detail in details)
        return
    places = [[one["loc"] for one in detail] for detail in details]
    assert places == [
        [["body", "name"]],
        [["query", "limit"]],
        [["body"]],
        [["query", "account_id"]],
    ]
    assert all(set(one) == {"type", "loc", "msg"} for detail in details for one in detail)


@pytest.mark.proves("assumed D35-detail")
def test_a_list_of_mistakes_repeats_no_value_and_has_an_end(sandbox):
    choose(sandbox, validation_detail="objects", validation_status="422")
    secret = "never repeated"

    many = post(sandbox, "/v1/accounts", ACCOUNT | {"available_processor_configs": [7] * 150})
    one = post(sandbox, "/v1/accounts", ACCOUNT | {"type": secret})

    assert len(many.json()["detail"]) == 50
    assert one.status == 422
    assert secret.encode() not in one.body


@pytest.mark.proves("assumed D35-validation", "assumed D35-detail")
def test_the_document_describes_the_refusals_of_the_profile():
    chosen = {"validation_status": "422", "validation_detail": "objects"}
    sandbox = InProcess(build(Settings(profile=parse_profile({"readings": chosen}))))
    described = Described(sandbox.control("GET", "/platform/openapi.json").json())

    body, query, *_ = _malformed(sandbox)

    assert body.status == query.status == 422
    described.check("POST", "/v1/accounts", body)
    described.check("GET", "/v2/terminals", query)
    assert "422" not in json.dumps(described.operations["apikeys.create"]["responses"])
