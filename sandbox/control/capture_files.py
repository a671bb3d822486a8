"""Capture files, and the console in a file that shows them."""

import gzip
import json
import zlib
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from typing import Any, Final, NamedTuple, get_args, get_origin, is_typeddict

from pydantic_core import from_json

from sandbox.control.capturing import FORMAT, PROGRAM, Capture
from sandbox.control.report_page import CAPTURES_BELONG_HERE, whole_page
from sandbox.control.rows import GZIP

BYTES_MAX: Final = 256 * 1_048_576
"""A capture that is larger when it is unpacked is refused."""

_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_SHAPES: Final = {int: "a number", str: "text", dict: "an object", list: "a list"}


class NotACapture(ValueError):
    """A file that holds no capture which this version reads; the message says why."""


class NamedCapture(NamedTuple):
    """A capture as a report names it: `id` in links, `name` to people."""

    id: str
    name: str
    content: dict[str, Any]


def read_capture(file: bytes) -> dict[str, Any]:
    """The capture in the content of a file. Raises NotACapture."""
    try:
        content = from_json(_unpacked(file))
    except ValueError as error:
        raise NotACapture(f"is no capture: {error}") from None
    if not isinstance(content, dict) or content.get("program") != PROGRAM:
        raise NotACapture("is no capture of this program")
    if content.get("capture") != FORMAT:
        raise NotACapture(
            f"has the format {str(content.get('capture'))[:20]}, and this version reads {FORMAT}"
        )
    shapes = Capture.__annotations__
    for name in shapes.keys() - content.keys():
        raise NotACapture(f"has no {name}")
    for name, value in content.items():
        if name not in shapes:
            raise NotACapture(f"has {name[:40]!r}, which no capture has")
        _check(name, value, shapes[name])
    return content


def _unpacked(file: bytes) -> bytes:
    """The JSON in the file. Raises ValueError."""
    unpacking = zlib.decompressobj(wbits=_GZIP_BITS)
    try:
        text = unpacking.decompress(file, BYTES_MAX)
    except zlib.error:
        raise ValueError("it is not gzipped") from None
    if unpacking.unconsumed_tail:
        raise ValueError(f"it is larger than {BYTES_MAX // 1_048_576} MiB")
    if not unpacking.eof:
        raise ValueError("it ends too early")
    return text


def _check(name: str, value: Any, shape: Any) -> None:
    """Raises NotACapture for a member that has not the shape of its type."""
    kinds = [_kind(one) for one in get_args(shape)] if type(None) in get_args(shape) else []
    kinds = kinds or [_kind(shape)]
    if type(value) not in kinds:
        raise NotACapture(f"{name}: must be {_SHAPES[kinds[0]]}")
    if get_origin(shape) is list and not all(isinstance(item, dict) for item in value):
        raise NotACapture(f"{name}: must be a list of objects")


def _kind(shape: Any) -> type:
    return dict if is_typeddict(shape) else get_origin(shape) or shape


def with_captures(captures: Iterable[NamedCapture]) -> bytes:
    """The console as one file that shows these captures."""
    before, _, after = whole_page().decode().partition(CAPTURES_BELONG_HERE)
    return (before + "\n".join(map(_script, captures)) + after).encode()


def _script(capture: NamedCapture) -> str:
    """A capture as the page reads it."""
    told = {
        "capture": capture.id,
        "test": capture.name,
        "world": str(capture.content["world"].get("id", "")),
        "why": "",
    }
    attributes = " ".join(f'data-{name}="{escape(value)}"' for name, value in told.items())
    text = json.dumps(capture.content, separators=(",", ":")).encode()
    zipped = b64encode(gzip.compress(text, mtime=0)).decode()
    return f'<script type="{GZIP}" {attributes}>{zipped}</script>'
