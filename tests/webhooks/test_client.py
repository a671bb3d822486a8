"""The requests that webhooks are, their connections, and answers of every kind.

Source: assumed 8.3-success; docs/design/webhooks.md.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from threading import Event, Thread
from time import thread_time
from typing import Any

import pytest

from sandbox.domain.webhooks import TIMEOUT_S, Sent
from sandbox.server import tls as certificates
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.client import WebhookClient
from tests.cli.asking import ask as run
from tests.driving import fresh
from tests.webhooks import misbehaving as bad
from tests.webhooks.calling import deliver_sample
from tests.webhooks.receiving import Answer, receiving

LIMIT_S = 60.0
FINE = Answer(200, body=b"fine")


@contextlib.asynccontextmanager
async def client(timeout_s: float = LIMIT_S):
    opened = WebhookClient(
        Guard(is_open=True), "test/1", mask=str, timeout_s=timeout_s, connections_max=3
    )
    try:
        yield opened
    finally:
        await opened.close()


async def attempt(url: str, headers: dict[str, str] | None, timeout_s: float) -> Sent:
    async with client(timeout_s) as opened:
        return await opened.send(url, b'{"a": 1}', headers or {})


def send(url: str, headers: dict[str, str] | None = None, *, timeout_s: float = LIMIT_S) -> Sent:
    return asyncio.run(attempt(url, headers, timeout_s))


def send_many(url: str, times: int, *, at_once: bool = False) -> list[Sent]:
    async def attempts() -> list[Sent]:
        async with client() as opened:
            each = [opened.send(url, b"{}", {}) for _ in range(times)]
            return await asyncio.gather(*each) if at_once else [await one for one in each]

    return asyncio.run(attempts())


def is_fine(sent: Sent) -> bool:
    return (sent.status_code, sent.error, sent.response) == (200, None, "fine")


def test_a_webhook_is_a_post_with_its_headers_and_exactly_its_bytes():
    with receiving(FINE) as receiver:
        assert is_fine(send(receiver.url, {"x-a": "b"}))

    (request,) = receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/hooks", b'{"a": 1}')
    assert request.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "user-agent": "test/1",
        "accept": "*/*",
        "content-type": "application/json",
        "x-a": "b",
        "content-length": "8",
    }


def send_to_each(behaviours: Iterable[Answer], timeout_s: float) -> tuple[list[Sent], float]:
    """What becomes of an attempt at each, side by side, and the longest turn of the loop."""

    async def all_of_them() -> tuple[list[Sent], float]:
        sending = asyncio.gather(*(attempt(one, None, timeout_s) for one in urls))
        longest = await longest_turn_s(sending)
        return await sending, longest

    with contextlib.ExitStack() as stack:
        urls = [stack.enter_context(receiving(one)).url for one in behaviours]
        return asyncio.run(all_of_them())


LONGEST_TURN_S = 2.0
"""Processor time: far above what a turn of the loop takes, and far below what 103s took."""


async def longest_turn_s(beside: asyncio.Future[Any]) -> float:
    """How much work the longest turn of the loop was until that was done."""
    longest, last = 0.0, thread_time()
    while not beside.done():
        await asyncio.sleep(0)
        longest, last = max(longest, thread_time() - last), thread_time()
    return longest


def test_answers_without_end_are_given_up_at_the_limit_and_hold_up_nothing():
    chunk = bad.CHUNKED + b"1;"
    attempts, longest = send_to_each(
        [bad.endless(b"", bad.HINTS), bad.endless(chunk, b"a" * 500)], 1
    )

    for sent, statuses in zip(attempts, ({None}, {None, 200}), strict=True):
        assert sent.status_code in statuses
        assert (sent.is_timeout, sent.error) == (True, "no complete answer within 1 s")
    assert longest < LONGEST_TURN_S


@pytest.mark.proves("assumed 8.3-success")
def test_an_endpoint_that_never_answers_or_drips_is_given_up_and_what_came_is_kept():
    (silent, dripped), _ = send_to_each([bad.hang, bad.drip], 0.2)

    assert (silent.status_code, silent.response, silent.is_timeout) == (None, "", True)
    assert silent.duration_ms >= 200
    assert (dripped.status_code, dripped.is_timeout) == (200, True)
    assert silent.error == dripped.error == "no complete answer within 0.2 s"
    assert set(dripped.response) == {"."}
    assert TIMEOUT_S == 15


def test_a_receiver_that_closes_without_a_word_gets_everything_at_the_first_attempt():
    with receiving(bad.close_unsaid) as receiver:
        attempts = send_many(receiver.url, 30)

    assert {(one.status_code, one.error) for one in attempts} == {(200, None)}


def test_there_are_never_more_connections_than_allowed_and_the_others_wait():
    gate = Event()
    with receiving(Answer(200, body=b"fine", gate=gate)) as receiver:
        opener = Thread(target=lambda: receiver.wait_for(3) and gate.set())
        opener.start()
        attempts = send_many(receiver.url, 10, at_once=True)
        opener.join()

    assert all(map(is_fine, attempts))
    assert (receiver.most_open, len(receiver.requests)) == (3, 10)


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

    assert all(map(is_fine, send_many(secure.url, 3)))
    assert secure.accepted == 1


def test_a_receiver_without_a_trusted_certificate_gets_nothing_and_the_option_is_named(secure):
    sent = send(secure.url)

    assert (sent.status_code, sent.is_unreachable, secure.requests) == (None, True, [])
    assert sent.error is not None
    assert sent.error.startswith(f"Cannot connect to host localhost:{secure.port} [")
    assert "the TLS certificate is not trusted" in sent.error
    assert "--webhooks-ca FILE" in sent.error
    # The doctor has no such option.
    done = run("doctor", secure.url, "--secret", "whsec_" + "A" * 32)
    assert done.exit_code != 0
    assert "set SSL_CERT_FILE to a file with it" in done.stderr


def test_a_server_sends_to_a_receiver_whose_certificate_it_is_given(secure, folder):
    deliver_sample(fresh(webhooks=(secure.url,), webhooks_ca=folder / "ca.pem"))

    assert len(secure.requests) == 1


def test_a_file_without_certificates_is_refused_at_the_start(tmp_path):
    junk = tmp_path / "junk.pem"
    junk.write_text("no certificate")

    for file, why in ((junk, "PEM"), (tmp_path / "none.pem", "No such file")):
        done = run("serve", "--port", "0", "--webhooks-ca", str(file))
        assert done.exit_code == 2
        assert f"--webhooks-ca {file}" in done.stderr
        assert why in done.stderr
