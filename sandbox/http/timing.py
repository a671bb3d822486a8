"""The stages of a connection, and their time limits."""

import asyncio
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from sandbox.http.connections import ConnectionPool
from sandbox.http.limits import BODY_BYTES_PER_S_MIN
from sandbox.http.refusals import BODY_LATE, HEAD_LATE, HttpFault
from sandbox.http.transport import WholeAnswers

IDLE: Final = 0
"""No request has begun, or the last one is complete; its answer may be in progress."""

HEAD: Final = 1
"""The head of a request has come in part."""

BODY: Final = 2
"""The head of a request has come, and not all of its body; its answer may have been given."""

ENDING: Final = 3
"""Input is discarded."""


class TimedProtocol(HttpToolsProtocol):
    """A connection that ends when its client lets it wait for too long."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        pool: ConnectionPool,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._pool = pool
        self._answers: WholeAnswers
        self._stage = IDLE
        self._since = 0.0
        """When the stage began, or the last answer was given."""
        self._seen = 0
        """Bytes of a head, or a body, of which some came in an earlier packet; else 0."""
        self._unsent = 0
        self.has_asked = False
        """Whether the head of a request has come on this connection."""

    def look_after(self, now: float) -> None:
        """End what takes too long; called at intervals, not for a single request."""
        if self._is_being_read(now):
            return
        times, waited_s = self._pool.times, now - self._since
        if self._stage == ENDING:
            if self.transport.is_closing() and waited_s > times.last_words_s:
                self.transport.abort()
        elif self._stage == BODY:
            self._look_after_body(now)
        elif not self._is_answered():
            pass
        elif self._stage == HEAD:
            if waited_s > times.head_s:
                self._refuse(HEAD_LATE)
        elif waited_s > (times.idle_s if self.has_asked else times.head_s):
            self.transport.close()

    def _look_after_body(self, now: float) -> None:
        body_s, waited_s = self._pool.times.body_s, now - self._since
        if self._is_answered():
            if waited_s > body_s:
                self._stage = IDLE
                self.transport.close()
        elif self.flow.read_paused or self.pipeline:
            # That nothing comes is not the client's doing.
            self._since = now
        elif waited_s > body_s + self._seen / BODY_BYTES_PER_S_MIN:
            self._refuse(BODY_LATE)

    def _is_being_read(self, now: float) -> bool:
        """Whether the client has yet to read an answer; if it stops reading, it is disconnected."""
        unsent = self._answers.unsent()
        if not unsent:
            return False
        if unsent != self._unsent:
            self._unsent, self._since = unsent, now
        elif now - self._since > self._pool.times.unread_s:
            self.transport.abort()
        return True

    def _is_answered(self) -> bool:
        """Whether no request waits for its answer."""
        return self.cycle is None or self.cycle.response_complete

    def _refuse(self, fault: HttpFault) -> None:
        """Answer an unreadable request, after all earlier ones; then close."""
        raise NotImplementedError
