"""A webhook receiver on a real socket, with an inbox for each world."""

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sandbox.testing.waiting import Deadline

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
    """One POST as it came; `headers` by lower-case name.

    `attempt` counts the arrivals of this `id` from 1. `problem` says why it is not genuine; None
    if it is. `answered` is the status of the receiver's answer.
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

    `secret` is the signing secret; without one no webhook is genuine.
    """

    secret: str | None = field(default=None, repr=False)
    _arrivals: list[Arrival] = field(default_factory=list)
    _planned: deque[Reply] = field(default_factory=deque)
    _usual: Reply = field(default_factory=Reply)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def arrivals(self) -> list[Arrival]:
        """All that came, in the order in which it did."""
        with self._changed:
            return list(self._arrivals)

    def wait_for_more_than(self, count: int, deadline: "Deadline") -> bool:
        """Wait until more than `count` have arrived; False after the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._arrivals) > count, deadline.left_s)

    def answer(self, reply: Reply, times: int | None) -> None:
        """Give this answer so many times, after those that are planned; None: from then on."""
        with self._changed:
            if times is None:
                self._usual = reply
            else:
                self._planned.extend([reply] * times)

    def clear(self) -> None:
        """Forget all webhooks, and answer as usual."""
        with self._changed:
            self._arrivals.clear()
            self._planned.clear()
            self._usual = Reply()

    def take(self, headers: Mapping[str, str], raw: bytes) -> Reply:
        """Store a webhook, and return the answer to it."""
        prefix = _prefix(headers)
        named = {f"webhook-{part}": headers.get(f"{prefix}-{part}", "") for part in _PARTS}
        problem = _problem(self.secret, named, raw)
        id = named["webhook-id"]
        with self._changed:
            if problem is not None:
                reply = Reply(FORGED, body=problem.encode())
            else:
                reply = self._planned.popleft() if self._planned else self._usual
            attempt = 1 + sum(one.id == id for one in self._arrivals)
            self._arrivals.append(
                Arrival(
                    id=id,
                    raw=raw,
                    headers=headers,
                    attempt=attempt,
                    problem=problem,
                    answered=reply.status,
                )
            )
            self._changed.notify_all()
        return reply


class Receiver:
    """An ASGI application that takes webhooks for many worlds, each at a path of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._boxes: dict[str, Inbox] = {}

    def open(self, world_id: str) -> Inbox:
        """An empty inbox for a world."""
        box = self._boxes[self._path(world_id)] = Inbox()
        return box

    def close(self, world_id: str) -> None:
        """The world is gone; what still comes for it is turned away."""
        self._boxes.pop(self._path(world_id), None)

    def url_of(self, world_id: str) -> str:
        """Where webhooks of the world are to go."""
        return self._url + self._path(world_id)

    def _path(self, world_id: str) -> str:
        return f"/{world_id}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await _nothing_to_begin(receive, send)
            return
        raw = b""
        while True:
            message = await receive()
            raw += message.get("body", b"")
            if not message.get("more_body", False):
                break
        box = self._boxes.get(scope["path"])
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        reply = Reply(404) if box is None else box.take(headers, raw)
        shown = [*reply.headers, ("content-length", str(len(reply.body)))]
        await send(
            {
                "type": "http.response.start",
                "status": reply.status,
                "headers": [(name.lower().encode(), value.encode()) for name, value in shown],
            }
        )
        await send({"type": "http.response.body", "body": reply.body})


async def _nothing_to_begin(receive: Any, send: Any) -> None:
    for _ in ("startup", "shutdown"):
        message = await receive()
        await send({"type": f"{message['type']}.complete"})


def _prefix(headers: Mapping[str, str]) -> str:
    """The prefix of the three headers, which the server's profile defines."""
    ends: Sequence[str] = [f"-{part}" for part in _PARTS]
    for name in headers:
        prefix = name.removesuffix(ends[0])
        if prefix != name and f"{prefix}{ends[1]}" in headers:
            return prefix
    return "webhook"


def _problem(secret: str | None, headers: dict[str, str], raw: bytes) -> str | None:
    """Why a receiver with this secret must refuse it; None if it must not."""
    from standardwebhooks import Webhook, WebhookVerificationError

    if secret is None:
        return "no endpoint of the world has a secret yet"
    try:
        Webhook(secret).verify(raw, headers)
    except (WebhookVerificationError, ValueError) as error:
        return str(error) or type(error).__name__
    return None
