"""Whatever is sent to a row of the directory that takes a body: a 4xx or a 2xx, never a 500."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.domain.profile import Profile
from sandbox.platform.routes import OPERATIONS
from tests.directory.making import (
    a_credential,
    account_id,
    location_id,
    terminal_body,
    terminal_id,
)
from tests.driving import InProcess
from tests.platform.minting import sandbox_with
from tests.properties import examples

ROWS = {
    row.name: row
    for row in OPERATIONS
    if row.run is not None
    and row.method in ("POST", "PUT")
    and row.name.startswith(("accounts.", "terminals.", "locations.", "credentials."))
}

FIELDS = [
    *("type", "name", "description", "address", "parent_id", "mcc", "tax_id", "status"),
    *("available_processor_configs", "surcharge_rate", "tax_rate", "surcharge_basis", "tax_basis"),
    *("surcharge_confirmation_required", "organization_id", "admin_email", "account_id", "mid"),
    *("processor_config_id", "terminal_name", "tid", "store_number", "bin", "vid", "var_sheet"),
    *("agent_bank_number", "merchant_category_code", "terminal_capability", "currency_code"),
    *("country_code", "merchant_name", "phone", "email", "currency", "terminal_id", "metadata"),
    *("code", "pin", "is_active", "id", "api_key", "\u0000", "x" * 300),
]

SHEET = ["acquirer_bin", "merchant_number", "terminal_number", "processing_merchant_id"]

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.sampled_from([0, 1, 99, 100, 101, 350, 10_000, 10_001, 2**63, -(2**63)])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=14)
    | st.sampled_from(
        [
            *("merchant", "partner", "admin", "psp", "active", "blocked", "total", "subtotal"),
            *("cfg-tsys-001", "5812", "482913750264", "193847", "svc_live_x", "\u0130", "\ud7ff"),
        ]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*SHEET, "city", "zip"]) | st.text(max_size=5), inner)
    ),
    max_leaves=8,
)
BODIES = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=8) | VALUES


def ask(sandbox: InProcess, name: str, sent: Any) -> Any:
    """The row's request on a record that exists, by the partner, with this body."""
    row = ROWS[name]
    path = row.path
    if "{credential_id}" in path:
        path = path.replace("{credential_id}", a_credential(sandbox)["id"])
    path = path.replace("{account_id}", account_id(sandbox, "merchant"))
    path = path.replace("{terminal_id}", terminal_id(sandbox, "merchant"))
    path = path.replace("{location_id}", location_id(sandbox, "merchant"))
    before = sandbox.state()
    answer = sandbox.ask(row.method, path, key="partner", body=sent)
    return answer, before


LEAST = {
    "accounts.create": {"type": "merchant", "name": "x", "description": "x", "address": {}},
    "accounts.create_v2": {"type": "merchant", "name": "x", "description": "x", "address": {}},
    "terminals.create": {},
    "locations.create": {"name": "x"},
}


@pytest.mark.proves("assumed 0.5-http")
@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=examples(15), deadline=None)
@given(body=BODIES, is_based=st.booleans())
def test_any_json_gets_a_2xx_or_a_4xx_and_a_4xx_changes_nothing(name, body, is_based):
    sandbox = sandbox_with(Profile())
    if is_based and isinstance(body, dict):
        least = LEAST.get(name, {})
        if name == "terminals.create":
            least = terminal_body(sandbox)
        if name == "locations.create":
            least = least | {"account_id": account_id(sandbox, "merchant")}
        body = least | body

    answer, before = ask(sandbox, name, json.dumps(body).encode())

    assert 200 <= answer.status < 300 or 400 <= answer.status < 500, answer.body
    if answer.status >= 400:
        assert set(answer.json()) == {"detail", "error"}
        assert sandbox.state() == before
    else:
        assert json.loads(answer.body or b"null") is None or answer.json()["created_at"]


BROKEN = {
    "nothing": b"",
    "no JSON": b"{",
    "null": b"null",
    "an array": b'[{"name":"x"}]',
    "a string": b'"name"',
    "a number": b"42",
    "a key twice": b'{"name":"x","name":"y"}',
    "NaN": b'{"surcharge_rate":NaN}',
    "Infinity": b'{"tax_rate":-Infinity}',
    "1e999": b'{"tax_rate":1e999,"pin":1e999}',
    "invalid UTF-8": b'{"name":"\xff"}',
    "a lone surrogate": b'{"name":"\\ud800"}',
    "deep": b'{"name":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "long digits": b'{"surcharge_rate":' + b"9" * 5_000 + b"}",
    "something behind it": b'{"name":"x"} x',
}

WITH_BODY = [name for name, row in ROWS.items() if row.body is not None]


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("name", WITH_BODY)
def test_a_body_of_wrong_form_is_refused_and_changes_nothing(sandbox, name, body):
    answer, before = ask(sandbox, name, body)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert sandbox.state() == before


@pytest.mark.proves("assumed C7")
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [(b"content-type", b"text/plain", 415), (b"accept", b"text/html", 406)],
)
@pytest.mark.parametrize("name", WITH_BODY)
def test_headers_that_exclude_json_are_refused_and_nothing_changes(
    sandbox, name, header, value, status
):
    id = account_id(sandbox, "merchant")
    row = ROWS[name]
    headers = {b"content-type": b"application/json", b"accept": b"application/json"}
    headers |= {header: value, b"x-service-apikey": sandbox.key("partner").encode()}
    path = row.path.replace("{account_id}", id)
    path = path.replace("{terminal_id}", terminal_id(sandbox, "merchant"))
    path = path.replace("{location_id}", location_id(sandbox, "merchant"))
    if "{credential_id}" in path:
        path = path.replace("{credential_id}", a_credential(sandbox)["id"])
    body = b'{"account_id":"%s","name":"x","pin":"193847"}' % id.encode()
    before = sandbox.state()

    answer = sandbox.ask(row.method, path, headers=list(headers.items()), body=body)

    assert answer.status == status
    assert sandbox.state() == before
