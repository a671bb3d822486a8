"""Receivers in the process of the sandbox, such as that of a test: webhooks need no connection."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

from sandbox.domain.webhooks import Sent
from sandbox.webhooks.answers import BODY_BYTES_MAX, find_error, parse_retry_after, stored_text

Reply = tuple[int, Mapping[str, str], bytes]
"""Status, headers by lower-case name, and body of an answer."""

Take = Callable[[str, Mapping[str, str], bytes], Reply]
"""Takes path, headers by lower-case name and body of a webhook.

It runs on the event loop, so it must not wait.
"""

_WITHOUT_BODY: Final = (204, 304)


class LocalReceivers:
    """Hands webhooks to receivers by the origin of their URLs, as if they came over the network.

    `mask` masks secrets in a receiver's answer.
    """

    def __init__(self, user_agent: str, *, mask: Callable[[str], str]) -> None:
        self._user_agent = user_agent
        self._mask = mask
        self._receivers: dict[str, Take] = {}

    def add(self, origin: str, take: Take) -> None:
        """Hand everything that goes to this origin, `http://HOST:PORT`, to this receiver."""
        self._receivers[origin] = take

    def has(self, url: str) -> bool:
        """Whether a receiver in this process takes what goes to this URL."""
        return bool(self._receivers) and _origin_of(url) in self._receivers

    def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        """Hand over one attempt, and judge the answer as that of a connection."""
        started = perf_counter()
        parts = urlsplit(url)
        sent = {
            "host": parts.netloc,
            "user-agent": self._user_agent,
            "accept": "*/*",
            "content-type": "application/json",
            "content-length": str(len(body)),
            **headers,
        }
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        status, answered, answer = self._receivers[_origin_of(url)](target, sent, body)
        if status in _WITHOUT_BODY:
            answer = b""
        error = find_error(status)
        return Sent(
            status_code=status,
            duration_ms=round((perf_counter() - started) * 1000, 3),
            response=stored_text(answer[:BODY_BYTES_MAX], self._mask),
            error=error and self._mask(error),
            retry_after_s=parse_retry_after(answered.get("retry-after")),
        )


def _origin_of(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])
