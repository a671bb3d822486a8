"""The limits of one connection, of all connections, and of their time.

The spec says nothing of them. Decision 41 says why each is as it is.
"""

from dataclasses import dataclass
from typing import Final

from sandbox.control.rows import SNAPSHOT_BYTES_MAX
from sandbox.platform.wire import BODY_BYTES_MAX

HEAD_BYTES_MAX: Final = 65_536
"""The request line and the headers of a request, and likewise what comes between the pieces of a
chunked body and after it. Source: assumed D25-heads."""

HEADER_FIELDS_MAX: Final = 100
"""Source: assumed D25-heads."""

SLICE_BYTES: Final = 16_384
"""The parser gets so much at a time, so that a packet full of requests is not read all at once."""

PIECES_AT_ONCE_MAX: Final = 500
"""After so many pieces of a body, however small they are, other connections have their turn."""

READERS_AT_ONCE_MAX: Final = 8
"""So many connections read more of a large body in one round of the event loop."""

BODIES_BYTES_MAX: Final = SNAPSHOT_BYTES_MAX + 64 * BODY_BYTES_MAX
"""All bodies that are being received at a time: the largest snapshot, and 64 large requests.
Source: assumed D25-bodies."""

BODY_BYTES_PER_S_MIN: Final = 1_000
"""A body has one second more for each of these bytes. Source: assumed D25-times."""

LATE_AFTER_ROUNDS: Final = 2
"""A look at the connections that comes so many intervals late does not judge them: the loop was
busy, and what they have sent meanwhile is not read yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How long what may take, in seconds. Source: assumed D25-times."""

    head_s: float = 10.0
    """From the first byte of a request to the end of its headers; also from the connection to its
    first byte."""

    body_s: float = 30.0
    """From the end of the headers to that of the body; more for a large one that goes on coming.
    Also how long an unread body is thrown away after its answer."""

    idle_s: float = 5.0
    """Between two requests of a connection."""

    unread_s: float = 120.0
    """In which a client has to read something of an answer that waits for it. The system takes
    some megabytes before any of it is noticed here, which a slow client reads in that time."""

    last_words_s: float = 2.0
    """In which a client that is being turned away may read why."""

    warning_s: float = 60.0
    """Between two lines of the log about the same thing."""

    @property
    def interval_s(self) -> float:
        """How often the connections are looked at."""
        return min(1.0, self.head_s / 4, self.body_s / 4, self.idle_s / 4, self.last_words_s / 4)
