"""Reads a long JSON document in pieces, so no single step takes long.

The document is cut at commas between members, at any depth. Each piece is wrapped in the brackets
that are open around it, so the parser reads it as a document of its own. Its values go into the
containers that are open. So the parser's own rules hold for the whole document.
"""

import re
import secrets
from typing import Any, Final

from pydantic_core import from_json

from sandbox.store.steps import Steps

PIECE_BYTES: Final = 64 * 1024
"""About so much is parsed in one step."""

VALUE_BYTES_MAX: Final = 8 * 1024 * 1024
"""A single text or number cannot be cut; a longer one is refused."""

MEMBERS_MAX: Final = 500_000
"""The most members of one object or list: growing a larger one takes too long in one step."""

DEPTH_MAX: Final = 200
"""So deep the parser reads."""

_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRINGS: Final = re.compile(_STRING, re.DOTALL)
_TO_LAST_COMMA: Final = re.compile(rb'(?:[^",]++|%b|(,))*+' % _STRING, re.DOTALL)
_NO_BRACKETS: Final = bytes(sorted(set(range(256)) - set(b"{}[]")))
_CLOSING: Final = str.maketrans("{[", "}]")


class NotJson(ValueError):
    """The bytes are not a JSON document; the message gives the reason and the place."""


def parse(body: bytes | bytearray) -> Steps[Any]:
    """The JSON value in the body, as `from_json` reads it without NaN. Raises NotJson."""
    if len(body) <= PIECE_BYTES:
        return _parsed(body, 0)
    document = _PartlyRead()
    start = 0
    while start < len(body):
        piece, bare = yield from _piece(body, start)
        document.add(piece, bare, start)
        start += len(piece) + 1
        yield
    if not document.is_complete:
        raise NotJson("it ends too early")
    return document.value


def _piece(body: bytes | bytearray, start: int) -> Steps[tuple[bytes, bytes]]:
    """The piece that begins there, and the same without its texts.

    It ends at a comma outside of texts, or with the document.
    """
    size = PIECE_BYTES
    while True:
        end = len(body)
        if start + size < end:
            # Mostly the last comma is one.
            end = body.rfind(b",", start, start + size)
        piece = bytes(body[start : max(end, start)])
        bare = _STRINGS.sub(b"", piece)
        if end >= 0 and (b'"' not in bare or end == len(body)):
            return piece, bare
        match = _TO_LAST_COMMA.match(body, start, start + size)
        if match is not None and (end := match.start(1)) >= 0:
            piece = bytes(body[start:end])
            return piece, _STRINGS.sub(b"", piece)
        if size >= VALUE_BYTES_MAX:
            raise NotJson(f"a value at byte {start} is longer than {VALUE_BYTES_MAX >> 20} MiB")
        size *= 4
        yield


class _PartlyRead:
    """The parts read so far.

    `_open` lists the open containers, outermost first, and `_brackets` the bracket of each. The
    parser's input has two marks that no sender can know: one for a container that an earlier piece
    began, and one at the end of a container that a later piece continues.
    """

    def __init__(self) -> None:
        self.value: Any = None
        self._open: list[Any] = []
        self._brackets = ""
        self._begun, self._unfinished = secrets.token_hex(16), secrets.token_hex(16)

    def add(self, piece: bytes, bare: bytes, at: int) -> None:
        """Read one more piece, which begins at that byte; `bare` is without its texts.

        Raises NotJson.
        """
        if at and piece.lstrip()[:1] in (b"}", b"]", b""):
            raise NotJson(f"a comma is followed by no value at byte {at}")
        closed, opened = _change_of_depth(bare, at)
        left = len(self._brackets) - len(closed)
        after = self._brackets[: max(left, 0)] + opened
        if left < 0 or len(after) > DEPTH_MAX:
            raise NotJson(f"brackets do not match, or are nested too deeply, near byte {at}")
        part = _parsed(b"%b%b%b" % (self._head(), piece, self._tail(after)), at)
        parts = self._put(part)
        inner = parts[left - 1] if left else [self.value]
        self._open = self._open[:left]
        for _ in opened:
            inner = next(reversed(inner.values())) if isinstance(inner, dict) else inner[-1]
            self._open.append(inner)
        self._brackets = after
        if after:
            self._unmark(self._open[-1], at)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is open any more."""
        return not self._brackets

    def _head(self) -> bytes:
        """The brackets that are open, each but the last with the mark of what began in it."""
        outer, inner = self._brackets[:-1], self._brackets[-1:]
        return (outer.replace("{", f'{{"{self._begun}":') + inner).encode()

    def _tail(self, brackets: str) -> bytes:
        """The mark of a container that continues, and all brackets that close it."""
        if not brackets:
            return b""
        mark = f',"{self._unfinished}"' + (":0" if brackets[-1] == "{" else "")
        return (mark + brackets[::-1].translate(_CLOSING)).encode()

    def _put(self, part: Any) -> list[Any]:
        """Put the values of a piece into the open containers; returns the values for each."""
        if not self._open:
            self.value = part
            return []
        parts = []
        for depth, container in enumerate(self._open):
            parts.append(part)
            is_innermost = depth == len(self._open) - 1
            inner = None
            if isinstance(container, dict):
                inner = None if is_innermost else part.pop(self._begun)
                container.update(part)
            else:
                inner = None if is_innermost else part.pop(0)
                container.extend(part)
            if len(container) > MEMBERS_MAX:
                raise NotJson(f"an object or a list has more than {MEMBERS_MAX:,} members")
            part = inner
        return parts

    def _unmark(self, container: Any, at: int) -> None:
        """Remove the mark of a container that continues. Raises NotJson if it is missing."""
        mark = self._unfinished
        if isinstance(container, dict) and mark in container:
            del container[mark]
        elif isinstance(container, list) and container[-1:] == [mark]:
            container.pop()
        else:
            raise NotJson(f"a name appears twice in one object, near byte {at}")


def _change_of_depth(bare: bytes, at: int) -> tuple[str, str]:
    """The brackets that a piece closes without having opened them, and those that it leaves open.

    Raises NotJson.
    """
    brackets = bare.translate(None, _NO_BRACKETS)
    for _ in range(DEPTH_MAX + 1):
        shorter = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if len(shorter) == len(brackets):
            break
        brackets = shorter
    opened = brackets.lstrip(b"}]")
    if opened.strip(b"{["):
        raise NotJson(f"brackets do not match, or are nested too deeply, near byte {at}")
    return brackets[: len(brackets) - len(opened)].decode(), opened.decode()


def _parsed(document: bytes | bytearray, at: int) -> Any:
    """The value of a document at that byte. Raises NotJson."""
    try:
        return from_json(document, allow_inf_nan=False)
    except ValueError as error:
        why = str(error)
        if at:
            # The error names a place inside the wrapped piece.
            why = f"{why.partition(' at line ')[0]}, near byte {at}"
        raise NotJson(why) from None
