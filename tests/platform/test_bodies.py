"""Bodies of every wrong kind, at every operation of the platform's document that takes one.

Each answer is held against the document, and a refusal changes nothing.
"""

import json

import pytest

from sandbox.platform import wire
from tests.openapi.asking import Request
from tests.openapi.described import Checked, fresh_checked, usual_documents
from tests.platform.refusals import BODY_MAX, assert_key_refusal

DOCUMENTS = usual_documents()
TAKES_A_BODY = {
    name: one["requestBody"]
    for name, one in DOCUMENTS[0].operations.items()
    if "requestBody" in one
}


@pytest.fixture
def sandbox() -> Checked:
    return fresh_checked()


UNKNOWN = b'{"a":0' + b"".join(b',"%d":0' % n for n in range(5_000)) + b"}"
EMPTY = {"empty": b"", "only whitespace": b" \n\t"}
BROKEN = {
    "NUL inside": b'{"name":\x00"x"}',
    "invalid UTF-8": b'{"name":"\xff\xfe"}',
    "array": b'[{"name":"x"}]',
    "null": b"null",
    "duplicate key": b'{"name":"x","name":"y"}',
    "duplicate key by escape": b'{"name":"x","n\\u0061me":"y"}',
    "duplicate key below": b'{"name":"x","permissions":[{"a":1,"a":2}]}',
    "1e999": b'{"name":"x","amount":1e999}',
    "a number of 5,000 digits": b'{"amount":' + b"9" * 5_000 + b"}",
    "lone high surrogate": b'{"name":"\\ud800"}',
    "10,000 objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "250 arrays in a field": b'{"name":' + b"[" * 250 + b"]" * 250 + b"}",
    "cut off": b'{"name":"x","permissions":["al',
    "control character in a string": b'{"name":"a\nb"}',
    "something behind it": b'{"name":"x"} x',
}


@pytest.mark.proves("spec 7-400")
@pytest.mark.parametrize("name", TAKES_A_BODY)
def test_a_body_of_wrong_form_is_refused_and_changes_nothing(sandbox, name):
    request = Request(sandbox, name)
    bodies = BROKEN | (EMPTY if TAKES_A_BODY[name].get("required") else {})
    if name.startswith("apikeys."):
        bodies = bodies | {"5,000 unknown fields": UNKNOWN}
    before = sandbox.state()

    for kind, body in bodies.items():
        answer = request.send(json_body=..., body=body)
        assert answer.error() == (400, "validation_error"), kind
        assert sandbox.state() == before, kind


NUMBERS = (b"NaN", b"-Infinity", b"1e999", b"-12.5E+400", b"9" * 400 + b".0")


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("number", NUMBERS)
def test_nan_and_infinity_are_refused_and_the_journal_stays_json(sandbox, number):
    body = b'{"amount":1000,"terminal_id":"x","breakdown":{"subtotal": %b}}' % number

    answer = sandbox.ask("POST", "/v3/payment", key="merchant", body=body)

    assert answer.error() == (400, "validation_error")
    journal = sandbox.manage("GET", "/requests").body
    (entry,) = json.loads(journal, parse_constant=refuse_constant)["requests"]
    assert '"amount":1000' in entry["request"]


def test_a_repeated_key_is_found_behind_very_many_others():
    # To compare each with all the others would take half an hour.
    with pytest.raises(wire.BadInput, match='"z" occurs more than once'):
        wire.parse_object(b'{%b"z":0,"z":0}' % b"".join(b'"%d":0,' % n for n in range(300_000)))


# --- what a refusal says, and sizes -----------------------------------------------------------

WRONG_TYPES = {
    "POST /v3/payment": (
        {"amount": 1000, "breakdown": [], "additional_details": "x"},
        "breakdown: input should be an object; additional_details: input should be an object",
    ),
    "POST /v5/apikeys": (
        {"name": "x", "permissions": "all"},
        "permissions: input should be a valid array",
    ),
    "POST /v1/accounts": (
        {"type": "merchant", "name": "x", "description": "x", "address": {}, "tax_rate": "3"},
        "The request is not valid. tax_rate: must be a number",
    ),
    "PUT /_sandbox/worlds/default/clock": (
        {"rate": 10**400},
        "rate: input should be a finite number",
    ),
    "PUT /_sandbox/worlds/default/readings": (
        {str(number): 1 for number in range(1_001)},
        "the body has 1,001 mistakes",
    ),
    "POST /_sandbox/worlds": (
        {"clock": 5, "switches": []},
        "clock: input should be an object; switches: input should be an object",
    ),
}


def test_a_refusal_names_types_in_the_words_of_json(sandbox):
    for address, (body, mistakes) in WRONG_TYPES.items():
        answer = sandbox.ask(*address.split(), key="merchant", json_body=body)
        assert answer.status == 400
        assert f'{mistakes}"' in answer.body.decode()


@pytest.mark.proves("assumed D25")
def test_a_body_of_more_than_64_kib_is_too_large_and_creates_nothing(sandbox):
    body = b'{"permissions":["payments:read"],"name":"x"}'.ljust(BODY_MAX)
    assert sandbox.ask("POST", "/v5/apikeys", key="merchant", body=body).status == 201

    with sandbox.unchanged():
        answer = sandbox.ask("POST", "/v5/apikeys", key="merchant", body=body + b" ")

        assert_key_refusal(answer, 413, "body_too_large")
