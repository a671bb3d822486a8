"""Readings of requests and answers: every value of each."""

import json

import pytest

from sandbox.domain.profile import Profile
from tests.driving import fresh
from tests.openapi.described import Described
from tests.support.directory import ACCOUNT

PLAIN_OF_TERMINAL = (
    *("description", "store_number", "bin", "merchant_category_code", "merchant_name"),
)
PLAIN_OF_LOCATION = ("phone", "email", "processor_config_id", "terminal_id")


def _the(record, names):
    return {record[name] for name in names}


@pytest.mark.proves("assumed D35-unset")
def test_a_plain_string_without_a_value_is_empty(sandbox):
    sandbox.choose(unset_strings="as_empty")
    account = sandbox.post("/v2/accounts", ACCOUNT, by="psp").expect(201)
    terminal, location = sandbox.a_terminal(), sandbox.a_location()

    assert account["mcc"] == account["address"]["street_line2"] == ""
    assert account["tax_id"] is None
    assert _the(terminal, PLAIN_OF_TERMINAL) == {""}
    assert (terminal["vid"], terminal["var_sheet"], terminal["deleted_at"]) == (None, None, None)
    assert _the(location, PLAIN_OF_LOCATION) == set(location["address"].values()) == {""}
    assert location["metadata"] is None
    path = f"/v1/locations/{location['id']}"
    assert sandbox.get(path).expect(200) == location
    assert location in sandbox.get("/v1/locations", query="limit=200").expect(200)["locations"]
    (event,) = [one for one in sandbox.messages() if one["event_type"] == "location.created"]
    assert event["body"] == location
    # A sparse event stays sparse.
    sandbox.delete(path)
    assert set(sandbox.messages()[-1]["body"]) == {"id", "account_id"}


@pytest.mark.proves("assumed D35-unset")
def test_empty_strings_are_shown_and_never_stored(sandbox):
    sandbox.choose(unset_strings="as_empty")
    path = f"/v1/locations/{sandbox.a_location()['id']}"
    assert sandbox.put(path, {"phone": "555-0100"}).expect(200)["email"] == ""
    sandbox.sold()
    told = sandbox.messages()

    sandbox.load(sandbox.saved()).expect(200)
    restored = sandbox.messages()
    sandbox.choose(unset_strings="as_null")

    assert [one["body"]["email"] for one in told[:2]] == ["", ""]
    assert told == restored == sandbox.messages()
    assert sandbox.get(path).expect(200)["email"] is None


def _malformed(sandbox):
    """Requests that are malformed in a field, in the query, as a whole, and in the target."""
    return [
        sandbox.post("/v1/accounts", {**ACCOUNT, "name": 7}),
        sandbox.get("/v2/terminals", query="limit=x"),
        sandbox.post("/v1/locations", ["no object"]),
        sandbox.get("/v2/terminals", query="account_id=a&account_id=b"),
    ]


def _breaks_a_rule(sandbox):
    body = {**ACCOUNT, "parent_id": sandbox.account_id("second_merchant")}
    return sandbox.post("/v1/accounts", body)


@pytest.mark.proves("assumed D35-validation")
def test_a_malformed_request_answers_422(sandbox):
    sandbox.choose(validation_status="unprocessable")

    answers = _malformed(sandbox)

    assert [answer.status for answer in answers] == [422] * 4
    assert {answer.json()["error"] for answer in answers} == {"validation_error"}
    assert "name: " in answers[0].json()["detail"]
    # Rules of an operation, and the routes of API keys, stay as they are.
    assert _breaks_a_rule(sandbox).status == 400
    assert sandbox.post("/v5/apikeys", {"name": 7}).status == 400


@pytest.mark.proves("assumed D35-detail")
def test_the_detail_of_a_malformed_request_is_a_list_of_mistakes(sandbox):
    # By default each is a text.
    assert {type(answer.json()["detail"]) for answer in _malformed(sandbox)} == {str}
    sandbox.choose(validation_detail="objects")

    details = [answer.json()["detail"] for answer in _malformed(sandbox)]

    assert isinstance(_breaks_a_rule(sandbox).json()["detail"], str)
    keys = sandbox.post("/v5/apikeys", {"name": 7}).json()
    assert set(keys) == {"error", "message", "details"}
    places = [[one["loc"] for one in detail] for detail in details]
    named = (["body", "name"], ["query", "limit"], ["body"], ["query", "account_id"])
    assert places == [[one] for one in named]
    assert all(set(one) == {"type", "loc", "msg"} for detail in details for one in detail)


@pytest.mark.proves("assumed D35-detail")
def test_a_list_of_mistakes_repeats_no_value_and_is_limited(sandbox):
    sandbox.choose(validation_detail="objects", validation_status="unprocessable")
    secret = "never repeated"

    many = sandbox.post("/v1/accounts", ACCOUNT | {"available_processor_configs": [7] * 150})
    one = sandbox.post("/v1/accounts", ACCOUNT | {"type": secret})

    assert len(many.json()["detail"]) == 50
    assert one.status == 422
    assert secret.encode() not in one.body


@pytest.mark.proves("assumed D35-validation", "assumed D35-detail")
def test_the_document_describes_the_refusals_of_the_profile():
    readings = {"validation_status": "unprocessable", "validation_detail": "objects"}
    sandbox = fresh(profile=Profile(readings=readings))
    described = Described(sandbox.look("/platform/openapi.json"))

    body, query, *_ = _malformed(sandbox)

    assert body.status == query.status == 422
    described.check("POST", "/v1/accounts", body)
    described.check("GET", "/v2/terminals", query)
    assert "422" not in json.dumps(described.operations["apikeys.create"]["responses"])


@pytest.mark.proves("assumed D35-foreign")
def test_a_foreign_account_among_several_is_ignored(sandbox):
    own, foreign = sandbox.account_id("merchant"), sandbox.account_id("other_merchant")
    sale = sandbox.sold()
    sandbox.sold(at="other_merchant", by="psp")

    query = f"account_id={foreign}&account_id={own}"
    # By default it hides all.
    assert sandbox.get("/v2/transactions", query=query).status == 404
    sandbox.choose(foreign_account_filter="ignored")
    answer = sandbox.get("/v2/transactions", query=query)

    listed = answer.expect(200)["transactions"]
    assert [one["transaction_id"] for one in listed] == [sale["transaction_id"]]
    entry = sandbox.journal(answer)
    # Each account that is in reach is explained once.
    assert [one["step"] for one in entry["decisions"]].count("target") == 1
    assert [foreign in note for note in entry["notes"]].count(True) == 1
    for only in (foreign, f"{foreign}&account_id={foreign}", f"{foreign}&account_id=nobody"):
        assert sandbox.get("/v2/transactions", query=f"account_id={only}").status == 404


@pytest.mark.proves("assumed D35-routes")
def test_an_unknown_route_is_a_404_for_keys_only(sandbox):
    sandbox.choose(unknown_routes="key")
    served = {
        ("GET", "/v1/unknown"): 404,
        ("PATCH", "/v1/accounts"): 405,
        ("POST", "/v1/transactions/search"): 405,
    }
    for (method, path), status in served.items():
        assert sandbox.ask(method, path).status == 401
        assert sandbox.ask(method, path, key="revoked").status == 401
        assert sandbox.ask(method, path, key="partner").status == status
    assert sandbox.ask("GET", "/v1/accounts").status == 401


@pytest.mark.proves("assumed D35-offset")
def test_an_expiry_without_an_offset_is_in_utc(sandbox):
    sandbox.choose(expiry_without_offset="utc")
    path = f"/v5/apikeys/{sandbox.key_id('merchant')}"

    answer = sandbox.put(path, {"expires_at": "2027-01-01T00:00:00"}, by="psp")

    assert answer.json()["expires_at"] == "2027-01-01T00:00:00.000Z"
    for text in ("2027-01-01", "2027-13-01T00:00:00", "2027-01-01T00:00:00+", ""):
        assert sandbox.put(path, {"expires_at": text}, by="psp").status == 400
    exact = sandbox.put(path, {"expires_at": "2027-01-01T00:00:00+01:00"}, by="psp").json()
    assert exact["expires_at"] == "2026-12-31T23:00:00.000Z"


@pytest.mark.proves("assumed D35-fields")
def test_an_unknown_field_of_a_key_is_ignored(sandbox):
    sandbox.choose(unknown_key_fields="ignored")
    path = f"/v5/apikeys/{sandbox.key_id('merchant')}"
    before = sandbox.get(path, by="psp").expect(200)["permissions"]

    sandbox.put(path, {"name": "till", "permissions": ["all"]}, by="psp").expect(200)

    after = sandbox.get(path, by="psp").expect(200)
    assert (after["permissions"], after["name"]) == (before, "till")
    # A secret is refused in an unknown field as well.
    stray = {"name": "till", "note": sandbox.key("merchant")}
    assert sandbox.put(path, stray, by="psp").status == 400
