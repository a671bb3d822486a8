"""The exact bytes of messages, kept at hand while several endpoints get them."""

from collections import OrderedDict
from typing import Final

from sandbox.domain.events import Message, body_of

BODIES_MAX: Final = 256
"""So many are kept, those made first forgotten first."""


class Bodies:
    """Writes bodies, each once as far as they are kept."""

    def __init__(self) -> None:
        self._bodies: OrderedDict[str, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._bodies)

    def of(self, message: Message) -> bytes:
        """The exact bytes that are signed and sent."""
        body = self._bodies.get(message.id)
        if body is None:
            body = self._bodies[message.id] = body_of(message)
            if len(self._bodies) > BODIES_MAX:
                self._bodies.popitem(last=False)
        return body
