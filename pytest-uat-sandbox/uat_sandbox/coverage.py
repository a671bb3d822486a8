"""Coverage of the platform by an integration: merging several worlds, and printing a table.

A coverage is an answer of the control API. Each section is `{"exercised": {name: count}, "never":
[name, ...]}`, with names in the order of their table.
"""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, Final

Coverage = Mapping[str, Mapping[str, Any]]

NAMES_MAX: Final = 12
"""How many names to print for a section; the JSON has all of them."""

_WIDTH: Final = 100


def merged(coverages: Iterable[Coverage]) -> dict[str, dict[str, Any]]:
    """Return the coverage of all together, with counts added."""
    whole: dict[str, dict[str, Any]] = {}
    for coverage in coverages:
        for name, section in coverage.items():
            whole[name] = _both(whole[name], section) if name in whole else _copy(section)
    return whole


def _copy(section: Mapping[str, Any]) -> dict[str, Any]:
    return {"exercised": dict(section["exercised"]), "never": list(section["never"])}


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    exercised = dict(one["exercised"])
    for name, count in other["exercised"].items():
        exercised[name] = exercised.get(name, 0) + count
    others = set(other["never"])
    return {"exercised": exercised, "never": [name for name in one["never"] if name in others]}


def table(coverage: Coverage, *, names_max: int = NAMES_MAX) -> list[str]:
    """Return the lines of a table: how much of each section was exercised, and what was not."""
    titles = {name: name.replace("_", " ") for name in coverage}
    width = max(map(len, titles.values()), default=0)
    lines = []
    for name, section in coverage.items():
        done, never = len(section["exercised"]), section["never"]
        total = done + len(never)
        line = f"{titles[name]:<{width}}  {done:>4} of {total:<4} {_percent(done, total):>5}"
        lines.append(line.rstrip())
        if never:
            shown = ", ".join(never[:names_max])
            rest = len(never) - names_max
            text = f"never: {shown}" + (f" and {rest} more" if rest > 0 else "")
            indent = " " * (width + 2)
            # Names contain hyphens, and must not be broken.
            lines += textwrap.wrap(
                text,
                _WIDTH,
                initial_indent=indent,
                subsequent_indent=indent + "       ",
                break_on_hyphens=False,
                break_long_words=False,
            )
    return lines


def _percent(part: int, whole: int) -> str:
    return "" if whole == 0 else f"{100 * part // whole} %"
