"""The limits of one connection, of all connections, and of their time.

The spec has none. Decision 41 gives the reason for each.
"""

from typing import Final

from sandbox.control.rows import SNAPSHOT_BYTES_MAX
from sandbox.domain.values import Value
from sandbox.platform.wire import BODY_BYTES_MAX

HEAD_BYTES_MAX: Final = 65_536
"""Bytes of the request line and the headers of a request, and of the extra data between and after
the pieces of a chunked body. Source: assumed D25-heads."""

HEADER_FIELDS_MAX: Final = 100
"""Source: assumed D25-heads."""

SLICE_BYTES: Final = 16_384
"""Bytes for the parser at a time, so a packet full of requests is not parsed all at once."""

PIECES_AT_ONCE_MAX: Final = 500
"""After so many pieces of a body, however small they are, other connections have their turn."""

READERS_AT_ONCE_MAX: Final = 8
"""The most connections that read more of a large body in one round of the event loop."""

BODIES_BYTES_MAX: Final = SNAPSHOT_BYTES_MAX + 64 * BODY_BYTES_MAX
"""All bodies that are being received at a time: the largest snapshot, and 64 large requests.
Source: assumed D25-bodies."""

BODY_BYTES_PER_S_MIN: Final = 1_000
"""A body has one second more for each of these bytes. Source: assumed D25-times."""

LATE_AFTER_ROUNDS: Final = 2
"""A check that comes this many intervals late judges no connection: the loop was busy, and data
that arrived in the meantime is not read yet."""


class Times(Value, frozen=True, kw_only=True):
    """Time limits of the stages, in seconds. Source: assumed D25-times."""

    head_s: float = 10.0
    """From the first byte of a request to the end of its headers; also from the connection to its
    first byte."""

    body_s: float = 30.0
    """From the end of the headers to the end of the body; more for a large one that keeps coming.
    Also the time in which an unread body is discarded after its answer."""

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
