"""The output of commands: JSON for programs, tables and lines for people."""

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import Any, Final

import click

from sandbox.domain.text import printable

_GAP: Final = "  "
_NOTHING: Final = "-"
"""What stands for a value that is not there."""


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


def say_parts(parts: Sequence[str | Styled], *, between: str = _GAP) -> None:
    """Print parts in one line. On a terminal, a part that does not fit begins the next line."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    line: list[str | Styled] = []
    used = 0
    for part in parts:
        size = len(part.text if isinstance(part, Styled) else part)
        if width is not None and line and used + len(between) + size > width:
            say(*line, between=between)
            line, used = [""], 0
        used += size + (len(between) if line else 0)
        line.append(part)
    say(*line, between=between)


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
    headers: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    is_whole: bool = False,
    drops: Sequence[str] = (),
) -> None:
    """Print rows below their headers. On a terminal, they fit its width.

    Texts of `is_whole` tables are never wrapped, because their values are for copying. `drops` are
    the headers of columns that a narrow terminal goes without, the first one first.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    first, *others = table(headers, rows, width=width, is_whole=is_whole, drops=drops)
    say(styled(first, bold=True))
    for line in others:
        say(line)


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    width: int | None,
    is_whole: bool = False,
    drops: Sequence[str] = (),
) -> list[str]:
    """The lines of a table, the headers first, none longer than `width` if possible.

    None is shown as a dash. No word is ever cut: texts are wrapped between words. If that is not
    enough, the columns of `drops` go, and then each row becomes a block with a line for each value.
    """
    cells = [list(headers), *([_shown(value) for value in row] for row in rows)]
    dropped = [name for name in drops if name in headers]
    while True:
        widths = _widths(cells, width, is_whole=is_whole)
        if widths is not None:
            return [line for row in cells for line in _lines(row, widths)]
        if not dropped:
            return _blocks(cells, width or 0)
        place = cells[0].index(dropped.pop(0))
        cells = [row[:place] + row[place + 1 :] for row in cells]


def _widths(
    cells: Sequence[Sequence[str]], width: int | None, *, is_whole: bool
) -> list[int] | None:
    """The width of each column, None if the words need more than there is."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = widths if is_whole else [max(map(_longest_word, column)) for column in columns]
    too_much = 0 if width is None else sum(widths) + len(_GAP) * (len(widths) - 1) - width
    widths = list(widths)
    while too_much > 0:
        wide = [one for one in range(len(widths)) if widths[one] > least[one]]
        if not wide:
            return None
        widths[max(wide, key=widths.__getitem__)] -= 1
        too_much -= 1
    return widths


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The lines of one row: as many as its longest text needs."""
    wrapped = [_wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
    return [
        _GAP.join(part.ljust(size) for part, size in zip(parts, widths, strict=True)).rstrip()
        for parts in zip_longest(*wrapped, fillvalue="")
    ]


def _wrapped(text: str, size: int) -> list[str]:
    """The text in lines of that size, broken between words only."""
    if len(text) <= size:
        return [text]
    return wrap(text, size, break_long_words=False, break_on_hyphens=False) or [text]


def _blocks(cells: Sequence[Sequence[str]], width: int) -> list[str]:
    """A block for each row: its first value, and below it the others with their headers."""
    headers, *rows = cells
    lines = [headers[0]]
    for first, *others in rows:
        lines.append(first)
        for name, value in zip(headers[1:], others, strict=True):
            if value == _NOTHING:
                continue
            head = f"{_GAP}{name}: "
            if len(head) + _longest_word(value) > width:
                lines.append(head.rstrip())
                head = _GAP * 2
            texts = _wrapped(value, max(width - len(head), 1))
            lines.append(head + texts[0])
            lines.extend(" " * len(head) + text for text in texts[1:])
    return lines


def _shown(value: Any) -> str:
    return _NOTHING if value is None or value == "" else printable(str(value))


def counted(count: int, one: str, many: str = "") -> str:
    """`1 message`, `2 messages`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
