"""The requests that webhooks are, their connections, and answers of every kind.

Source: assumed 8.3-success; docs/design/webhooks.md.
"""

import contextlib
import socket
from threading import Event, Thread

import pytest

from sandbox import __version__
from sandbox.domain.webhooks import TIMEOUT_S, Sent
from sandbox.server import tls as certificates
from sandbox.webhooks.address_guard import Guard
from tests.cli.asking import ask as run
from tests.driving import fresh
from tests.webhooks import misbehaving as bad
from tests.webhooks.calling import CONNECTIONS_MAX, delivered, send
from tests.webhooks.receiving import Answer, receiving

FINE = Answer(200, body=b"fine")


def is_fine(sent: Sent) -> bool:
    return (sent.status_code, sent.error, sent.response) == (200, None, "fine")


def test_a_webhook_is_a_post_with_its_headers_and_exactly_its_bytes():
    with receiving(FINE) as receiver:
        assert all(map(is_fine, send(receiver.url, headers={"x-a": "b"})))

    (request,) = receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/hooks", b'{"a": 1}')
    assert request.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "user-agent": f"uat-sandbox/{__version__}",
        "accept": "*/*",
        "content-type": "application/json",
        "x-a": "b",
        "content-length": "8",
    }


@pytest.mark.proves("assumed 8.3-success")
def test_an_endpoint_that_never_answers_or_ends_is_given_up_and_what_came_is_kept():
    hints, chunk = bad.endless(b"", bad.HINTS), bad.endless(bad.CHUNKED + b"1;", b"a" * 500)
    with contextlib.ExitStack() as stack:
        answers = (bad.hang, bad.drip, hints, chunk)
        urls = [stack.enter_context(receiving(one)).url for one in answers]
        attempts = send(*urls, timeout_s=1, at_once=True)

    for sent in attempts:
        assert (sent.is_timeout, sent.error) == (True, "no complete answer within 1 s")
        assert 1_000 <= sent.duration_ms < 20_000
    silent, dripped, *endless = attempts
    assert (silent.status_code, silent.response) == (None, "")
    assert (dripped.status_code, set(dripped.response)) == (200, {"."})
    assert {one.status_code for one in endless} <= {None, 200}
    assert TIMEOUT_S == 15


def test_a_receiver_that_closes_idle_connections_gets_everything_at_the_first_attempt():
    with receiving(bad.close_unsaid) as receiver:
        attempts = send(*[receiver.url] * 30)

    assert {(one.status_code, one.error) for one in attempts} == {(200, None)}


def test_there_are_never_more_connections_than_allowed_and_the_others_wait():
    gate = Event()
    with receiving(Answer(200, body=b"fine", gate=gate)) as receiver:
        opener = Thread(target=lambda: receiver.wait_for(CONNECTIONS_MAX) and gate.set())
        opener.start()
        attempts = send(*[receiver.url] * 12, at_once=True)
        opener.join()

    assert all(map(is_fine, attempts))
    assert (receiver.most_open, len(receiver.requests)) == (CONNECTIONS_MAX, 12)


def test_the_time_of_an_attempt_begins_with_its_connection():
    with receiving() as receiver, socket.create_server(("127.0.0.1", 0)) as silent:
        never = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        *late, last = send(*[never] * CONNECTIONS_MAX, receiver.url, timeout_s=0.5, at_once=True)

    assert (all(one.is_timeout for one in late), last.error) == (True, None)


def test_an_attempt_without_a_connection_sent_nothing():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        (unfinished,) = send(f"https://127.0.0.1:{port}/", timeout_s=0.5)
        (internal,) = send(f"http://127.0.0.1:{port}/", guard=Guard(is_open=False))

    assert (unfinished.is_timeout, unfinished.is_unreachable) == (True, True)
    assert "is an internal address" in (internal.error or "")
    assert internal.is_unreachable


def test_attempts_at_a_host_share_the_lookup_in_progress():
    asked = []

    class NotingGuard(Guard):
        def why_not(self, host: str, address: str) -> str | None:
            asked.append(address)
            return super().why_not(host, address)

    with receiving(FINE) as receiver:
        urls = [f"http://localhost:{receiver.port}/hooks"] * 5
        attempts = send(*urls, guard=NotingGuard(is_open=True), at_once=True)

    assert all(map(is_fine, attempts))
    assert len(asked) == len(set(asked)) > 0


# --- TLS --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the certificate of who vouches for the receiver is."""
    pytest.importorskip("cryptography")
    return tmp_path_factory.mktemp("authority")


@pytest.fixture
def secure(folder):
    """A receiver at https://localhost."""
    with receiving(FINE, certificates.own(folder, ["localhost"]).context) as receiver:
        yield receiver


def test_a_receiver_with_a_trusted_certificate_is_sent_to(secure, folder, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))

    assert all(map(is_fine, send(*[secure.url] * 3)))
    assert secure.accepted == 1


def test_a_receiver_without_a_trusted_certificate_gets_nothing_and_the_option_is_named(secure):
    (sent,) = send(secure.url)

    assert (sent.status_code, sent.is_unreachable, secure.requests) == (None, True, [])
    assert sent.error is not None
    assert sent.error.startswith(f"Cannot connect to host localhost:{secure.port} [")
    assert "the TLS certificate is not trusted" in sent.error
    assert "--webhooks-ca FILE" in sent.error
    # The doctor has no such option.
    done = run("doctor", secure.url, "--secret", "whsec_" + "A" * 32)
    assert done.exit_code != 0
    assert "set SSL_CERT_FILE to a file with it" in done.stderr


def test_the_doctor_examines_a_receiver_with_a_given_certificate(secure, folder, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))

    done = run("doctor", secure.url, "--secret", "whsec_" + "A" * 32, "--only", "good")

    assert "ok        good" in done.stdout


def test_a_server_sends_to_a_receiver_with_a_given_certificate(secure, folder):
    sandbox = fresh(webhooks=(secure.url,), webhooks_ca=folder / "ca.pem")

    delivered(sandbox, sandbox.emit)

    assert len(secure.requests) == 1


def test_a_certificate_that_was_removed_fails_an_attempt_without_a_defect(tmp_path, folder, caplog):
    certificates.own(folder, ["localhost"])
    file = tmp_path / "ca.pem"
    file.write_bytes((folder / "ca.pem").read_bytes())
    sandbox = fresh(webhooks=("https://localhost:9/hooks",), webhooks_ca=file)
    file.unlink()

    id = delivered(sandbox, sandbox.emit)

    (delivery,) = sandbox.look(f"messages/{id}")["deliveries"]
    assert delivery["attempts"][0]["error"] == "not sent: [Errno 2] No such file or directory"
    assert caplog.records == []
