"""Bodies of every wrong kind get a 4xx in the documented shape, and change nothing."""

import json

import pytest

from tests.platform.refusals import BODY_MAX, assert_key_refusal

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
