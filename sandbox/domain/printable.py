"""Text for a terminal, a log line or a header: one line without control characters.

It removes control characters, escape sequences, line breaks of any kind, and characters that
change the direction of text (assumed D25-plain).
"""

import re
from typing import Final

_OBEYED: Final = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""Compiled when it is first used, which a start need not wait for."""


def obeyed_in(text: str) -> str | None:
    """The first character of the text that a terminal could obey, written out."""
    found = re.search(_OBEYED, text)
    return found and written_out(found[0])


def printable(text: str) -> str:
    """The text in one line, with whatever is not printed written out."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else written_out(char) for char in text)


def written_out(char: str) -> str:
    r"""A character as its escape, like `\n` or `\x1b`."""
    return char.encode("unicode_escape").decode("ascii")
