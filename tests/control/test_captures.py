"""A world captured in one document, to be read elsewhere."""

import gzip
import json
from typing import Any

import pytest

from tests.driving import InProcess
from tests.support.payments import act, paid_id
from tests.webhooks.calling import add


def capture(sandbox: InProcess, world: str = "default") -> dict[str, Any]:
    answer = sandbox.control("GET", f"/worlds/{world}/capture")
    assert answer.status == 200, answer.body
    return json.loads(gzip.decompress(answer.body))


@pytest.fixture
def eventful(sandbox) -> InProcess:
    """A sandbox with a payment, a refused capture of it, a webhook endpoint, and keys made."""
    hook = add(sandbox, description="ours")["id"]
    rotate = f"/worlds/default/endpoints/{hook}/rotate-secret"
    sandbox.control("POST", rotate, {"grace_s": 3600})
    act(sandbox, paid_id(sandbox), "refund", by="other_merchant", amount=1)
    return sandbox


def secrets_of(sandbox: InProcess) -> list[str]:
    """Every key of the world, and every secret of its endpoints."""
    world = sandbox.control("GET", "/worlds/default").json()
    endpoints = sandbox.control("GET", "/worlds/default/endpoints").json()["endpoints"]
    saved = sandbox.control("GET", "/worlds/default/snapshot").json()
    found = [one["key"] for one in world["keys"].values()]
    found += [one["secret"] for one in endpoints]
    for table, names in {
        "endpoints": ("secret", "replaced_secret"),
        "api_keys": ("lookup", "salt", "digest", "readable_key"),
    }.items():
        found += [one.get(name) for one in saved[table].values() for name in names]
    return [one for one in found if one]


@pytest.mark.proves("assumed D25-captures")
def test_a_capture_has_all_that_can_be_seen_and_no_key(eventful):
    secrets = secrets_of(eventful)

    answer = eventful.control("GET", "/worlds/default/capture")

    text = gzip.decompress(answer.body).decode()
    assert answer.headers["content-type"] == "application/gzip"
    assert "default.capture.json.gz" in answer.headers["content-disposition"]
    assert len(secrets) > 20
    assert [one for one in secrets if one in text] == []
    seen = json.loads(text)
    world = eventful.control("GET", "/worlds/default").json()
    assert seen["world"]["keys"] == {n: {"id": k["id"]} for n, k in world["keys"].items()}
    for section in ("requests", "messages", "payments"):
        listed = eventful.control("GET", f"/worlds/default/{section}").json()
        assert seen[section] == listed[section]
    [payment] = seen["payments"]
    story = eventful.control("GET", f"/worlds/default/payments/{payment['id']}").json()
    assert seen["stories"] == [story]
    [batch] = seen["batches"]
    shown = eventful.control("GET", f"/worlds/default/batches/{batch['batch']['id']}").json()
    assert batch == shown
    assert seen["switches"] == eventful.control("GET", "/worlds/default/switches").json()
    assert seen["coverage"] == eventful.control("GET", "/worlds/default/coverage").json()


def test_a_capture_answers_the_lens_for_each_key_where_one_was_refused(eventful):
    seen = capture(eventful)["lens"]

    asked = {(one["operation"], one["target"]) for one in seen["answers"]}
    assert len(asked) == 1
    [(operation, target)] = asked
    by_key = {one["key"]["cast"]: one for one in seen["answers"]}
    assert (by_key["other_merchant"]["status"], by_key["merchant"]["allowed"]) == (404, True)
    assert set(by_key) == {one["key"]["cast"] for one in seen["tables"]}
    body = {"key": "other_merchant", "operation": operation, "target": target}
    assert eventful.control("POST", "/worlds/default/lens", body).json() == by_key["other_merchant"]


def test_the_same_world_gives_the_same_capture(eventful):
    first, second = (eventful.control("GET", "/worlds/default/capture") for _ in range(2))

    assert first.body == second.body
