"""Signatures of webhooks, their timestamps, and the check that receivers make.

Source: assumed 8.3-signature, 8.3-timestamp, D1, D49.
"""

import base64
import json
from datetime import UTC, datetime
from hashlib import sha256
from time import time

import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.field_types import check_secret
from sandbox.webhooks.signing import headers_of, why_not_genuine, write_secret
from tests.control.refusals import assert_refused
from tests.driving import fresh
from tests.profiles import BRANDED
from tests.webhooks.calling import delivered
from tests.webhooks.receiving import receiving

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
SENT_AT = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
"""The vector that Standard Webhooks publishes."""

keys = st.binary(min_size=24, max_size=64)


@pytest.mark.proves("assumed 8.3-signature, 8.3-timestamp, D1", "spec 6.1.12")
def test_the_published_vector_is_signed_as_published_in_whole_seconds():
    assert headers_of("webhook", ID, SENT_AT + 0.999, BODY, [SECRET]) == {
        "webhook-id": ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": SIGNATURE,
    }
    # Several secrets sign side by side, the newest first.
    other = write_secret(b"k" * 32)
    (alone,) = headers_of("webhook", ID, SENT_AT, BODY, [other])["webhook-signature"].split()
    both = headers_of("webhook", ID, SENT_AT, BODY, [SECRET, other])
    assert both["webhook-signature"].split(" ") == [SIGNATURE, alone]
    assert alone != SIGNATURE
    for seconds, way in ((-400, "old"), (400, "ahead")):
        moved = headers_of("webhook", ID, time() + seconds, BODY, [SECRET])
        assert f" s {way}, and receivers allow" in why_not_genuine("webhook", SECRET, BODY, moved)


def test_webhooks_have_the_prefix_of_the_profile():
    sandbox = fresh(profile=BRANDED)
    with receiving() as receiver:
        sandbox.add_endpoint(url=receiver.url, secret=SECRET)
        id = delivered(sandbox, sandbox.emit)

    (received,) = receiver.requests
    assert received.headers["acme-id"] == id
    assert not [name for name in received.headers if name.startswith("webhook-")]
    names = ("id", "timestamp", "signature")
    renamed = {f"webhook-{name}": received.headers[f"acme-{name}"] for name in names}
    standardwebhooks.Webhook(SECRET).verify(received.body, renamed)


@pytest.mark.proves("assumed D49")
def test_webhooks_are_dated_and_signed_by_the_clock_that_the_switch_names(hooked, receiver):
    hooked.move_to("2031-03-01T12:00:00Z")
    signer = standardwebhooks.Webhook(hooked.look("endpoints/e")["secret"])
    for clock in ("wall", "world"):
        hooked.set_switch("webhooks.timestamp", clock)
        hooked.tried(hooked.emit())
        received = receiver.requests[-1]

        sent_at = int(received.headers["webhook-timestamp"])
        moment = datetime.fromtimestamp(sent_at, UTC)
        assert moment.year == 2031 if clock == "world" else abs(sent_at - time()) < 60
        signature = signer.sign(received.id, moment, received.body.decode())
        assert received.headers["webhook-signature"] == signature
        yours = {"headers": received.headers, "body": received.body.decode(), "endpoint_id": "e"}
        assert hooked.manage("POST", "/verify", yours).json()["verdict"] == "genuine"


@pytest.mark.proves("assumed 8.3-signature")
@given(keys, st.dictionaries(st.text(), st.text()))
def test_the_official_library_accepts_what_is_signed_now_and_nothing_else(key, fields):
    secret, body = write_secret(key), json.dumps(fields, ensure_ascii=False).encode()
    headers = headers_of("webhook", ID, time(), body, [secret])

    assert check_secret(secret) == secret == "whsec_" + base64.b64encode(key).decode()
    standardwebhooks.Webhook(secret).verify(body, headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(secret).verify(body + b" ", headers)


UNUSABLE = [
    *("", "whsec_", "whsec", SECRET.removeprefix("whsec_"), SECRET.upper(), " " + SECRET),
    *(SECRET + "\n", SECRET + "é", SECRET[:-1], SECRET.replace("_", "-")),
    *("whsec_" + base64.b64encode(b"k" * size).decode() for size in (23, 65)),
    "whsec_" + base64.urlsafe_b64encode(b"\xff" * 24).decode(),
    "whsec_not base64 at all, but long enough",
]


def test_an_unusable_secret_is_refused_without_repeating_it():
    for secret in UNUSABLE:
        with pytest.raises(ValueError, match="must be whsec_ and 24 to 64 bytes in base64") as said:
            check_secret(secret)

        assert len(secret) < 7 or secret.strip() not in str(said.value)


def verify(hooked, id, query=""):
    return hooked.manage("GET", f"/messages/{id}/verify?{query}")


@pytest.mark.proves("assumed 8.3-signature")
def test_an_attempt_keeps_what_it_sent_and_is_found_genuine(hooked, receiver):
    id = hooked.emit()
    attempt = hooked.tried(id)["attempts"][0]
    (got,) = receiver.requests
    secret = hooked.look("endpoints/e")["secret"]

    shown = verify(hooked, id).json()
    again = {"headers": got.headers, "body": got.body.decode()}
    yours = [
        hooked.manage("POST", "/verify", again | who).json()
        for who in ({"endpoint_id": "e"}, {"secret": secret})
    ]

    assert attempt["sent"] == {
        "id": id,
        "timestamp": int(got.headers["webhook-timestamp"]),
        "signature": got.headers["webhook-signature"],
        "bytes": len(got.body),
        "sha256": sha256(got.body).hexdigest(),
        "spoilt": [],
    }
    assert (shown["verdict"], shown["step"]) == ("genuine", None)
    assert shown["expected"] == shown["sent"] == [got.headers["webhook-signature"]]
    assert shown["signed"].endswith(got.body.decode())
    assert [one["verdict"] for one in yours] == ["genuine", "genuine"]
    assert secret not in str([shown, yours])
    assert shown["secrets"] == [f"whsec_****{secret[-4:]}"]


def test_a_webhook_that_cannot_be_checked_is_refused(hooked):
    hooked.add_endpoint(url="http://127.0.0.1:9/hooks", id="closed")
    id = hooked.emit()
    hooked.tried(id, "closed")
    one = {"headers": {}, "body": "{}"}

    assert_refused(verify(hooked, id), 409, "not_sent")
    assert_refused(verify(hooked, id, "attempt=7"), 409, "no_attempt")
    assert_refused(verify(hooked, id, "endpoint_id=close"), 400, "validation_error", "closed")
    assert_refused(verify(hooked, "msg_none"), 404, "not_found")
    for body in (one, one | {"secret": SECRET, "endpoint_id": "closed"}, one | {"secret": "x"}):
        assert_refused(hooked.manage("POST", "/verify", body), 400, "validation_error")
    named = hooked.manage("POST", "/verify", one | {"endpoint_id": "close"})
    assert_refused(named, 400, "validation_error", "closed")
    for timestamp in ("now", "-5", "9" * 30):
        headers = {"webhook-id": "m", "webhook-timestamp": timestamp, "webhook-signature": "v1,x"}
        body = {"headers": headers, "body": "{}", "secret": SECRET}
        answer = hooked.manage("POST", "/verify", body).json()
        assert (answer["step"], answer["age_s"]) == ("timestamp", None)
