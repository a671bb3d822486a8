"""Text for people and from people: decoding files, safe printing, and the nearest known word.

Files are UTF-8, with or without a byte order mark (assumed D48). Text for a terminal, a log line or
a header has no control characters, escape sequences, line breaks of any kind, or characters that
change the direction of text (assumed D25-plain).
"""

import json
import re
import tomllib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Any, Final

from pydantic import (
    AfterValidator,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core.core_schema import CoreSchema, no_info_after_validator_function

from sandbox.domain.json_text import DEPTH_MAX, depth_of


class NotUtf8(ValueError):
    """Bytes that are not UTF-8; the message says how to save the file."""


def strip_mark(content: bytes) -> bytes:
    """Return the bytes without a byte order mark of UTF-8.

    Raises NotUtf8 for the marks of UTF-16.
    """
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise NotUtf8("is UTF-16; save it as UTF-8")
    return content.removeprefix(BOM_UTF8)


def decode_text(content: bytes) -> str:
    """Return the text of a file. Raises NotUtf8 for anything but UTF-8."""
    try:
        return strip_mark(content).decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotUtf8(f"is not UTF-8 (byte {error.start}); save it as UTF-8") from None


def why_not_read(error: OSError | NotUtf8) -> str:
    """Return why a text file cannot be read, for a message that begins with its name."""
    if isinstance(error, NotUtf8):
        return str(error)
    return f"cannot be read: {error.strerror or error}"


KEY_PARTS_MAX: Final = 32
"""How many parts a key of a TOML file may have, with dots between them."""

_KEY_PART: Final = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY: Final = re.compile(
    # A key stands at the beginning of a line, a table or a pair.
    rf"(?:^|[\[{{,])[ \t]*+(?:{_KEY_PART}\.[ \t]*+){{{KEY_PARTS_MAX}}}",
    re.MULTILINE,
)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the document in the text of a file. Raises TOMLDecodeError.

    A byte order mark, which clients that read a file may leave in it, is not part of the text.
    """
    text = text.removeprefix("\ufeff")
    if _LONG_KEY.search(text):
        # The parser would take minutes for a key with thousands of parts.
        raise tomllib.TOMLDecodeError(f"a key has more than {KEY_PARTS_MAX} parts")
    try:
        document = tomllib.loads(text)
        if depth_of(document) > DEPTH_MAX:
            raise RecursionError
        # Raises ValueError for a number with thousands of digits.
        json.dumps(document, default=str)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        raise tomllib.TOMLDecodeError("a number has too many digits") from None
    return document


_OBEYED: Final = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""Compiled at first use, so that the start does not wait for it."""


def obeyed_in(text: str) -> str | None:
    """Return the first control character in the text, as an escape; None if there is none."""
    found = re.search(_OBEYED, text)
    return found and spell_out(found[0])


def printable(text: str) -> str:
    """Return the text on one line, with unprintable characters as escapes."""
    return "".join(char if char.isprintable() else spell_out(char) for char in text)


def spell_out(char: str) -> str:
    r"""Return a character as its escape, like `\n` or `\x1b`."""
    return char.encode("unicode_escape").decode("ascii")


WORD_CHARS_MAX: Final = 250
"""Longer words resemble no known one: those have at most 100 characters."""


OFTEN_MEANT: Final = dict.fromkeys(
    ("declined", "decline", "issuer_declined", "issuer_decline", "card_declined"), "do_not_honor"
) | {"tip": "tipAmount", "void": "reverse"}
"""Words whose likely meaning is not the word that they resemble most."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word closest to `word`, or None if none is close enough."""
    if len(word) > WORD_CHARS_MAX:
        return None
    words = {one.lower(): one for one in known}
    if (meant := OFTEN_MEANT.get(word.lower())) in words.values():
        return meant
    matches = get_close_matches(word.lower(), words, n=1, cutoff=0.6)
    return words[matches[0]] if matches else None


class UnknownWord(ValueError):
    """An unknown word; `nearest` is the known one that was probably meant."""

    def __init__(self, message: str, word: str, known: Iterable[str]) -> None:
        self.nearest = nearest(word, known)
        super().__init__(message + _hint(self.nearest))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint like `; did you mean 'capture'?`, or an empty string."""
    return _hint(nearest(word, known))


def _hint(meant: str | None) -> str:
    return f"; did you mean {meant!r}?" if meant else ""


def suggest_words(word: str, known: Iterable[str], *, shown: int = 6) -> str:
    """Return a hint as `did_you_mean` does, or else a few of the known words."""
    words = list(dict.fromkeys(known))
    hint = did_you_mean(word, words)
    if hint or not words:
        return hint
    more = len(words) - shown
    return "; there are " + ", ".join(words[:shown]) + (f" and {more} more" if more > 0 else "")


class OneOf:
    """An annotation of a text for its JSON Schema: it is one of these words."""

    def __init__(self, words: Collection[str]) -> None:
        self.words = words

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Add the words to the schema; they are not checked."""
        return {**handler(schema), "enum": list(self.words)}


class KnownWord(OneOf):
    """The same annotation, which also refuses any other text."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        """Check the text after its type."""
        return no_info_after_validator_function(self._check, handler(source))

    def _check(self, word: str) -> str:
        if word not in self.words:
            raise ValueError(f"must be one of {', '.join(self.words)}")
        return word


def one_of(what: str, words: Collection[str]) -> AfterValidator:
    """Return a validator that refuses any other word, with the nearest one as a hint."""

    def check(word: str) -> str:
        if word not in words:
            raise ValueError(f"must be {what}{did_you_mean(word, words)}")
        return word

    return AfterValidator(check)


def expects(sentence: str) -> WrapValidator:
    """Return a validator with one message for a union, instead of one for each of its types."""

    def check(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValidationError:
            raise ValueError(sentence) from None

    return WrapValidator(check)
