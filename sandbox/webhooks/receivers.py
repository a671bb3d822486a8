"""Receivers inside the process: their programmed answers, and what they were sent.

Such a receiver is an endpoint whose address is at HOST, with its program in the query. Nothing goes
over the network, and signing, retries and disabling are those of every endpoint.
Source: assumed D25-receivers.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from time import perf_counter
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from sandbox.domain.text import did_you_mean
from sandbox.domain.webhooks import TIMEOUT_S, Endpoint, Sent
from sandbox.webhooks.signing import Verification, verify

HOST: Final = "receiver.invalid"
"""No name server knows a name that ends in .invalid (RFC 6761), so nothing ever leaves by it."""

ANSWERS_MAX: Final = 20
ANSWER_MIN, ANSWER_MAX = 200, 599
DELAY_MS_MAX: Final = 30_000
RECEIVED_MAX: Final = 100
"""So many deliveries of each receiver are kept."""

_OK: Final = 200
_FIELDS: Final = ("answers", "delay_ms")


class Program(NamedTuple):
    """The status for each attempt at a message, the last for all later ones, after a delay."""

    answers: tuple[int, ...] = (_OK,)
    delay_ms: int = 0


class Received(NamedTuple):
    """One delivery as it came. `at` is the world's time, `answer` None where it came too late."""

    at: datetime
    message_id: str
    attempt: int
    headers: Mapping[str, str]
    body: bytes
    check: Verification
    answer: int | None


def url_of(program: Program) -> str:
    """The address of a receiver with this program."""
    fields = {"answers": ",".join(map(str, program.answers)), "delay_ms": program.delay_ms}
    return f"http://{HOST}/?{urlencode(fields, safe=',')}"


def is_inside(url: str) -> bool:
    """Whether the address is that of a receiver inside."""
    return HOST in url and urlsplit(url).hostname == HOST


def program_of(url: str) -> Program:
    """The program in an address. Raises ValueError with a sentence."""
    fields = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    for name in fields:
        if name not in _FIELDS:
            raise ValueError(f"has no {name!r}{did_you_mean(name, _FIELDS)}")
    answers = fields.get("answers", str(_OK)).split(",")
    if len(answers) > ANSWERS_MAX:
        raise ValueError(f"answers: has {len(answers)}, and {ANSWERS_MAX} is the most")
    return Program(
        tuple(_number("answers", one, ANSWER_MIN, ANSWER_MAX) for one in answers),
        _number("delay_ms", fields.get("delay_ms", "0"), 0, DELAY_MS_MAX),
    )


def _number(name: str, text: str, least: int, most: int) -> int:
    number = (
        int(text) if text.isascii() and text.isdecimal() and len(text) < len("10000000") else -1
    )
    if not least <= number <= most:
        raise ValueError(f"{name}: {text[:20]!r} is no whole number from {least} to {most}")
    return number


@dataclass
class _Kept:
    """What one receiver got: the last deliveries, the attempts at each message, and how many."""

    received: deque[Received] = field(default_factory=lambda: deque(maxlen=RECEIVED_MAX))
    attempts: Counter[str] = field(default_factory=Counter)
    total: int = 0


class Inbox:
    """What the receivers inside a world were sent. It is in memory only."""

    def __init__(self) -> None:
        self._kept: defaultdict[str, _Kept] = defaultdict(_Kept)

    def received(self, endpoint_id: str) -> Sequence[Received]:
        """The last deliveries to a receiver, oldest first."""
        return tuple(self._kept[endpoint_id].received)

    def total(self, endpoint_id: str) -> int:
        """How many deliveries the receiver got, those that are no longer kept included."""
        return self._kept[endpoint_id].total

    def forget(self, endpoint_id: str) -> None:
        """Nothing is known of the receiver any more."""
        self._kept.pop(endpoint_id, None)

    async def take(
        self,
        endpoint: Endpoint,
        body: bytes,
        headers: Mapping[str, str],
        *,
        prefix: str,
        now: datetime,
        at_s: float,
    ) -> Sent:
        """One delivery, answered as the program says.

        `now` is the world's time, `at_s` the receiver's clock: seconds since 1970.
        """
        started = perf_counter()
        try:
            program = program_of(endpoint.url)
        except ValueError:
            # Of a file that another program wrote.
            program = Program()
        id = headers.get(f"{prefix}-id", "")
        kept = self._kept[endpoint.id]
        attempts = kept.attempts
        attempts[id] += 1
        answer = program.answers[min(attempts[id], len(program.answers)) - 1]
        in_time = program.delay_ms < TIMEOUT_S * 1000
        check = verify(
            endpoint.secrets_at(now),
            id=id or None,
            timestamp=headers.get(f"{prefix}-timestamp"),
            signature=headers.get(f"{prefix}-signature"),
            body=body,
            now_s=int(at_s),
        )
        came = Received(now, id, attempts[id], headers, body, check, answer if in_time else None)
        kept.received.append(came)
        kept.total += 1
        if len(attempts) > 2 * RECEIVED_MAX:
            # Messages that came long ago are not sent again, or begin anew.
            for old in list(islice(attempts, RECEIVED_MAX)):
                del attempts[old]
        await asyncio.sleep(min(program.delay_ms / 1000, TIMEOUT_S))
        duration_ms = round((perf_counter() - started) * 1000, 3)
        if not in_time:
            why = f"no complete answer within {TIMEOUT_S:g} s"
            return Sent(
                status_code=None, duration_ms=duration_ms, response="", error=why, is_timeout=True
            )
        error = None if answer < 300 else f"answered {answer}"
        return Sent(status_code=answer, duration_ms=duration_ms, response="", error=error)
