"""Misspelled words: the nearest known word, for an error message."""

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'capture'?`, or an empty text if no known word is near."""
    from difflib import get_close_matches

    near = get_close_matches(str(word).lower()[:250], list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
