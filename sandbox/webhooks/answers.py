"""A receiver's answer to a webhook: what is stored of it, and what it means for the attempt."""

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from time import time
from typing import Final

RESPONSE_CHARS_MAX: Final = 4_096
"""Characters stored of a receiver's answer: enough for an error message."""

_MARGIN_BYTES: Final = 256
"""Bytes read beyond the stored ones, so a key is recognized before it is cut."""

BODY_BYTES_MAX: Final = RESPONSE_CHARS_MAX + _MARGIN_BYTES
"""The most bytes of an answer that are looked at."""

_ESCAPE: Final = re.compile(r"\\u00([0-7][0-9a-fA-F])")


def find_error(status: int | None) -> str | None:
    """Find out why an answer with this status is no success; None if it is one."""
    if status is not None and 200 <= status < 300:
        return None
    is_redirect = status is not None and 300 <= status < 400
    return f"answered {status}" + ("; redirects are not followed" if is_redirect else "")


def stored_text(answer: bytes | bytearray, mask: Callable[[str], str]) -> str:
    """The stored part of an answer's body, without secrets. Source: assumed D5."""
    if not answer:
        return ""
    text = answer.decode("utf-8", "replace")
    # Receivers mostly answer JSON, in which an escape may hide a digit of a card.
    plain = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    masked = mask(plain)
    return (masked if masked != plain else mask(text))[:RESPONSE_CHARS_MAX]


def parse_retry_after(text: str | None) -> float | None:
    """The wait of a Retry-After header: seconds, or a date. None for anything else."""
    if text is None:
        return None
    if text.isascii() and text.strip().isdecimal():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError, OverflowError):
        return None
