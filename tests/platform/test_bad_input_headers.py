"""Headers of every wrong kind: content types, Accept, API keys, and what strict_headers changes."""

import pytest

from sandbox.domain.profile import Errors, Profile
from tests.driving import InProcess
from tests.platform.refusals import assert_key_refusal, fresh
from tests.profiles import BRANDED

BODY = b'{"name":"x","permissions":["payments:read"]}'


def _headers(sandbox: InProcess, **more: str | None) -> list[tuple[bytes, bytes]]:
    """The usual headers, with these in place of the usual ones; None leaves one out."""
    wanted = {
        "accept": "application/json",
        "content-type": "application/json",
        "x-service-apikey": sandbox.key("merchant"),
    }
    wanted |= {name.replace("_", "-"): value for name, value in more.items()}
    return [
        (name.encode(), value.encode("latin-1"))
        for name, value in wanted.items()
        if value is not None
    ]


# --- Content-Type -----------------------------------------------------------------------------


@pytest.mark.proves("spec 5-content-type")
@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "APPLICATION/JSON",
        "Application/Json ; x=y",
        None,
    ],
)
def test_a_body_is_read_when_it_is_called_json_or_nothing_at_all(sandbox, content_type):
    headers = _headers(sandbox, content_type=content_type)

    answer = sandbox.ask("POST", "/v5/apikeys", headers=headers, body=BODY)

    assert answer.status == 201


@pytest.mark.proves("spec 5-content-type", "assumed C7")
@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/problem+json",
        "application/x-json",
        "application",
        "json",
        "*/*",
        "application/*",
        "application/json, text/plain",
        ";",
        "\xff\xfe",
    ],
)
def test_a_body_under_another_content_type_is_a_415(sandbox, method, content_type):
    before = sandbox.state()
    headers = _headers(sandbox, content_type=content_type)
    path = "/v5/apikeys" + ("" if method == "POST" else "/" + sandbox.key_id("merchant_read_only"))

    answer = sandbox.ask(method, path, headers=headers, body=b'{"name":"x"}')

    assert_key_refusal(answer, 415, "unsupported_media_type")
    assert sandbox.state() == before


# --- Accept -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 5-accept", "assumed C7")
@pytest.mark.parametrize(
    "accept",
    [
        None,
        "*/*",
        "application/*",
        "application/json",
        "APPLICATION/JSON",
        "application/json;q=0.001",
        "application/json; q=0.5",
        "application/json;charset=utf-8",
        "text/html, application/json",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "text/html;q=1,*/*;q=0.1",
        "*/*;q=0, application/json",
        "application/*;q=0, application/json;q=0.1",
        "application/json, */*;q=0",
        "application/json;q=1.0",
    ],
)
def test_an_accept_header_that_allows_json_is_served(sandbox, accept):
    answer = sandbox.ask("GET", "/v5/apikeys", headers=_headers(sandbox, accept=accept))

    assert answer.status == 200


EXCLUDES_JSON = [
    "text/html",
    "application/xml",
    "application/problem+json",
    "image/*",
    "application/json;q=0",
    "application/json; q=0.0",
    "application/json;q=0.000",
    "application/json;q=0, */*",
    "application/json;q=0, application/*;q=1",
    "*/*;q=0",
    "application/*;q=0, */*;q=1",
    "json",
    "\xff",
]


@pytest.mark.proves("spec 5-accept", "assumed C7")
@pytest.mark.parametrize("accept", EXCLUDES_JSON)
def test_an_accept_header_that_excludes_json_is_a_406(sandbox, accept):
    headers = _headers(sandbox, accept=accept)

    answer = sandbox.ask("GET", "/v5/apikeys", headers=headers)

    assert_key_refusal(answer, 406, "not_acceptable")


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_change_whose_answer_could_not_be_read_changes_nothing(sandbox, method):
    before = sandbox.state()
    path = "/v5/apikeys" + ("" if method == "POST" else "/" + sandbox.key_id("merchant_read_only"))

    answer = sandbox.ask(method, path, headers=_headers(sandbox, accept="text/html"), body=BODY)

    assert_key_refusal(answer, 406, "not_acceptable")
    assert sandbox.state() == before


@pytest.mark.parametrize("header", ["accept", "content_type"])
def test_headers_are_looked_at_only_after_the_target(sandbox, header):
    headers = _headers(sandbox, **{header: "text/html"})

    answer = sandbox.ask("PUT", "/v5/apikeys/nowhere", headers=headers, body=BODY)

    assert_key_refusal(answer, 404, "not_found")


def test_several_accept_headers_count_as_one_list(sandbox):
    """RFC 9110 5.3: a list-valued header may come in several lines."""
    headers = [*_headers(sandbox, accept="text/html"), (b"accept", b"application/json")]

    answer = sandbox.ask("GET", "/v5/apikeys", headers=headers)

    assert answer.status == 200


# --- missing headers --------------------------------------------------------------------------


@pytest.mark.proves("assumed C7, Q30")
def test_missing_headers_are_forgiven_and_noted_in_the_journal(sandbox):
    headers = _headers(sandbox, accept=None, content_type=None)

    answer = sandbox.ask("POST", "/v5/apikeys", headers=headers, body=BODY)

    assert answer.status == 201
    notes = " ".join(sandbox.journal(answer)["notes"])
    assert "Accept" in notes
    assert "Content-Type" in notes


@pytest.mark.proves("assumed C7, Q30")
@pytest.mark.parametrize("name", ["accept", "content_type"])
def test_with_strict_headers_a_missing_header_is_a_400(sandbox, name):
    switched = sandbox.control("PUT", "/worlds/default/switches", {"strict_headers": True})
    before = sandbox.state()
    headers = _headers(sandbox, **{name: None})

    answer = sandbox.ask("POST", "/v5/apikeys", headers=headers, body=BODY)

    assert switched.status == 200
    assert_key_refusal(answer, 400, "validation_error")
    assert sandbox.state() == before


def test_with_strict_headers_complete_requests_are_served_and_the_switch_goes_back(sandbox):
    sandbox.control("PUT", "/worlds/default/switches", {"strict_headers": True})
    complete = sandbox.ask("POST", "/v5/apikeys", headers=_headers(sandbox), body=BODY)
    no_accept = _headers(sandbox, accept=None)

    strict = sandbox.ask("GET", "/v5/apikeys", headers=no_accept)
    sandbox.control("PUT", "/worlds/default/switches", {"strict_headers": False})
    lenient = sandbox.ask("GET", "/v5/apikeys", headers=no_accept)

    assert (complete.status, strict.status, lenient.status) == (201, 400, 200)


def test_with_strict_headers_a_request_without_a_body_needs_no_content_type(sandbox):
    sandbox.control("PUT", "/worlds/default/switches", {"strict_headers": True})

    answer = sandbox.ask("GET", "/v5/apikeys", headers=_headers(sandbox, content_type=None))

    assert answer.status == 200


# --- API keys ---------------------------------------------------------------------------------


@pytest.mark.proves("spec 5-apikey", "assumed 0.4-bearer")
@pytest.mark.parametrize(
    "name", ["authorization", "x-api-key", "x-service-apikey-2", "x-service_apikey", "apikey"]
)
def test_a_key_in_any_other_header_is_not_a_key(sandbox, name):
    headers = [(name.encode(), sandbox.key("merchant").encode())]

    answer = sandbox.ask("GET", "/v5/apikeys", headers=headers)

    assert_key_refusal(answer, 401, "authentication_failed")


# --- shapes of other profiles -----------------------------------------------------------------


@pytest.mark.proves("spec 7-other")
def test_a_profile_of_detail_alone_has_one_string_elsewhere_and_three_on_keys():
    sandbox = fresh(profile=BRANDED)

    elsewhere = sandbox.ask("GET", "/v1/accounts/nowhere", key="merchant")
    on_keys = sandbox.ask("GET", "/v5/apikeys/nowhere", key="merchant")

    assert (elsewhere.status, list(elsewhere.json())) == (404, ["detail"])
    assert_key_refusal(on_keys, 404, "not_found")


@pytest.mark.proves("spec 7-other")
def test_a_profile_of_three_fields_has_them_everywhere():
    sandbox = fresh(profile=Profile(errors=Errors(shape="error_message_details")))

    answers = [
        sandbox.ask("GET", "/v1/accounts/nowhere", key="merchant"),
        sandbox.ask("GET", "/nowhere"),
        sandbox.ask("GET", "/v5/apikeys/nowhere", key="merchant"),
    ]

    for answer in answers:
        assert_key_refusal(answer, 404, "not_found")


@pytest.mark.proves("spec 5-apikey")
def test_under_another_profile_the_neutral_header_is_not_a_key():
    sandbox = fresh(profile=BRANDED)
    key = sandbox.key("merchant").encode()

    neutral = sandbox.ask("GET", "/v5/apikeys", headers=[(b"x-service-apikey", key)])
    branded = sandbox.ask("GET", "/v5/apikeys", headers=[(b"x-acme-token", key)])

    assert_key_refusal(neutral, 401, "authentication_failed")
    assert branded.status == 200
