"""Misspelt words: finding the nearest known word for an error message."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final

WORD_CHARS_MAX: Final = 250
"""A longer word resembles no known one: those have 100 characters at most."""


OFTEN_MEANT: Final = dict.fromkeys(
    ("declined", "decline", "issuer_declined", "issuer_decline", "card_declined"), "do_not_honor"
)
"""What is meant by words that resemble others more."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to `word`, or None if none is close enough."""
    if len(word) > WORD_CHARS_MAX:
        return None
    known = list(known)
    if (meant := OFTEN_MEANT.get(word.lower())) in known:
        return meant
    matches = get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    return matches[0] if matches else None


class UnknownWord(ValueError):
    """A word that is none of those known; `nearest` is the one that was probably meant."""

    def __init__(self, message: str, word: str, known: Iterable[str]) -> None:
        known = list(known)
        super().__init__(message + did_you_mean(word, known))
        self.nearest = nearest(word, known)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'capture'?`, or an empty string when nothing is near."""
    match = nearest(word, known)
    return f"; did you mean {match!r}?" if match else ""


def known_words(word: str, known: Iterable[str], *, shown: int = 6) -> str:
    """As `did_you_mean`; a few of the known words when nothing is near."""
    words = list(dict.fromkeys(known))
    hint = did_you_mean(word, words)
    if hint or not words:
        return hint
    more = len(words) - shown
    return "; there are " + ", ".join(words[:shown]) + (f" and {more} more" if more > 0 else "")


class OneOf:
    """Of an annotated text: the words that it is one of, for the schema that is made of it."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Used only for writing a schema; it checks nothing."""
        return {**handler(schema), "enum": list(self.words)}
