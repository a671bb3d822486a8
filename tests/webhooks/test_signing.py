"""Signatures of webhooks. Source: assumed 8.3-signature, D1."""

import base64
import json
from time import time

import pytest
import standardwebhooks
import svix
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.field_types import check_secret
from sandbox.domain.profile import Profile
from sandbox.settings import Settings
from sandbox.webhooks.signing import headers_of, write_secret
from tests.driving import serving
from tests.webhooks.hooked import Hooked
from tests.webhooks.receiving import receiving

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
SENT_AT = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
"""The vector that Standard Webhooks publishes."""

keys = st.binary(min_size=24, max_size=64)


@pytest.mark.proves("assumed 8.3-signature", "spec 6.1.12")
def test_the_published_vector_is_signed_as_published():
    headers = headers_of("webhook", ID, SENT_AT, BODY, [SECRET])

    assert headers == {
        "webhook-id": ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": SIGNATURE,
    }


@pytest.mark.proves("assumed 8.3-timestamp, D1")
def test_the_timestamp_is_whole_seconds():
    headers = headers_of("webhook", ID, SENT_AT + 0.999, BODY, [SECRET])

    assert headers["webhook-timestamp"] == "1614265330"
    assert headers["webhook-signature"] == SIGNATURE


def test_several_secrets_sign_side_by_side_the_newest_first():
    other = write_secret(b"k" * 32)
    (alone,) = headers_of("webhook", ID, SENT_AT, BODY, [other])["webhook-signature"].split()

    headers = headers_of("webhook", ID, SENT_AT, BODY, [SECRET, other])

    assert headers["webhook-signature"].split(" ") == [SIGNATURE, alone]
    assert alone != SIGNATURE


def test_headers_begin_with_the_profile_s_prefix():
    headers = headers_of("acme", ID, SENT_AT, BODY, [SECRET])

    assert list(headers) == ["acme-id", "acme-timestamp", "acme-signature"]
    assert headers["acme-signature"] == SIGNATURE


def test_the_prefix_of_a_profile_stands_in_what_is_sent(tmp_path):
    profile = tmp_path / "acme.toml"
    profile.write_text('webhook_header_prefix = "acme"\n')

    with serving("--profile", str(profile)) as server, receiving() as receiver:
        hooked = Hooked(server, "default", {})
        hooked.endpoint(receiver.url, secret=SECRET)
        id = hooked.emit()
        (received,) = receiver.wait_for(1)

    assert received.headers["acme-id"] == id
    assert not [name for name in received.headers if name.startswith("webhook-")]
    renamed = {
        f"webhook-{what}": received.headers[f"acme-{what}"]
        for what in ("id", "timestamp", "signature")
    }
    standardwebhooks.Webhook(SECRET).verify(received.body, renamed)
    assert Profile().webhook_header_prefix == Settings().profile.webhook_header_prefix == "webhook"


@pytest.mark.proves("assumed 8.3-signature")
@given(keys, st.dictionaries(st.text(), st.text()))
def test_both_libraries_accept_what_is_signed_now_and_nothing_else(key, fields):
    secret, body = write_secret(key), json.dumps(fields, ensure_ascii=False).encode()
    headers = headers_of("webhook", ID, time(), body, [secret])

    standardwebhooks.Webhook(secret).verify(body, headers)
    svix.Webhook(secret).verify(body, headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(secret).verify(body + b" ", headers)


# --- secrets ----------------------------------------------------------------------------------


@given(keys)
def test_a_secret_that_was_written_can_be_used(key):
    secret = write_secret(key)

    assert check_secret(secret) == secret
    assert secret == "whsec_" + base64.b64encode(key).decode()


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "whsec",
        SECRET.removeprefix("whsec_"),
        SECRET.upper(),
        " " + SECRET,
        SECRET + "\n",
        SECRET + "é",
        SECRET[:-1],
        SECRET.replace("_", "-"),
        "whsec_" + base64.b64encode(b"k" * 23).decode(),
        "whsec_" + base64.b64encode(b"k" * 65).decode(),
        "whsec_" + base64.urlsafe_b64encode(b"\xff" * 24).decode(),
        "whsec_not base64 at all, but long enough",
    ],
)
def test_a_secret_that_cannot_be_used_is_refused_in_words_that_do_not_repeat_it(secret):
    with pytest.raises(ValueError, match="must be whsec_ and 24 to 64 bytes in base64") as caught:
        check_secret(secret)

    assert len(secret) < 7 or secret.strip() not in str(caught.value)
