"""The inbox of a world: the webhooks that arrived, verified, and the answers to them."""

import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uat_sandbox.waiting import Deadline

TOOK: Final = 200
FORGED: Final = 401
"""The answer to a webhook that is not genuine."""

_PARTS: Final = ("id", "timestamp", "signature")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the receiver."""

    status: int = TOOK
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A received POST; `headers` are by lower-case name.

    `attempt` counts the arrivals of this `id` from 1. `problem` says why it is not genuine, or is
    None. `answered` is the status of the receiver's answer.
    """

    id: str
    raw: bytes
    headers: Mapping[str, str]
    attempt: int
    problem: str | None
    answered: int


@dataclass
class Inbox:
    """The webhooks that arrived for one world, and the answer to the next. Thread-safe.

    `secret` is the signing secret; without one no webhook is genuine. Webhooks that are
    `is_dated_by_world` may have any timestamp.
    """

    secret: str | None = field(default=None, repr=False)
    is_dated_by_world: bool = False
    _arrivals: list[Arrival] = field(default_factory=list)
    _attempts: Counter[str] = field(default_factory=Counter)
    _planned: deque[Reply] = field(default_factory=deque)
    _usual: Reply = field(default_factory=Reply)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def arrivals(self) -> list[Arrival]:
        """Return all webhooks that arrived, in order."""
        with self._changed:
            return list(self._arrivals)

    def wait_for_more_than(self, count: int, deadline: "Deadline") -> bool:
        """Wait until more than `count` have arrived; return False after the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._arrivals) > count, deadline.left_s)

    def answer(self, reply: Reply, times: int | None) -> None:
        """Plan this answer a number of times, after others; None makes it the usual answer."""
        with self._changed:
            if times is None:
                self._usual = reply
            else:
                self._planned.extend([reply] * times)

    def clear(self) -> None:
        """Forget all webhooks and planned answers."""
        with self._changed:
            self._arrivals.clear()
            self._attempts.clear()
            self._planned.clear()
            self._usual = Reply()

    def take(self, headers: Mapping[str, str], raw: bytes) -> Reply:
        """Store a webhook, and return the answer to it."""
        prefix = _prefix(headers)
        named = {f"webhook-{part}": headers.get(f"{prefix}-{part}", "") for part in _PARTS}
        problem = _problem(self.secret, named, raw, is_dated_by_world=self.is_dated_by_world)
        id = named["webhook-id"]
        with self._changed:
            if problem is not None:
                reply = Reply(FORGED, body=problem.encode())
            else:
                reply = self._planned.popleft() if self._planned else self._usual
            self._attempts[id] += 1
            self._arrivals.append(
                Arrival(
                    id=id,
                    raw=raw,
                    headers=headers,
                    attempt=self._attempts[id],
                    problem=problem,
                    answered=reply.status,
                )
            )
            self._changed.notify_all()
        return reply


def _prefix(headers: Mapping[str, str]) -> str:
    """Return the prefix of the three headers, which the server's profile defines."""
    ends: Sequence[str] = [f"-{part}" for part in _PARTS]
    for name in headers:
        prefix = name.removesuffix(ends[0])
        if prefix != name and f"{prefix}{ends[1]}" in headers:
            return prefix
    return "webhook"


def _problem(
    secret: str | None, headers: dict[str, str], raw: bytes, *, is_dated_by_world: bool
) -> str | None:
    """Return why a receiver with this secret must refuse a webhook; None if it is genuine."""
    from standardwebhooks import Webhook, WebhookVerificationError

    if secret is None:
        return "no endpoint of the world has a secret yet"
    try:
        Webhook(secret).verify(raw, headers)
    except (WebhookVerificationError, ValueError) as error:
        if is_dated_by_world and _is_signed(secret, headers, raw):
            return None
        return str(error) or type(error).__name__
    return None


def _is_signed(secret: str, headers: dict[str, str], raw: bytes) -> bool:
    """Whether a webhook is signed with the secret and its own timestamp, whatever that is."""
    from standardwebhooks import Webhook

    try:
        sent_at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
        signature = Webhook(secret).sign(headers["webhook-id"], sent_at, raw.decode())
    except (ValueError, OverflowError, OSError):
        return False
    return signature in headers["webhook-signature"].split()
