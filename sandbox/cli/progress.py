"""A progress message on the terminal during long work."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from threading import Event

_AFTER_S: Final = 0.5
"""What takes less than this needs no sign."""

_EVERY_S: Final = 0.2
_SIGNS: Final = "|/-\\"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show the current work and its duration on a terminal's stderr, until the block ends."""
    if not sys.stderr.isatty():
        yield
        return
    from threading import Event, Thread

    done = Event()
    sign = Thread(target=_show, args=(what, done), daemon=True)
    sign.start()
    try:
        yield
    finally:
        done.set()
        sign.join()


def _show(what: str, done: "Event") -> None:
    waited_s, line = _AFTER_S, ""
    if done.wait(_AFTER_S):
        return
    turn = 0
    while True:
        line = f"{_SIGNS[turn % len(_SIGNS)]} {what}, {waited_s:.0f} s"
        click.echo(f"\r{line}", nl=False, err=True)
        if done.wait(_EVERY_S):
            break
        turn, waited_s = turn + 1, waited_s + _EVERY_S
    click.echo("\r" + " " * len(line) + "\r", nl=False, err=True)
