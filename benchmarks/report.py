"""The results and options of benchmarks, and the table that prints them."""

import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final, Literal

ROUNDS: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to measure: rounds of each comparison, and what sends the requests."""

    rounds: int = ROUNDS
    generator: Literal["wrk", "builtin"] = "builtin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A limit for a figure, or for its ratio to the baseline."""

    bound: float
    of: Literal["ratio", "figure"] = "ratio"
    is_floor: bool = False

    def is_met_by(self, value: float) -> bool:
        """Whether the value is on the right side; the bound itself belongs to a floor alone."""
        return value >= self.bound if self.is_floor else value < self.bound

    def text(self, unit: str) -> str:
        """The target as the table shows it."""
        suffix = f" {unit}" if self.of == "figure" else ""
        return f"{self.of} {'>=' if self.is_floor else '<'} {self.bound:g}{suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line of the table. `notes` qualify it.

    `is_exact`: the figure is the same in every run on machines of one kind, as counts are.
    """

    name: str
    unit: str
    figure: float
    target: Target
    baseline: float | None = None
    ratio: float | None = None
    notes: tuple[str, ...] = field(default=())
    is_exact: bool = False

    @property
    def steady(self) -> float | None:
        """What can be compared with an earlier run: an exact figure, else the ratio."""
        return self.figure if self.is_exact else self.ratio

    @property
    def is_met(self) -> bool:
        """Whether the target is met."""
        value = self.figure if self.target.of == "figure" else self.ratio
        assert value is not None
        return self.target.is_met_by(value)

    def view(self) -> dict[str, Any]:
        """The result as `--json` prints it."""
        return {
            "name": self.name,
            "unit": self.unit,
            "figure": self.figure,
            "baseline": self.baseline,
            "ratio": self.ratio,
            "target": self.target.text(self.unit),
            "is_met": self.is_met,
            "notes": list(self.notes),
        }


def compared(
    name: str,
    unit: str,
    *,
    figures: Sequence[float],
    baselines: Sequence[float],
    target: Target,
    notes: tuple[str, ...] = (),
) -> Result:
    """The result of rounds that measured both sides, one right after the other.

    The ratio is that of the medians; the notes say how far the rounds' own ratios lie apart.
    """
    figure, baseline = median(figures), median(baselines)
    ratios = [one / other for one, other in zip(figures, baselines, strict=True)]
    return Result(
        name=name,
        unit=unit,
        figure=figure,
        baseline=baseline,
        ratio=figure / baseline,
        target=target,
        notes=(f"single rounds from {min(ratios):.2f} to {max(ratios):.2f}", *notes),
    )


def machine() -> dict[str, Any]:
    """The conditions of the figures besides the code."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": usable,
        "load_average": load,
        "wrk": shutil.which("wrk") is not None,
    }


def table(results: Sequence[Result]) -> str:
    """All results as aligned columns, with their notes below."""
    head = ("benchmark", "figure", "baseline", "ratio", "target", "met")
    rows = [head, *(_row(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    notes = [f"  {one.name}: {'; '.join(one.notes)}" for one in results if one.notes]
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def _row(result: Result) -> tuple[str, ...]:
    return (
        result.name,
        _amount(result.figure, result.unit),
        "" if result.baseline is None else _amount(result.baseline, result.unit),
        "" if result.ratio is None else f"{result.ratio:.2f}",
        result.target.text(result.unit),
        "yes" if result.is_met else "NO",
    )


def _amount(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"
