"""Heads of requests that came before (decision 69).

A client sends the same headers with one request after the other; only the first line and the body
differ. Headers that were parsed once, to the last byte, need not be parsed again.
"""

import re
from typing import Final

from sandbox.domain.values import Value
from sandbox.platform.request_context import Headers
from sandbox.platform.wire import by_name

HEADS_MAX: Final = 256
"""As many are remembered; then all are forgotten, and parsed anew."""

HEAD_BYTES_MAX: Final = 2_048
"""Larger ones are not remembered."""

LINES_MAX: Final = 1_024
"""As many first lines are remembered, of up to so many bytes: a client asks for the same again."""

METHODS: Final = {
    name.encode(): name for name in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
}
"""An answer to HEAD has no body, which only the ASGI way knows."""

_METHOD: Final = b"|".join(METHODS)
_FIRST_LINE: Final = re.compile(rb"(%b) (/[\w-][\w/.-]*) HTTP/1\.1" % _METHOD, re.ASCII)
_END: Final = b"\r\n\r\n"


class KnownHead(Value, frozen=True):
    """Headers, none of which is there twice, and what HTTP itself needs of them."""

    headers: Headers
    fields: dict[bytes, bytes]
    host: bytes
    body_bytes: int


class KnownLine(Value, frozen=True):
    """A first line with a plain path, taken apart."""

    method: str
    url: bytes
    path: str


class KnownRequest(Value, frozen=True):
    """A request that came whole, and whose headers came before."""

    line: KnownLine
    head: KnownHead
    body: bytes


class KnownHeads:
    """The heads that the connections of a server share."""

    def __init__(self) -> None:
        self._heads: dict[bytes, KnownHead] = {}
        self._lines: dict[bytes, KnownLine] = {}

    def __len__(self) -> int:
        return len(self._heads)

    def find(self, data: bytes) -> KnownRequest | None:
        """The request, if this is all of one with a plain path and a head that is known."""
        line_ends = data.find(b"\r\n")
        head_ends = data.find(_END, line_ends)
        if head_ends < 0:
            return None
        head = self._heads.get(data[line_ends:head_ends])
        if head is None or len(data) - head_ends != len(_END) + head.body_bytes:
            return None
        text = data[:line_ends]
        line = self._lines.get(text) or self._line(text)
        if line is None:
            return None
        return KnownRequest(line, head, data[head_ends + len(_END) :])

    def _line(self, text: bytes) -> KnownLine | None:
        """The first line, taken apart and remembered; None if it is not plain."""
        found = _FIRST_LINE.fullmatch(text)
        if found is None:
            return None
        line = KnownLine(METHODS[found[1]], found[2], found[2].decode("ascii"))
        if len(text) <= LINES_MAX:
            if len(self._lines) >= LINES_MAX:
                self._lines.clear()
            self._lines[text] = line
        return line

    def remember(self, data: bytes, headers: Headers, host: bytes) -> None:
        """Remember the head of the request that these bytes begin with, and that was parsed."""
        line_ends = data.find(b"\r\n")
        head_ends = data.find(_END, line_ends)
        fields = by_name(headers)
        if (
            not 0 <= head_ends - line_ends <= HEAD_BYTES_MAX
            or _FIRST_LINE.fullmatch(data, 0, line_ends) is None
            or fields is None
            or b"transfer-encoding" in fields
        ):
            return
        if len(self._heads) >= HEADS_MAX:
            self._heads.clear()
        body_bytes = int(fields.get(b"content-length", 0))
        self._heads[data[line_ends:head_ends]] = KnownHead(headers, fields, host, body_bytes)
