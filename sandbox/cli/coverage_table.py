"""The table of `sandbox coverage`.

A coverage is an answer of the control API: section to `{"exercised": {name: count}, "never":
[name, ...]}`, names in the order of their table. The test kit, which shares no code with this
package, prints the same table.
"""

import textwrap
from collections.abc import Mapping
from typing import Any, Final

NAMES_MAX: Final = 12
"""The most names to print for a section; the JSON has all of them."""

_WIDTH: Final = 100


def table(coverage: Mapping[str, Mapping[str, Any]], *, names_max: int = NAMES_MAX) -> list[str]:
    """The lines of a table: how much of each section was exercised, and what never was."""
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
            # Names have dots and hyphens, at which they must not be broken.
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
