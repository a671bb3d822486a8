"""Captured webhooks are held against those of the sandbox."""

import json
import re
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from sandbox.conformance.differences import CaptureError, compare_folder
from sandbox.domain.profile import Profile

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def captured(message, **changes):
    """A delivery of a message of the sandbox, signed by the official library, as a file has it."""
    body = {name: value for name, value in (message["body"] | changes).items() if value is not ...}
    text = json.dumps(body)
    headers = {
        "Webhook-Id": message["id"],
        "Webhook-Timestamp": str(int(AT.timestamp())),
        "Webhook-Signature": Webhook(SECRET).sign(message["id"], AT, text),
    }
    return {"event": message["event_type"], "headers": headers, "body": text}


def folder_of(path, *deliveries):
    for number, one in enumerate(deliveries):
        (path / f"{number}.json").write_text(one if isinstance(one, str) else json.dumps(one))
    return path


@pytest.fixture
def messages(sandbox):
    sandbox.paid()
    sandbox.paid(outcome="do_not_honor")
    hold = sandbox.held()
    for action in ("increment", "capture", "refund"):
        sandbox.act(hold, action, amount=100)
    return sandbox.control("GET", "/worlds/default/messages").json()["messages"]


def test_the_webhooks_of_the_sandbox_itself_are_the_same(messages, tmp_path):
    folder = folder_of(tmp_path, *map(captured, messages))

    found = compare_folder(folder, Profile(), SECRET)

    assert len(found) == len(messages) >= 8
    assert [one["differences"] for one in found] == [[]] * len(messages)
    assert {one["signature"] for one in found} == {"genuine"}


def test_only_a_planted_difference_is_found(messages, tmp_path):
    (sale, *_) = [one for one in messages if one["event_type"] == "transaction.sale"]
    for field, value, platform, ours in (
        ("tid", ..., "absent", "text"),
        ("batch", "7", "text", "absent"),
        ("total_amount", "1000", "text", "number"),
        ("created_at", "2026-03-01T12:00:00Z", "text", "number"),
        ("created_at", 1772366400, "0000000000", "0000000000000"),
    ):
        folder = folder_of(tmp_path, captured(sale, **{field: value}))

        (found,) = compare_folder(folder, Profile(), SECRET)

        unlike = {"place": f"body.{field}", "platform": platform, "sandbox": ours}
        assert found["differences"] == [unlike]


def test_a_header_with_another_name_and_a_wrong_signature_are_reported(messages, tmp_path):
    renamed, forged, unnamed = (captured(messages[0]) for _ in range(3))
    renamed["headers"] = {
        name.replace("Webhook", "Svix"): value for name, value in renamed["headers"].items()
    }
    forged["body"] += " "
    del unnamed["event"]
    folder = folder_of(tmp_path, renamed, forged, unnamed)

    found = compare_folder(folder, Profile(), SECRET)

    missing = [f"headers.webhook-{name}" for name in ("id", "timestamp", "signature")]
    assert [one["place"] for one in found[0]["differences"]] == missing
    assert found[1]["signature"].startswith("no signature that was sent is that of these bytes")
    # An event that is not named is known by its fields.
    assert found[2]["event"].startswith("transaction.")
    assert [one["is_event_known"] for one in found] == [True, True, False]
    assert compare_folder(folder, Profile())[2]["signature"] == "not checked: no secret"


def test_a_file_or_a_folder_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(CaptureError, match=r"has no \.json file"):
        compare_folder(tmp_path, Profile())
    with pytest.raises(CaptureError, match="is not a folder"):
        compare_folder(tmp_path / "none", Profile())
    unknown = "is not a known event; did you mean 'transaction.sale'?"
    for content, said in {
        "{": "is not a JSON file",
        "[]": "headers: is required, as an object",
        '{"headers": {}, "body": "<html>"}': "body: is not JSON",
        '{"headers": {}, "body": []}': "body: is required, as text or object",
        '{"event": "transaction.sales", "headers": {}}': f"event: 'transaction.sales' {unknown}",
    }.items():
        with pytest.raises(CaptureError, match=re.escape(f"0.json: {said}")):
            compare_folder(folder_of(tmp_path, content), Profile())
