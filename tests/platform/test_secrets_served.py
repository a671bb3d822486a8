"""What a server writes while it is asked, with a line per request: never a part of a key."""

import json
from typing import Any

import pytest

from tests.conftest import NOW
from tests.driving import Served, serving
from tests.platform.secret_texts import PRODUCTION, SUPPLIED, escaped, secret_of


def _ask_with_keys_everywhere(server: Served) -> list[str]:
    """Requests with a key in every place; the keys that were used."""
    merchant, legacy = server.key("merchant"), server.key("legacy")
    create = {"name": "minted", "permissions": ["all"]}
    supplied = create | {"always_retrievable": True, "key": SUPPLIED}
    minted = server.ask("POST", "/v5/apikeys", key="merchant", json=create).json()
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/v5/apikeys", {"json": supplied}),
        ("GET", f"/v5/apikeys/{minted['id']}", {}),
    ]
    for key in (merchant, legacy, minted["key"], SUPPLIED, PRODUCTION):
        spelt = escaped(key)
        asked += [
            ("GET", "/v5/apikeys", {"key": key}),
            ("GET", "/v5/apikeys", {"headers": {"authorization": f"Bearer {key}"}}),
            ("GET", f"/v5/apikeys/{key}", {}),
            ("GET", f"/v5/apikeys/{key.replace('_', '%5F')}", {}),
            ("GET", f"/nowhere/{key}", {}),
            ("GET", f"/v5/apikeys?account_id={key}", {}),
            ("GET", f"/v5/apikeys?{key}", {}),
            ("PUT", f"/v5/apikeys/{key}", {"json": {"name": key}}),
            ("POST", "/v5/apikeys", {"json": create | {"name": key}}),
            ("POST", "/v5/apikeys", {"json": create | {"permissions": [key]}}),
            ("POST", "/v5/apikeys", {"json": create | {"permissions": [f"\n{key}"]}}),
            ("POST", "/v5/apikeys", {"content": f'{{"{spelt}":"{spelt}"}}'}),
            ("POST", "/v5/apikeys", {"content": f"{key} is no JSON"}),
        ]
    for method, path, more in asked:
        answer = server.ask(method, path, **({"key": "merchant"} | more))
        assert answer.status_code < 500
    return [merchant, legacy, minted["key"], SUPPLIED, PRODUCTION]


@pytest.fixture(scope="module")
def written() -> tuple[list[str], str, str]:
    """The keys that were sent, and all that the server wrote after it said how to use it."""
    with serving("--clock", NOW, "--log-requests") as server:
        keys = _ask_with_keys_everywhere(server)
        server.process.terminate()
        out, err = server.process.communicate(timeout=10)
    return keys, out, err


def test_a_line_is_written_per_request_and_each_is_json(written):
    _, out, err = written

    lines = [json.loads(line) for line in (out + err).splitlines()]

    requests = [line["message"] for line in lines if line["logger"] == "sandbox.requests"]
    assert len(requests) == 68
    assert requests[0].startswith("POST /v5/apikeys 201 req_")


@pytest.mark.proves("spec 5.3")
def test_no_part_of_a_secret_is_written(written):
    keys, out, err = written

    leaked = [
        key.rpartition("_")[0]
        for key in keys
        for part in (secret_of(key), secret_of(key)[:10], secret_of(key)[-10:])
        if part in out + err
    ]

    assert leaked == []


def test_a_production_key_is_warned_of_without_it(written):
    _, _, err = written

    lines = [json.loads(line) for line in err.splitlines()]

    warnings = [line["message"] for line in lines if line["level"] == "warning"]
    assert any("a production key was sent to a sandbox" in warning for warning in warnings)
    assert "svc_live" not in err
