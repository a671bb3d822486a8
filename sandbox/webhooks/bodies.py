"""The exact bytes of messages, cached while several endpoints get them, or one tries again."""

from collections import OrderedDict
from typing import Final

from sandbox.domain.events import Message, body_of

BODIES_MAX: Final = 2_048
"""Cached bodies of one world; the oldest is dropped first."""

BODIES_BYTES_MAX: Final = 4 * 1_048_576
"""Bytes of these bodies together. A usual one has 2 KB; a sample can have a mebibyte."""


class Bodies:
    """Renders bodies, each once while it is cached."""

    def __init__(self) -> None:
        self._bodies: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._bodies)

    def of(self, message: Message) -> bytes:
        """The exact bytes that are signed and sent."""
        body = self._bodies.get(message.id)
        if body is None:
            body = self._bodies[message.id] = body_of(message)
            self._bytes += len(body)
            while len(self._bodies) > BODIES_MAX or self._bytes > BODIES_BYTES_MAX:
                self._bytes -= len(self._bodies.popitem(last=False)[1])
        return body
