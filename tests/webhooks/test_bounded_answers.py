"""A receiver's answer costs little, however long it is and whatever it is made of.

Source: docs/design/webhooks.md.
"""

import asyncio
from time import perf_counter
from typing import Any

import pytest

from sandbox.domain.webhooks import Sent
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.client import WebhookClient
from tests.webhooks import misbehaving as bad
from tests.webhooks.misbehaving import misbehaving

LIMIT_S = 10.0
LONGEST_TURN_S = 2.0
"""Far above what a turn of the loop takes on a busy machine, and far below what 103s took."""


FLOOD_S = 1.0
"""The time of an attempt at a receiver whose answer has no end."""

TOO_LATE = "no complete answer within 1 s"
TOO_LONG = "the answer cannot be read: Got more than 8190 bytes"
TOO_MANY = "Too many headers received"
UNREADABLE = "cannot be read"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
DONE = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone"
HINTS = b"HTTP/1.1 103 Early Hints\r\n\r\n"


def long_line(size: int) -> bytes:
    return b"x: " + b"a" * size + b"\r\n"


ENDLESS = {
    "103 answers": (b"", HINTS, None, TOO_LATE),
    "100 answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", None, TOO_LATE),
    "long 103 answers": (b"", HINTS[:-2] + long_line(7_000) + b"\r\n", None, TOO_LATE),
    "long header lines": (b"HTTP/1.1 200 OK\r\n", long_line(8_000), None, TOO_MANY),
    "short header lines": (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", None, TOO_MANY),
    "a status line": (b"HTTP/1.1 200 ", b"a" * 500, None, TOO_LONG),
    "a header line": (b"HTTP/1.1 200 OK\r\nx: ", b"a" * 500, None, TOO_LONG),
    "an extension of a chunk": (CHUNKED + b"1;", b"a" * 500, 200, TOO_LATE),
    "trailers": (CHUNKED + b"1\r\na\r\n0\r\n", b"a: b\r\n", 200, UNREADABLE),
}
"""What the answer begins with, what comes then without end, the status that is known, the error."""


def endless(beginning: bytes, rest: bytes) -> bad.Behaviour:
    """Answer like this and never stop."""

    def behave(connection: Any, stop: Any) -> None:
        connection.sendall(beginning)
        burst = rest * (100_000 // len(rest))
        while not stop.is_set():
            connection.sendall(burst)

    return behave


async def sent_to(url: str, times: int = 1, *, timeout_s: float = LIMIT_S) -> list[Sent]:
    """What came of so many attempts, one after the other."""
    client = WebhookClient(Guard(is_open=True), "test", mask=str, timeout_s=timeout_s)
    try:
        return [await client.send(url, b"{}", {}) for _ in range(times)]
    finally:
        await client.close()


async def longest_turn_s(beside: asyncio.Future[Any]) -> float:
    """How long the longest turn of the loop took until that was done."""
    longest, last = 0.0, perf_counter()
    while not beside.done():
        await asyncio.sleep(0)
        longest, last = max(longest, perf_counter() - last), perf_counter()
    return longest


# --- what has no end --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENDLESS)
def test_an_answer_without_end_is_given_up_at_the_limit_and_not_waited_for(name):
    beginning, rest, status, error = ENDLESS[name]

    async def both(url: str) -> tuple[list[list[Sent]], float]:
        sending = asyncio.gather(*(sent_to(url, timeout_s=FLOOD_S) for _ in range(5)))
        longest = await longest_turn_s(sending)
        return await sending, longest

    with misbehaving(endless(beginning, rest)) as receiver:
        attempts, longest = asyncio.run(both(receiver.url))

    for (sent,) in attempts:
        assert sent.status_code in (status, None)
        assert sent.is_timeout is (error == TOO_LATE)
        assert sent.error
        assert error in sent.error
        assert "\n" not in sent.error
        assert sent.duration_ms < LIMIT_S * 1000
    assert longest < LONGEST_TURN_S


@pytest.mark.parametrize("rest", [b"H", b"HTTP/1.1 103 Early Hints\r\n\r\n"])
def test_a_head_that_only_drips_is_given_up_after_the_time_of_an_attempt(rest):
    def drip(connection: Any, stop: Any) -> None:
        for place in range(10_000):
            connection.sendall(rest[place % len(rest) :][:1] if place else rest[:1])
            if stop.wait(0.02):
                return

    with misbehaving(drip) as receiver:
        (sent,) = asyncio.run(sent_to(receiver.url, timeout_s=0.3))

    assert (sent.status_code, sent.is_timeout) == (None, rest != b"H")


# --- what is fine -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    {
        "a few interim answers": HINTS * 20 + DONE,
        "a head just below the limit": HINTS * 3
        + DONE[: -len("\r\ndone")]
        + long_line(8_000) * 8
        + b"\r\ndone",
        "chunks of one byte": CHUNKED
        + b"".join(b"1\r\n%c\r\n" % one for one in b"done")
        + b"0\r\n\r\n",
    }.items(),
    ids=lambda one: one[0],
)
def test_an_unusual_answer_within_the_limit_is_a_success(answer):
    with misbehaving(bad.raw(answer[1])) as receiver:
        (sent,) = asyncio.run(sent_to(receiver.url))

    assert (sent.status_code, sent.error, sent.response) == (200, None, "done")


def test_a_long_body_in_chunks_of_one_byte_is_a_success_and_its_beginning_is_kept():
    with misbehaving(endless(CHUNKED, b"1\r\na\r\n")) as receiver:
        (sent,) = asyncio.run(sent_to(receiver.url))

    assert (sent.status_code, sent.error, sent.response) == (200, None, "a" * 4_096)
