"""Following the events of a world until interrupted."""

import os
import select
import signal
import stat
import sys
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, Final, TypeVar

from sandbox.cli.control_client import RemoteWorld, Unanswered
from sandbox.cli.output import counted, say

T = TypeVar("T")

CONNECTED: Final = "connected"
BROKEN: Final = "broken"
GAP: Final = "gap"

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 2.0
_LOOKS_EVERY_MS: Final = 500
_GRACE_S: Final = 0.25
"""A write in progress notices the closed pipe itself, and ends the block."""

_REMEMBERED_MAX: Final = 10_000
"""More than the server lists of past events at once."""


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that happened in a world, or to its connection.

    `kind` is a requested one, GAP (the server left out `missed` events), CONNECTED (`again` is
    true for a reconnection) or BROKEN (`why`).
    """

    kind: str
    data: dict[str, Any]


def follow(world: RemoteWorld, kinds: Sequence[str]) -> Iterator[Happened]:
    """The events of a world from now on. Reconnects if the connection breaks.

    Raises Unanswered if the first connection fails, or if the server refuses a later one because
    the world is gone.
    """
    path = world.path("stream", kinds=",".join(kinds))
    was_connected = False
    wait_s = _FIRST_WAIT_S
    while True:
        why = "the server ended it"
        connected = False
        try:
            with world.server.stream(path) as events:
                yield Happened(CONNECTED, {"again": was_connected})
                connected = was_connected = True
                for event in events:
                    data: Any = event.json()
                    yield Happened(event.event, data)
        except Unanswered as error:
            if not (was_connected and error.is_away):
                raise
            why = str(error)
        if connected:
            yield Happened(BROKEN, {"why": why})
            wait_s = _FIRST_WAIT_S
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


def tell_of_connection(happened: Happened) -> None:
    """Print on stderr that the connection broke, is back, or missed events.

    The caller handles all other kinds.
    """
    notice = None
    if happened.kind == BROKEN:
        notice = f"the connection broke: {happened.data['why']}; reconnecting"
    elif happened.kind == CONNECTED and happened.data["again"]:
        notice = "reconnected; missed events follow"
    elif happened.kind == GAP:
        notice = (
            f"{counted(happened.data['missed'], 'event')} came faster than could be read; what "
            "the world still has comes now"
        )
    if notice is not None:
        say(f"sandbox: {notice}", err=True)


class Seen:
    """The events shown so far, so none is missed or shown twice.

    After each connection the past events are read too; the connection may send some of them again.
    """

    def __init__(self) -> None:
        self._keys: dict[Hashable, None] = {}
        self._ahead: set[Hashable] = set()

    def forget(self) -> None:
        """Treat everything as new again."""
        self._keys.clear()

    def only_new(self, past: Iterable[tuple[Hashable, T]]) -> list[T]:
        """The past events that were not seen yet; each comes with the key that identifies it."""
        entries = list(past)
        new = [entry for key, entry in entries if key not in self._keys]
        self._ahead = {key for key, _ in entries}
        for key, _ in entries:
            self._remember(key)
        return new

    def is_new(self, key: Hashable) -> bool:
        """Whether an event of the connection was not read with the past."""
        if key in self._ahead:
            return False
        # From here on, all events are newer than the past that was read.
        self._ahead.clear()
        self._remember(key)
        return True

    def _remember(self, key: Hashable) -> None:
        self._keys[key] = None
        if len(self._keys) > _REMEMBERED_MAX:
            del self._keys[next(iter(self._keys))]


@contextmanager
def until_stopped() -> Iterator[None]:
    """A block that ends without an error message when it is stopped.

    It stops on Ctrl-C, on SIGTERM, when its terminal closes, or when its output has no reader.
    """
    is_stopping = False

    def stop(*_: object) -> None:
        nonlocal is_stopping
        # Once is enough: a second signal would interrupt the clean-up of the first.
        if not is_stopping:
            is_stopping = True
            raise KeyboardInterrupt

    numbers = [signal.SIGINT, signal.SIGTERM, *filter(None, [getattr(signal, "SIGHUP", None)])]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        with suppress(KeyboardInterrupt), _watching_the_reader():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _watching_the_reader() -> Iterator[None]:
    """Stop the process when the pipe that it writes to loses its reader.

    A write would notice that, but there may be nothing to write for hours.
    """
    descriptor = _pipe()
    if descriptor is None:
        yield
        return
    done = Event()

    def watch() -> None:
        poll = select.poll()
        # poll() always reports errors, without any flag.
        poll.register(descriptor, 0)
        while not done.is_set():
            if poll.poll(_LOOKS_EVERY_MS) and not done.wait(_GRACE_S):
                os.kill(os.getpid(), signal.SIGTERM)
                return

    Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _pipe() -> int | None:
    """The descriptor of standard output, if it is a pipe that can be polled."""
    try:
        descriptor = sys.stdout.fileno()
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except (OSError, ValueError):
        # Standard output may not be a file.
        return None
    return descriptor if is_pipe and hasattr(select, "poll") else None
