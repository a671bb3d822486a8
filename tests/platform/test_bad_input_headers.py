"""Headers of every wrong kind: content types, Accept, API keys, and what strict_headers changes."""

import pytest

from tests.driving import InProcess, fresh
from tests.platform.refusals import assert_key_refusal
from tests.profiles import BRANDED

BODY = b'{"name":"x","permissions":["payments:read"]}'
KEYS = "/v5/apikeys"


def headers_of(sandbox: InProcess, **more: str | None) -> list[tuple[bytes, bytes]]:
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


def changes(sandbox: InProcess) -> list[tuple[str, str]]:
    """The operations of keys that take a body."""
    return [("POST", KEYS), ("PUT", f"{KEYS}/{sandbox.key_id('merchant_read_only')}")]


JSON_TYPES = [
    *("application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8"),
    *("APPLICATION/JSON", "Application/Json ; x=y", None),
]
OTHER_TYPES = [
    *("text/plain", "text/json", "application/x-www-form-urlencoded"),
    *("multipart/form-data; boundary=x", "application/jsonp", "application/problem+json"),
    *("application/x-json", "application", "json", "*/*", "application/*"),
    *("application/json, text/plain", ";", "\xff\xfe"),
]


@pytest.mark.proves("spec 5-content-type", "assumed C7")
def test_a_body_is_read_as_json_or_without_a_type_and_is_otherwise_a_415(sandbox):
    for name in JSON_TYPES:
        headers = headers_of(sandbox, content_type=name)
        assert sandbox.ask("POST", KEYS, headers=headers, body=BODY).status == 201, name

    with sandbox.unchanged():
        for name in OTHER_TYPES:
            headers = headers_of(sandbox, content_type=name)
            for method, path in changes(sandbox):
                answer = sandbox.ask(method, path, headers=headers, body=b'{"name":"x"}')
                assert_key_refusal(answer, 415, "unsupported_media_type")


ALLOWS_JSON = [
    *(None, "*/*", "*", "application/*", "application/json", "APPLICATION/JSON"),
    *("application/json;q=0.001", "application/json; q=0.5", "application/json;charset=utf-8"),
    *("text/html, application/json", "text/html;q=1,*/*;q=0.1", "*/*;q=0, application/json"),
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    *("application/*;q=0, application/json;q=0.1", "application/json, */*;q=0"),
    *("application/json;q=1.0", "*/*;q=0, application/*"),
]
EXCLUDES_JSON = [
    *("text/html", "application/xml", "application/problem+json", "image/*", "json", "\xff"),
    *("application/json;q=0", "application/json; q=0.0", "application/json;q=0.000"),
    *("application/json;q=0, */*", "application/json;q=0, application/*;q=1", "*/*;q=0"),
    "application/*;q=0, */*;q=1",
]


@pytest.mark.proves("spec 5-accept", "assumed C7")
def test_an_accept_header_that_allows_json_is_served_and_any_other_is_a_406(sandbox):
    for accept in ALLOWS_JSON:
        answer = sandbox.ask("GET", KEYS, headers=headers_of(sandbox, accept=accept))
        assert answer.status == 200, accept
    # RFC 9110, 5.3: a list may come in several lines.
    lines = [*headers_of(sandbox, accept="text/html"), (b"accept", b"application/json")]
    assert sandbox.ask("GET", KEYS, headers=lines).status == 200

    with sandbox.unchanged():
        for accept in EXCLUDES_JSON:
            headers = headers_of(sandbox, accept=accept)
            assert_key_refusal(sandbox.ask("GET", KEYS, headers=headers), 406, "not_acceptable")
        for method, path in [*changes(sandbox), ("DELETE", changes(sandbox)[1][1])]:
            answer = sandbox.ask(method, path, headers=headers, body=BODY)
            assert_key_refusal(answer, 406, "not_acceptable")


def test_headers_are_looked_at_only_after_the_target(sandbox):
    for header in ("accept", "content_type"):
        headers = headers_of(sandbox, **{header: "text/html"})
        answer = sandbox.ask("PUT", f"{KEYS}/nowhere", headers=headers, body=BODY)
        assert_key_refusal(answer, 404, "not_found")


@pytest.mark.proves("assumed C7, Q30, D35-headers")
def test_missing_headers_are_noted_in_the_journal_or_refused_by_strict_headers(sandbox):
    bare = headers_of(sandbox, accept=None, content_type=None)
    forgiven = sandbox.ask("POST", KEYS, headers=bare, body=BODY)
    notes = " ".join(sandbox.journal(forgiven)["notes"])
    assert forgiven.status == 201
    assert ("Accept" in notes, "Content-Type" in notes) == (True, True)

    sandbox.set_switch("strict_headers", True)

    with sandbox.unchanged():
        for name in ("accept", "content_type"):
            headers = headers_of(sandbox, **{name: None})
            answer = sandbox.ask("POST", KEYS, headers=headers, body=BODY)
            assert_key_refusal(answer, 400, "validation_error")
    # Without a body there is no type of it.
    assert sandbox.ask("GET", KEYS, headers=headers_of(sandbox, content_type=None)).status == 200
    assert sandbox.ask("POST", KEYS, headers=headers_of(sandbox), body=BODY).status == 201
    sandbox.set_switch("strict_headers", False)
    assert sandbox.ask("GET", KEYS, headers=headers_of(sandbox, accept=None)).status == 200


# --- API keys and errors of other profiles ----------------------------------------------------


@pytest.mark.proves("spec 5-apikey, 7-other")
def test_a_profile_names_the_header_of_the_key_and_the_fields_of_errors_but_on_keys():
    branded = fresh(profile=BRANDED)
    elsewhere = branded.get("/v1/accounts/nowhere", by="merchant")

    assert (elsewhere.status, list(elsewhere.json())) == (404, ["detail"])
    assert_key_refusal(branded.get(f"{KEYS}/nowhere", by="merchant"), 404, "not_found")
    neutral = [(b"x-service-apikey", branded.key("merchant").encode())]
    assert branded.ask("GET", KEYS, headers=neutral).status == 401
