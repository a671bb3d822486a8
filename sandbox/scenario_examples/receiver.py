"""A correct webhook receiver, which replaces the network while examples run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sandbox.domain.webhooks import Sent
from sandbox.webhooks.signing import why_not_genuine

URL: Final = "http://receiver.test/webhooks"
REFUSED: Final = 401


@dataclass(frozen=True, slots=True)
class Arrived:
    """One received attempt. `status` is that of the body, None if it cannot be read."""

    message_id: str
    status: str | None
    is_genuine: bool
    is_answered: bool


@dataclass(slots=True)
class Receiver:
    """Accepts genuine webhooks and refuses others. `is_answered`: the client has its answer."""

    header_prefix: str
    secret: str = ""
    is_answered: bool = True
    arrived: list[Arrived] = field(default_factory=list)

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        """One attempt, as a sender makes it. Endpoints of the scenario itself are not looked at."""
        if url != URL:
            return Sent(status_code=204, duration_ms=0, response="", error=None)
        took = why_not_genuine(self.header_prefix, self.secret, body, headers) is None
        try:
            status = json.loads(body).get("status")
        except ValueError:
            status = None
        message_id = headers[f"{self.header_prefix}-id"]
        self.arrived.append(Arrived(message_id, status, took, self.is_answered))
        if took:
            return Sent(status_code=200, duration_ms=0, response="", error=None)
        return Sent(status_code=REFUSED, duration_ms=0, response="", error=f"answered {REFUSED}")

    async def close(self) -> None:
        """There are no connections to close."""
