"""The baseline: what the benchmarks gave for the last release, and what has moved since.

It holds exact figures, and ratios to a bare application; times of one machine mean nothing on
another.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.report import Result
from sandbox import __version__

PATH: Final = Path(__file__).parent / "baseline.json"
MOVED: Final = 0.03
"""A change by more than this part is named."""


def save(results: Sequence[Result], machine: Mapping[str, Any]) -> None:
    """Store these results in place of those of the same names; others stay."""
    before = _read()["results"] if PATH.exists() else {}
    steady = {one.name: round(one.steady, 4) for one in results if one.steady is not None}
    content = {
        "version": __version__,
        "python": machine["python"],
        "system": machine["system"],
        "results": dict(sorted({**before, **steady}.items())),
    }
    PATH.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def moved(results: Sequence[Result], machine: Mapping[str, Any]) -> list[str]:
    """What moved since the baseline, a line for each; what did not is only counted."""
    if not PATH.exists():
        return ["There is no baseline to compare with; --save writes one."]
    stored = _read()
    known: Mapping[str, float] = stored["results"]
    is_alike = (stored["python"], stored["system"]) == (machine["python"], machine["system"])
    lines, compared = [], 0
    for one in results:
        now, before = one.steady, known.get(one.name)
        if now is None or not before or (one.is_exact and not is_alike):
            continue
        compared += 1
        change = now / before - 1
        if abs(change) > MOVED:
            lines.append(f"  {one.name}: {_shown(before)} to {_shown(now)} ({change:+.1%})")
    since = f"since the baseline of {stored['version']} (Python {stored['python']})"
    if not lines:
        return [f"None of {compared} figures moved by more than {MOVED:.0%} {since}."]
    return [f"{len(lines)} of {compared} figures moved by more than {MOVED:.0%} {since}:", *lines]


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _read() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return content
