"""A world captured in one document, to be read elsewhere."""

import gzip
import json

import pytest

from tests.driving import InProcess


@pytest.fixture
def eventful(sandbox) -> InProcess:
    """A sandbox with a payment, a refused capture of it, a webhook endpoint, and keys made."""
    hook = sandbox.add_endpoint(description="ours")["id"]
    sandbox.manage("POST", f"/endpoints/{hook}/rotate-secret", {"grace_s": 3600}).expect(200)
    sandbox.act(sandbox.paid_id(), "refund", by="other_merchant", amount=1)
    return sandbox


def secrets_of(sandbox: InProcess) -> list[str]:
    """Every key of the world, and every secret of its endpoints."""
    saved = sandbox.look("snapshot")
    found = [one["key"] for one in sandbox.look("/worlds/default")["keys"].values()]
    found += [one["secret"] for one in sandbox.look("endpoints")["endpoints"]]
    for table, names in {
        "endpoints": ("secret", "replaced_secret"),
        "api_keys": ("lookup", "salt", "digest", "readable_key"),
    }.items():
        found += [one.get(name) for one in saved[table].values() for name in names]
    return [one for one in found if one]


@pytest.mark.proves("assumed D25-captures")
def test_a_capture_has_the_messages_about_the_own_record_of_an_action(sandbox):
    sandbox.choose(record_of_an_action="own")
    id = sandbox.held(1000)["transaction_id"]
    sandbox.post(f"/v3/payments/{id}/capture", {})

    answer = sandbox.manage("GET", "/capture")

    stories = json.loads(gzip.decompress(answer.body))["stories"]
    assert sandbox.look(f"payments/{id}") in stories


@pytest.mark.proves("assumed D25-captures")
def test_a_capture_has_all_that_can_be_seen_and_no_key(eventful):
    secrets = secrets_of(eventful)

    answer = eventful.manage("GET", "/capture")

    assert eventful.manage("GET", "/capture").body == answer.body
    text = gzip.decompress(answer.body).decode()
    assert answer.headers["content-type"] == "application/gzip"
    assert "default.capture.json.gz" in answer.headers["content-disposition"]
    assert len(secrets) > 20
    assert [one for one in secrets if one in text] == []
    seen = json.loads(text)
    keys = eventful.look("/worlds/default")["keys"]
    assert seen["world"]["keys"] == {name: {"id": key["id"]} for name, key in keys.items()}
    for section in ("requests", "messages", "payments"):
        assert seen[section] == eventful.look(section)[section]
    [payment], [batch] = seen["payments"], seen["batches"]
    assert seen["stories"] == [eventful.look(f"payments/{payment['id']}")]
    assert batch == eventful.look(f"batches/{batch['batch']['id']}")
    for section in ("switches", "coverage"):
        assert seen[section] == eventful.look(section)


def test_a_capture_answers_the_lens_for_each_key_where_one_was_refused(eventful):
    eventful.pay(by="other_merchant")
    answer = eventful.manage("GET", "/capture")
    seen = json.loads(gzip.decompress(answer.body))["lens"]

    asked = {(one["operation"], one["target"]) for one in seen["answers"]}
    assert len(asked) == 2
    for operation, target in asked:
        answers = [one for one in seen["answers"] if one["operation"] == operation]
        by_key = {one["key"]["cast"]: one for one in answers}
        assert (by_key["other_merchant"]["status"], by_key["merchant"]["allowed"]) == (404, True)
        assert set(by_key) == {one["key"]["cast"] for one in seen["tables"]}
        body = {"key": "other_merchant", "operation": operation, "target": target}
        assert eventful.manage("POST", "/lens", body).json() == by_key["other_merchant"]
