"""The parts of every generated page: a heading, tables, diagrams, code."""

from collections.abc import Iterable, Sequence
from typing import Final

from sandbox.domain.payments.transitions import NEW

_HEAD: Final = "<!-- Written by `make golden` from the tables in the code. Do not edit. -->\n\n"

NONE: Final = "-"
"""The content of an empty cell."""

Arrow = tuple[str, str, str]
"""One arrow of a diagram: the states from and to which it leads, and its label."""


def page(title: str, about: str, *parts: str) -> str:
    """Return a whole page."""
    return _HEAD + "\n".join((f"# {title}\n", f"{about}\n", *parts))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; an upright bar within a cell is escaped."""
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


def diagram(arrows: Iterable[Arrow]) -> str:
    """Return a state diagram. Two states have one arrow between them, with the labels of all."""
    labels: dict[tuple[str, str], list[str]] = {}
    for state, target, label in arrows:
        labels.setdefault(("[*]" if state == NEW else state, target), []).append(label)
    lines = ""
    for (state, target), words in labels.items():
        lines += f"    {state} --> {target}: {', '.join(words)}".removesuffix(": ") + "\n"
    return f"```mermaid\nstateDiagram-v2\n{lines}```\n"


def code(word: str | None) -> str:
    """Return the word as code; empty if there is none."""
    return NONE if word is None else f"`{word}`"


def listed(words: Iterable[str]) -> str:
    """Return the words as code, with commas."""
    return ", ".join(code(word) for word in words) or NONE


def dollars(cents: int) -> str:
    """Return minor units as people write amounts."""
    return f"${cents // 100:,}.{cents % 100:02}"
