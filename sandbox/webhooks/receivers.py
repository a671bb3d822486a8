"""A receiver's answer to a webhook, and receivers in the process of the sandbox."""

import asyncio
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from time import perf_counter, time
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from sandbox import __version__
from sandbox.domain.receivers import program_of
from sandbox.domain.webhooks import TIMEOUT_S, Endpoint, Sent
from sandbox.webhooks.signing import Verification, verify

USER_AGENT: Final = f"uat-sandbox/{__version__}"
"""The User-Agent of webhooks."""

RESPONSE_CHARS_MAX: Final = 4_096
"""How much of a receiver's answer is stored: enough for an error message."""

ERROR_CHARS_MAX: Final = 500
"""How much of an attempt's error is stored, which may quote the receiver."""

BODY_BYTES_MAX: Final = RESPONSE_CHARS_MAX + 256
"""How much of an answer is read: a little more, to recognize a key before it is cut."""

_ESCAPE: Final = re.compile(r"\\u00([0-7][0-9a-fA-F])")


def cut_text(answer: bytes | bytearray, mask: Callable[[str], str]) -> str:
    """Return the stored part of an answer's body, without secrets. Source: assumed D5."""
    if not answer:
        return ""
    text = answer.decode("utf-8", "replace")
    # Most receivers answer JSON, in which escapes may hide the digits of a card.
    plain = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    masked = mask(plain)
    return (masked if masked != plain else mask(text))[:RESPONSE_CHARS_MAX]


def judge(
    started_s: float,
    status: int | None,
    answer: bytes | bytearray,
    retry_after: str | None,
    mask: Callable[[str], str],
    error: str | None = None,
) -> Sent:
    """Return the result of an attempt that began then, with its answer or its error."""
    if error is None and status is not None and not 200 <= status < 300:
        error = f"answered {status}" + ("; redirects are not followed" if status < 400 else "")
    return Sent(
        status_code=status,
        duration_ms=round((perf_counter() - started_s) * 1000, 3),
        response=cut_text(answer[:BODY_BYTES_MAX], mask),
        error=error and mask(error)[:ERROR_CHARS_MAX],
        retry_after_s=parse_retry_after(retry_after),
    )


def parse_retry_after(text: str | None) -> float | None:
    """Return the wait of a Retry-After header: seconds, or a date. None for anything else."""
    if text is None:
        return None
    if text.isascii() and text.strip().isdecimal():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError, OverflowError):
        return None


# --- receivers in this process, for example those of tests --------------------------------------

Reply = tuple[int, Mapping[str, str], bytes]
"""Status, headers by lower-case name, and body of an answer."""

Take = Callable[[str, Mapping[str, str], bytes], Reply]
"""A function of the path, the headers by lower-case name, and the body of a webhook.

It runs on the event loop, so it must not wait.
"""


class LocalReceivers:
    """Passes webhooks to receivers by the origin of their URLs, without a network.

    `mask` masks secrets in a receiver's answer.
    """

    def __init__(self, *, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._receivers: dict[str, Take] = {}

    def add(self, origin: str, take: Take) -> None:
        """Pass all webhooks for this origin, `http://HOST:PORT`, to this receiver."""
        self._receivers[origin] = take

    def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent | None:
        """Make one attempt, and judge the answer like one from the network.

        Returns None if no receiver in this process has this URL.
        """
        started, parts = perf_counter(), urlsplit(url)
        take = self._receivers.get(f"{parts.scheme}://{parts.netloc}")
        if take is None:
            return None
        sent = {
            "host": parts.netloc,
            "user-agent": USER_AGENT,
            "accept": "*/*",
            "content-type": "application/json",
            "content-length": str(len(body)),
            **headers,
        }
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        status, answered, answer = take(target, sent, body)
        if status in (204, 304):
            answer = b""
        return judge(started, status, answer, answered.get("retry-after"), self._mask)


# --- receivers inside a world -------------------------------------------------------------------

RECEIVED_MAX: Final = 100
"""How many deliveries of each receiver to keep."""


class Received(NamedTuple):
    """A delivery as received. `at` is the world's time; `answer` is None if it was too late."""

    at: datetime
    message_id: str
    attempt: int
    headers: Mapping[str, str]
    body: bytes
    check: Verification
    answer: int | None


class Inbox:
    """The deliveries to the receivers inside a world, kept in memory only."""

    def __init__(self) -> None:
        self._received: defaultdict[str, deque[Received]] = defaultdict(
            lambda: deque(maxlen=RECEIVED_MAX)
        )
        self._totals: Counter[str] = Counter()
        # The number of attempts at each message, by receiver.
        self._attempts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def received(self, endpoint_id: str) -> Sequence[Received]:
        """Return the last deliveries to a receiver, oldest first."""
        return tuple(self._received[endpoint_id])

    def total(self, endpoint_id: str) -> int:
        """Return how many deliveries the receiver got, including those no longer kept."""
        return self._totals[endpoint_id]

    def forget(self, endpoint_id: str) -> None:
        """Forget the receiver."""
        self._received.pop(endpoint_id, None)
        self._totals.pop(endpoint_id, None)
        self._attempts.pop(endpoint_id, None)

    async def take(
        self,
        endpoint: Endpoint,
        body: bytes,
        headers: Mapping[str, str],
        *,
        prefix: str,
        now: datetime,
        at_s: float,
        former_attempts: int,
    ) -> Sent:
        """Receive a delivery, and answer it by the program.

        `now` is the world's time; `at_s` is the receiver's clock in Unix seconds. Some of the
        `former_attempts` may have come before the world was loaded, and others may be in progress.
        """
        started, program = perf_counter(), program_of(endpoint.url)
        id, attempts = headers.get(f"{prefix}-id", ""), self._attempts[endpoint.id]
        attempt = attempts[id] = max(attempts[id], former_attempts) + 1
        self._totals[endpoint.id] += 1
        answer = program.answers[min(attempt, len(program.answers)) - 1]
        in_time = program.delay_ms < TIMEOUT_S * 1000
        check = verify(endpoint.secrets_at(now), prefix, headers, body, now_s=int(at_s))
        came = Received(now, id, attempt, headers, body, check, answer if in_time else None)
        self._received[endpoint.id].append(came)
        await asyncio.sleep(min(program.delay_ms / 1000, TIMEOUT_S))
        late = None if in_time else f"no complete answer within {TIMEOUT_S:g} s"
        sent = judge(started, came.answer, b"", None, str, late)
        return replace(sent, is_timeout=not in_time)
