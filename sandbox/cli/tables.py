"""The output of commands: JSON for programs, tables and lines for people."""

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from sandbox.domain.printable import printable

_GAP: Final = "  "
_NARROWEST: Final = 8
"""A column is never cut to fewer characters than this."""


@dataclass(frozen=True, slots=True)
class Styled:
    """Words with a color or a weight."""

    text: str
    style: dict[str, Any]


def styled(text: str, **style: Any) -> Styled:
    """Words as `click.style` colors them."""
    return Styled(text, style)


def say(*words: str | Styled, between: str = "", err: bool = False) -> None:
    """Print one line for people.

    Control characters are escaped: a server, or one of its clients, may have put them there.
    """
    shown = [
        click.style(printable(word.text), **word.style)
        if isinstance(word, Styled)
        else printable(word)
        for word in words
    ]
    click.echo(between.join(shown), err=err)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option of every command for output to programs."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def show_json(value: Any) -> None:
    """Print a value for programs, whole."""
    click.echo(json.dumps(value, indent=2))


def show_json_line(value: Any) -> None:
    """Print a value for programs, in one line of many."""
    click.echo(json.dumps(value))


def show_table(
    headers: Sequence[str], rows: Iterable[Sequence[Any]], *, is_whole: bool = False
) -> None:
    """Print rows below their headers. On a terminal, lines are cut to its width.

    `is_whole` tables are never cut, because their values are for copying.
    """
    is_cut = sys.stdout.isatty() and not is_whole
    width = shutil.get_terminal_size().columns if is_cut else None
    first, *others = table(headers, rows, width=width)
    say(styled(first, bold=True))
    for line in others:
        say(line)


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]], *, width: int | None) -> list[str]:
    """The lines of a table, the headers first, no longer than `width` if possible.

    None is shown as a dash. The widest columns are cut, and cut values end in dots.
    """
    cells = [list(headers), *([_shown(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    while width is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return [
        _GAP.join(
            _cut(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def _shown(value: Any) -> str:
    return "-" if value is None or value == "" else printable(str(value))


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 3] + "..."


def counted(count: int, one: str, many: str = "") -> str:
    """`1 message`, `2 messages`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
