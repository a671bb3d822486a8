"""Forwarding: other servers answer the requests for the worlds that they own."""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from starlette.types import Receive, Scope, Send

from sandbox.domain.faults import MISDIRECTED, NOT_READ, UNAVAILABLE, Refusal
from sandbox.domain.keys import ParsedKey
from sandbox.platform.context import Headers, IncomingRequest
from sandbox.platform.responses import render_refusal, send_answer
from sandbox.platform.wire import BadInput
from sandbox.store.files.port import StoreError, Unavailable
from sandbox.worlds.elsewhere import Elsewhere
from sandbox.worlds.registry import Worlds

log = logging.getLogger("sandbox.cluster")

FORWARDED: Final = b"x-sandbox-forwarded"
"""The header of a request that another server forwarded. It is not forwarded again."""

ROUND_MAX: Final = 8
"""How many requests to begin in one iteration of the event loop."""

_NOT_HERE: Final = Refusal(MISDIRECTED, "another server has the world")


def was_forwarded(headers: Headers) -> bool:
    """Whether another server forwarded this request."""
    return any(name == FORWARDED for name, _ in headers)


@dataclass(eq=False, repr=False)
class Forwarder:
    """Forwards requests to the platform to the servers that own their worlds."""

    elsewhere: Elsewhere
    worlds: Worlds
    body_bytes_max: int
    _turns: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(ROUND_MAX), init=False
    )

    async def take_turn(self) -> None:
        """Put a request off to a later iteration of the event loop if this one has enough.

        The end of a commit is noticed between two iterations, and only then does the next commit
        begin. With the requests of many clients in one iteration, server and database would wait
        for each other.
        """
        await self._turns.acquire()
        asyncio.get_running_loop().call_soon(self._turns.release)

    def has_keys(self, incoming: IncomingRequest) -> bool:
        """Whether the body may hold keys that the user supplies."""
        return self.worlds.profile.key_format.hint_bytes in (incoming.body or b"")

    async def _agree_on_keys(self, incoming: IncomingRequest, key: ParsedKey) -> None:
        """Ask the other servers which keys in the body their worlds already have."""
        key_format, found = self.worlds.profile.key_format, self.worlds.holder(key)
        if found is None:
            return
        world_id, reserve = found[0].id, self.elsewhere.reserve_key
        texts = key_format.find_whole_keys(bytes(incoming.body or b"").decode("latin-1"))
        reserved = {text: await reserve(world_id, text, key_format.parse(text)) for text in texts}
        incoming.taken_keys = [text for text, at in reserved.items() if at is None]
        incoming.reserved_keys = [at for at in reserved.values() if at is not None]

    async def forward(
        self, incoming: IncomingRequest, scope: Scope, receive: Receive, send: Send
    ) -> bool:
        """Return whether the request was answered. If not, this server owns its world now.

        Reads the body if another server is to get it. Raises ClientGone.
        """
        path, profile, sent = incoming.path, self.worlds.profile, self._read_key(incoming)
        key = profile.key_format.parse(sent.decode("latin-1"))
        # If it was forwarded, another server believes that the world is here.
        is_forwarded = was_forwarded(incoming.headers)
        try:
            # All servers have to agree on a key that the user supplies.
            if self.has_keys(incoming):
                await self._agree_on_keys(incoming, key)
            while self.worlds.holder(key) is None:
                peer = await self.elsewhere.have_key(sent, key, afresh=is_forwarded)
                if peer is None:
                    return False
                if is_forwarded:
                    answer = render_refusal(_NOT_HERE, path, profile)
                    answer.headers.append((FORWARDED, b"1"))
                    await send_answer(answer, scope, receive, send)
                    return True
                await incoming.read_body(receive, self.body_bytes_max)
                body = incoming.body
                if body is None:
                    # It was too large to keep; the owner refuses any body of this size.
                    body = b" " * (self.body_bytes_max + 1)
                if await self.elsewhere.carry(peer, peer.url, scope, receive, send, body):
                    return True
        except StoreError as error:
            # The log has the reason; the client must not learn about databases.
            log.error("%s", error)
            fault = NOT_READ if not isinstance(error, Unavailable) else UNAVAILABLE
            await send_answer(render_refusal(Refusal(fault), path, profile), scope, receive, send)
            return True
        return False

    def _read_key(self, incoming: IncomingRequest) -> bytes:
        try:
            return (incoming.header(self.worlds.profile.api_key_header_bytes) or b"").rstrip(b" \t")
        except BadInput:
            return b""
