"""Bodies of every wrong kind get a 4xx in the documented shape, and change nothing."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.driving import InProcess
from tests.platform.refusals import BODY_MAX, assert_key_refusal, fresh
from tests.properties import examples

WRONG_BODIES = {
    "empty": b"",
    "only whitespace": b" \n\t",
    "NUL": b"\x00",
    "NUL inside": b'{"name":\x00"x"}',
    "UTF-16": '{"name":"x","permissions":["all"]}'.encode("utf-16"),
    "invalid UTF-8": b'{"name":"\xff\xfe","permissions":["all"]}',
    "array": b'[{"name":"x","permissions":["all"]}]',
    "string": b'"name"',
    "number": b"42",
    "null": b"null",
    "true": b"true",
    "duplicate key": b'{"name":"x","name":"y","permissions":["all"]}',
    "duplicate key by escape": b'{"name":"x","n\\u0061me":"y","permissions":["all"]}',
    "duplicate key below": b'{"name":"x","permissions":[{"a":1,"a":2}]}',
    "NaN": b'{"name":"x","permissions":["all"],"expires_at":NaN}',
    "Infinity": b'{"name":"x","permissions":["all"],"expires_at":Infinity}',
    "-Infinity": b'{"name":"x","permissions":["all"],"expires_at":-Infinity}',
    "1e999": b'{"name":"x","permissions":["all"],"expires_at":1e999}',
    "a number of 5,000 digits": b'{"name":' + b"9" * 5_000 + b',"permissions":["all"]}',
    "a number of 50,000 digits": b'{"name":' + b"9" * 50_000 + b"}",
    "lone high surrogate": b'{"name":"\\ud800","permissions":["all"]}',
    "lone low surrogate": b'{"name":"\\udc00","permissions":["all"]}',
    "surrogates in wrong order": b'{"name":"\\udc00\\ud800","permissions":["all"]}',
    "10,000 arrays": b"[" * 10_000 + b"]" * 10_000,
    "10,000 objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "10,000 arrays in a field": b'{"name":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "250 arrays in a field": b'{"name":' + b"[" * 250 + b"]" * 250 + b"}",
    "control character in a string": b'{"name":"a\nb","permissions":["all"]}',
    "cut off": b'{"name":"x","permissions":["al',
    "something behind it": b'{"name":"x","permissions":["all"]} x',
    "two objects": b'{"name":"x","permissions":["all"]}{}',
    "single quotes": b"{'name':'x','permissions':['all']}",
    "trailing comma": b'{"name":"x","permissions":["all"],}',
    "comment": b'{"name":"x","permissions":["all"]/* */}',
    "bad escape": b'{"name":"\\x41","permissions":["all"]}',
    "a form": b"name=x&permissions=all",
    "5,000 unknown fields": b'{"a":0' + b"".join(b',"%d":0' % n for n in range(5_000)) + b"}",
}


@pytest.mark.proves("spec 7-400")
@pytest.mark.parametrize("body", WRONG_BODIES.values(), ids=WRONG_BODIES)
def test_a_creation_with_a_body_of_wrong_form_is_refused_and_creates_nothing(sandbox, body):
    before = sandbox.state()

    answer = sandbox.ask("POST", "/v5/apikeys", key="merchant", body=body)

    assert_key_refusal(answer, 400, "validation_error")
    assert sandbox.state() == before


@pytest.mark.proves("spec 7-400")
@pytest.mark.parametrize("body", WRONG_BODIES.values(), ids=WRONG_BODIES)
def test_an_update_with_a_body_of_wrong_form_is_refused_and_changes_nothing(sandbox, body):
    before = sandbox.state()

    answer = sandbox.ask("PUT", _own_key(sandbox), key="merchant", body=body)

    assert_key_refusal(answer, 400, "validation_error")
    assert sandbox.state() == before


WRONG_TYPES = {
    "POST /v3/payment": (
        {"amount": 1000, "breakdown": [], "additional_details": "x"},
        "breakdown: input should be an object; additional_details: input should be an object",
    ),
    "POST /v5/apikeys": (
        {"name": "x", "permissions": "all"},
        "permissions: input should be a valid array",
    ),
    "PUT /_sandbox/worlds/default/clock": (
        {"rate": 10**400},
        "rate: input should be a finite number",
    ),
    "POST /_sandbox/worlds": (
        {"clock": 5, "switches": []},
        "clock: input should be an object; switches: input should be an object",
    ),
}


@pytest.mark.parametrize("address", WRONG_TYPES)
def test_a_refusal_names_types_in_the_words_of_json(sandbox, address):
    method, path = address.split()
    body, mistakes = WRONG_TYPES[address]

    answer = sandbox.ask(method, path, key="merchant", json_body=body)

    assert answer.status == 400
    assert f'{mistakes}"' in answer.body.decode()


def test_a_refusal_never_repeats_a_value_of_megabytes(sandbox):
    body = json.dumps({"x" * 10_000: 1, "name": "y" * 10_000, "permissions": ["z" * 10_000]})

    answer = sandbox.ask("POST", "/v5/apikeys", key="merchant", body=body.encode())

    assert_key_refusal(answer, 400, "validation_error")
    assert len(answer.body) < 2_000


# --- size -------------------------------------------------------------------------------------


def _creation_of_size(size: int) -> bytes:
    body = b'{"permissions":["payments:read"],"name":"%b"}'
    return body % (b"n" * (size - len(body) + 2))


def test_a_body_of_exactly_64_kib_is_read(sandbox):
    answer = sandbox.ask("POST", "/v5/apikeys", key="merchant", body=_creation_of_size(BODY_MAX))

    assert answer.status == 201


@pytest.mark.proves("assumed D25")
def test_a_body_one_byte_larger_is_too_large_and_creates_nothing(sandbox):
    before = sandbox.state()

    answer = sandbox.ask(
        "POST", "/v5/apikeys", key="merchant", body=_creation_of_size(BODY_MAX + 1)
    )

    assert_key_refusal(answer, 413, "body_too_large")
    assert sandbox.state() == before


def test_an_update_with_a_body_that_is_too_large_changes_nothing(sandbox):
    before = sandbox.state()
    body = b'{"status":"revoked"}' + b" " * BODY_MAX

    answer = sandbox.ask("PUT", _own_key(sandbox), key="merchant", body=body)

    assert_key_refusal(answer, 413, "body_too_large")
    assert sandbox.state() == before


# --- random -----------------------------------------------------------------------------------

ANY_TEXT = st.text(st.characters())  # lone surrogates too: JSON can spell them
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
NO_OBJECT = JSON.filter(lambda value: not isinstance(value, dict))
NO_NULL = JSON.filter(lambda value: value is not None)
NO_STRING = NO_NULL.filter(lambda value: not isinstance(value, str))
BYTES = st.binary(max_size=200).filter(lambda body: body.strip() != b"{}")
UNKNOWN_FIELDS = st.dictionaries(ANY_TEXT.map("x-".__add__), JSON, min_size=1, max_size=3)

WRONG_CREATIONS = (
    UNKNOWN_FIELDS
    | st.builds(lambda some, rest: {"name": "x"} | some | rest, UNKNOWN_FIELDS, UNKNOWN_FIELDS)
    | st.fixed_dictionaries({"name": NO_STRING, "permissions": st.just(["payments:read"])})
    | st.fixed_dictionaries({"name": st.just("x"), "permissions": JSON.map(lambda one: [one, 0])})
    | st.fixed_dictionaries(
        {
            "name": st.just("x"),
            "permissions": st.just(["payments:read"]),
            "expires_at": NO_NULL,
        }
    )
)
WRONG_UPDATES = (
    UNKNOWN_FIELDS
    | st.builds(lambda some: {"status": "revoked"} | some, UNKNOWN_FIELDS)
    | st.fixed_dictionaries({"name": NO_STRING, "status": st.just("revoked")})
    | st.fixed_dictionaries(
        {"name": st.just("x"), "status": JSON.filter(lambda it: it is not None)}
    )
    | st.fixed_dictionaries(
        {"name": st.just("x"), "expires_at": JSON.filter(lambda it: it is not None)}
    )
)


def _sent(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@settings(max_examples=examples(150), deadline=None)
@given(body=(NO_OBJECT | BYTES | WRONG_CREATIONS).map(_sent))
def test_no_random_body_creates_a_key(body):
    sandbox = fresh()
    before = sandbox.state()

    answer = sandbox.ask("POST", "/v5/apikeys", key="merchant", body=body)

    assert_key_refusal(answer, 400, "validation_error")
    assert sandbox.state() == before


@settings(max_examples=examples(150), deadline=None)
@given(body=(NO_OBJECT | BYTES | WRONG_UPDATES).map(_sent))
def test_no_random_body_changes_a_key(body):
    sandbox = fresh()
    before = sandbox.state()

    answer = sandbox.ask("PUT", _own_key(sandbox), key="merchant", body=body)

    assert_key_refusal(answer, 400, "validation_error")
    assert sandbox.state() == before


def _own_key(sandbox: InProcess) -> str:
    return f"/v5/apikeys/{sandbox.key_id('merchant_read_only')}"
