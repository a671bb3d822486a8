"""The output of commands: JSON for programs, lines and tables for people, refusals, progress."""

import json
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, zip_longest
from pathlib import Path
from textwrap import wrap
from threading import Event, Thread
from time import monotonic
from typing import IO, Any, Final, NamedTuple, NoReturn

import click

from sandbox.domain.text import NotUtf8, decode_text, printable

EXIT_REFUSED: Final = 1
"""The request was understood but refused."""

EXIT_UNUSABLE: Final = 2
"""An input cannot be used: an option, a file, a port, a server."""

EXIT_INTERRUPTED: Final = 130
"""Ctrl-C before the end, as in shells: 128 and the number of the signal."""

_GAP: Final = "  "
_NOTHING: Final = "-"
"""Shown in place of a missing value."""


class Styled(str):
    """Words with a color or a weight, safe to print."""


def styled(text: str, **style: Any) -> Styled:
    """Return words as `click.style` colors them."""
    return Styled(click.style(printable(text), **style))


_STATUS_COLORS: Final = {
    **dict.fromkeys(("captured", "authorized", "settled", "accepted"), "green"),
    **dict.fromkeys(("declined", "error", "rejected"), "red"),
}


def styled_status(status: str, reason: str | None = None) -> Styled:
    """Return a status of the platform with its reason, in its color."""
    text = status if reason in (None, status) else f"{status}: {reason}"
    return styled(text, fg=_STATUS_COLORS.get(status))


def say(*words: str, between: str = "", err: bool = False) -> None:
    """Print one line for people.

    Control characters are escaped: a server, or one of its clients, may have put them there.
    """
    safe = (word if isinstance(word, Styled) else printable(word) for word in words)
    click.echo(between.join(safe), err=err)


def tell(notice: str) -> None:
    """Print a notice of the command itself on stderr."""
    say(f"sandbox: {notice}", err=True)


def say_lines(lines: Iterable[str]) -> None:
    """Print lines for people."""
    for line in lines:
        say(line)


def say_parts(parts: Iterable[str], *, between: str = _GAP) -> None:
    """Print parts on one line. On a terminal, a part that does not fit begins the next line."""
    width = _terminal_width()
    line: list[str] = []
    for part in parts:
        if width and line and len(click.unstyle(between.join([*line, part]))) > width:
            say(*line, between=between)
            line = [""]
        line.append(part)
    say(*line, between=between)


def _terminal_width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


class Refused(click.ClickException):
    """The end of a command with a message and an exit status."""

    def __init__(self, message: str, code: int = EXIT_UNUSABLE) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc]

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message on stderr."""
        tell(self.message)


def refuse(message: str, code: int = EXIT_UNUSABLE) -> NoReturn:
    """End the command with this message and exit status."""
    raise Refused(message, code)


@contextmanager
def refusing(*errors: type[Exception], before: str = "") -> Iterator[None]:
    """End the command with the message of one of these errors, if the block raises it."""
    try:
        yield
    except errors as error:
        raise Refused(f"{before}{error}") from None


def reason_of(error: Exception) -> str:
    """Return the reason of an error with a file, in words."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


@contextmanager
def using(file: Path | str, way: str = "read") -> Iterator[None]:
    """End the command if the block fails because the file cannot be `read`, or `written`."""
    try:
        yield
    except NotUtf8 as error:
        refuse(f"{file}: {error}")
    except (OSError, ValueError) as error:
        refuse(f"{file}: cannot be {way}: {reason_of(error)}")


def read_text(file: Path, option: str = "") -> str:
    """Return the text of a file that `option` named. Ends the command if it cannot be read."""
    with using(f"{option}{file}"):
        return decode_text(file.read_bytes())


def write_file(file: Path, content: bytes, *, option: str = "") -> None:
    """Replace the file that `option` named."""
    with using(f"{option}{file}", "written"):
        file.write_bytes(content)


class Result(NamedTuple):
    """The result of a command: a value for programs, and how to show it to people.

    `shown` is a line, or a function that prints the value, or None. `status` is the exit status,
    and `reasons` are printed for it on stderr.
    """

    value: Any
    shown: str | Callable[[Any], None] | None = None
    status: int = 0
    reasons: Sequence[str] = ()


Options = tuple[click.Option, ...]


class ResultCommand(click.Command):
    """A command that returns a Result, which is printed as JSON or for people, or None.

    It has the options of `added` after its own, and `--json` if `json` is true.
    """

    added: Options = ()

    def __init__(self, name: str | None, params: Any = (), json: bool = True, **more: Any) -> None:
        super().__init__(name, params=[*params, *self.added, *[JSON] * json], **more)

    def value_for(self, ctx: click.Context) -> dict[str, Any]:
        """Return the arguments of its function."""
        return {name: value for name, value in ctx.params.items() if name != "as_json"}

    def invoke(self, ctx: click.Context) -> None:
        """Run the command, and print its result."""
        assert self.callback
        result = ctx.invoke(self.callback, **self.value_for(ctx))
        if not isinstance(result, Result):
            return
        if is_json():
            show_json(result.value)
        elif callable(result.shown):
            result.shown(result.value)
        elif result.shown is not None:
            say(result.shown)
        for reason in result.reasons:
            tell(reason)
        ctx.exit(result.status)


JSON: Final = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")


def is_json() -> bool:
    """Whether the running command prints its result as JSON."""
    return bool(click.get_current_context().params["as_json"])


def show_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON; without `indent`, on one line."""
    click.echo(json.dumps(value, indent=indent))


Columns = Mapping[str, str | Callable[[Any], Any]] | Sequence[str]
"""The columns of a table: each header with a field, or a function that makes its value from a row.

A sequence of names stands for fields with the same words as headers.
"""


def show_table(
    rows: Collection[Any],
    columns: Columns,
    *,
    empty: str | None = None,
    is_whole: bool = False,
    drops: Sequence[str] = (),
) -> None:
    """Print rows below their headers, or `empty` without rows. On a terminal, they fit its width.

    `is_whole` tables are never wrapped, because their values are for copying. `drops` are the
    headers of columns that are left out on a narrow terminal, the first one first.
    """
    if empty is not None and not rows:
        say(empty)
        return
    if not isinstance(columns, Mapping):
        columns = {name.replace("_", " "): name for name in columns}
    cells = [[one(row) if callable(one) else row[one] for one in columns.values()] for row in rows]
    width = _terminal_width()
    first, *others = table(list(columns), cells, width=width, is_whole=is_whole, drops=drops)
    say(styled(first, bold=True))
    say_lines(others)


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    width: int | None,
    is_whole: bool = False,
    drops: Sequence[str] = (),
) -> list[str]:
    """Return the lines of a table, the headers first, none longer than `width` if possible.

    None is shown as a dash. No word is ever cut: texts are wrapped between words. If that is not
    enough, the columns of `drops` are left out, and then each row becomes a block with one line for
    each value.
    """
    cells = [list(headers), *([_to_text(value) for value in row] for row in rows)]
    dropped = [name for name in drops if name in headers]
    while (widths := _widths(cells, width, is_whole=is_whole)) is None:
        if not dropped:
            return _blocks(cells, width or 1)
        place = cells[0].index(dropped.pop(0))
        cells = [row[:place] + row[place + 1 :] for row in cells]
    return [line for row in cells for line in _lines(row, widths)]


def _widths(
    cells: Sequence[Sequence[str]], width: int | None, *, is_whole: bool
) -> list[int] | None:
    """Return the width of each column, None if the words do not fit."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = widths if is_whole else [max(map(_longest_word, column)) for column in columns]
    widths = [*widths]
    while width is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        wide = [one for one in range(len(widths)) if widths[one] > least[one]]
        if not wide:
            return None
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


break_words = partial(wrap, break_long_words=False, break_on_hyphens=False)
"""Wraps a text between words only."""


def _lines(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the lines of one row: as many as its longest text needs."""
    wrapped = [break_words(cell, max(size, 1)) for cell, size in zip(row, widths, strict=True)]
    return [
        _GAP.join(part.ljust(size) for part, size in zip(parts, widths, strict=True)).rstrip()
        for parts in zip_longest(*wrapped, fillvalue="")
    ]


def _blocks(cells: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return a block for each row: its first value, and below it the others with their headers."""
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
            rest = " " * len(head)
            lines += break_words(value, width, initial_indent=head, subsequent_indent=rest)
    return lines


def _to_text(value: Any) -> str:
    return _NOTHING if value is None or value == "" else printable(str(value))


def count_things(count: int, one: str) -> str:
    """Return a number of things, like `1 message` or `2 messages`."""
    return f"{count:,} {one}" + ("" if count == 1 else "s")


# --- progress

_AFTER_S: Final = 0.5
"""Shorter work shows no progress."""

_EVERY_S: Final = 0.2


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show the current work and its duration on a terminal's stderr, until the block ends."""
    if not sys.stderr.isatty():
        yield
        return
    done = Event()
    sign = Thread(target=_show_progress, args=(what, done), daemon=True)
    sign.start()
    try:
        yield
    finally:
        done.set()
        sign.join()


def _show_progress(what: str, done: Event) -> None:
    started, line = monotonic(), ""
    if done.wait(_AFTER_S):
        return
    for sign in cycle("|/-\\"):
        line = f"{sign} {what}, {int(monotonic() - started)} s"
        click.echo(f"\r{line}", nl=False, err=True)
        if done.wait(_EVERY_S):
            break
    click.echo("\r" + " " * len(line) + "\r", nl=False, err=True)
