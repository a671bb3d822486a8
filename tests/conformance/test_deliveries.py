"""Captured webhooks are held against those of the sandbox."""

import json
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from sandbox.conformance.differences import CaptureError, compared, read_folder
from sandbox.domain.profile import Profile
from tests.support.payments import act, held, paid

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
    paid(sandbox)
    paid(sandbox, outcome="do_not_honor")
    hold = held(sandbox)
    for action in ("increment", "capture", "refund"):
        act(sandbox, hold, action, amount=100)
    return sandbox.control("GET", "/worlds/default/messages").json()["messages"]


def test_the_webhooks_of_the_sandbox_itself_are_the_same(messages, tmp_path):
    folder = folder_of(tmp_path, *map(captured, messages))

    found = compared(read_folder(folder), Profile(), SECRET)

    assert len(found) == len(messages) >= 8
    assert [one["differences"] for one in found] == [[]] * len(messages)
    assert {one["signature"] for one in found} == {"genuine"}


@pytest.mark.parametrize(
    ("changes", "place", "platform", "ours"),
    [
        ({"tid": ...}, "body.tid", "absent", "text"),
        ({"batch": "7"}, "body.batch", "text", "absent"),
        ({"total_amount": "1000"}, "body.total_amount", "text", "number"),
        ({"created_at": "2026-03-01T12:00:00Z"}, "body.created_at", "text", "number"),
        ({"created_at": 1772366400}, "body.created_at", "0000000000", "0000000000000"),
    ],
)
def test_a_planted_difference_is_found_and_no_other(
    messages, tmp_path, changes, place, platform, ours
):
    (sale, *_) = [one for one in messages if one["event_type"] == "transaction.sale"]

    (found,) = compared(
        read_folder(folder_of(tmp_path, captured(sale, **changes))), Profile(), SECRET
    )

    assert found["differences"] == [{"place": place, "platform": platform, "sandbox": ours}]


def test_a_header_by_another_name_and_a_wrong_signature_are_told(messages, tmp_path):
    renamed, forged = captured(messages[0]), captured(messages[0])
    renamed["headers"] = {
        name.replace("Webhook", "Svix"): value for name, value in renamed["headers"].items()
    }
    forged["body"] += " "

    found = compared(read_folder(folder_of(tmp_path, renamed, forged)), Profile(), SECRET)

    assert [one["place"] for one in found[0]["differences"]] == [
        "headers.webhook-id",
        "headers.webhook-timestamp",
        "headers.webhook-signature",
    ]
    assert found[1]["signature"].startswith("no signature that was sent is that of these bytes")


def test_an_event_that_is_not_named_is_known_by_its_fields(messages, tmp_path):
    one = captured(messages[0])
    del one["event"]

    (found,) = compared(read_folder(folder_of(tmp_path, one)), Profile())

    assert found["event"].startswith("transaction.")
    assert (found["is_event_known"], found["signature"]) == (False, "not checked: no secret")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "0.json: is not a JSON file"),
        ("[]", "0.json: headers: is required, as an object"),
        ('{"headers": {}, "body": "<html>"}', "0.json: body: is not JSON"),
        ('{"headers": {}, "body": []}', "0.json: body: is required, as text or object"),
        (
            '{"event": "transaction.sales", "headers": {}, "body": {}}',
            "0.json: event: 'transaction.sales' is not a known event; did you mean "
            "'transaction.sale'?",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, content, said):
    with pytest.raises(CaptureError, match=r"^0\.json: ") as refused:
        read_folder(folder_of(tmp_path, content))

    assert said in str(refused.value)


def test_a_folder_without_deliveries_is_refused(tmp_path):
    with pytest.raises(CaptureError, match=r"has no \.json file"):
        read_folder(tmp_path)
    with pytest.raises(CaptureError, match="is not a folder"):
        read_folder(tmp_path / "none")
