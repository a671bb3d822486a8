"""Following what happens in a world, until somebody stops it."""

import os
import signal
import stat
import sys
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from sandbox.cli.control import Remote, Unanswered, world_path
from sandbox.cli.tables import counted, say

T = TypeVar("T")

CONNECTED: Final = "connected"
BROKEN: Final = "broken"
GAP: Final = "gap"

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 2.0
_LOOKS_EVERY_MS: Final = 500
_GRACE_S: Final = 0.25
"""What is being written when the reader goes finds out by itself, and ends the block."""

_REMEMBERED_MAX: Final = 10_000
"""More than the server tells at once of what happened before."""


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that happened in a world, or to the connection with it.

    `kind` is one that was asked for, GAP (the server left out `missed` events), CONNECTED (`again`
    says whether it was before) or BROKEN (`why`).
    """

    kind: str
    data: dict[str, Any]


def follow(server: Remote, world_id: str, kinds: Sequence[str]) -> Iterator[Happened]:
    """What happens in a world from now on. A connection that breaks is made again.

    Raises Unanswered where the first connection cannot be made, and where a later one is refused:
    the world is gone.
    """
    path = f"{world_path(world_id, 'stream')}?kinds={','.join(kinds)}"
    was_connected = False
    wait_s = _FIRST_WAIT_S
    while True:
        why = "the server ended it"
        connected = False
        try:
            with server.stream(path) as events:
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
    """Say on stderr that the connection broke, that it is there again, that something is missing.

    Other happenings are for whoever follows.
    """
    said = None
    if happened.kind == BROKEN:
        said = f"the connection broke: {happened.data['why']}; connecting again"
    elif happened.kind == CONNECTED and happened.data["again"]:
        said = "connected again; what happened meanwhile comes now"
    elif happened.kind == GAP:
        said = (
            f"{counted(happened.data['missed'], 'event')} came faster than could be read; what "
            "the world still has comes now"
        )
    if said is not None:
        say(f"sandbox: {said}", err=True)


class Seen:
    """What was shown, so that nothing is missing and nothing comes twice.

    After each connection the past is read too, some of which the connection may bring once more.
    """

    def __init__(self) -> None:
        self._keys: dict[Hashable, None] = {}
        self._ahead: set[Hashable] = set()

    def forget(self) -> None:
        """Everything is new again."""
        self._keys.clear()

    def only_new(self, past: Iterable[tuple[Hashable, T]]) -> list[T]:
        """What of the past, each with what tells it from all others, was not seen yet."""
        entries = list(past)
        new = [entry for key, entry in entries if key not in self._keys]
        self._ahead = {key for key, _ in entries}
        for key, _ in entries:
            self._remember(key)
        return new

    def is_new(self, key: Hashable) -> bool:
        """Whether what the connection brings was not read with the past."""
        if key in self._ahead:
            return False
        # From here on it brings what was not there yet when the past was read.
        self._ahead.clear()
        self._remember(key)
        return True

    def _remember(self, key: Hashable) -> None:
        self._keys[key] = None
        if len(self._keys) > _REMEMBERED_MAX:
            del self._keys[next(iter(self._keys))]


@contextmanager
def until_stopped() -> Iterator[None]:
    """A block that ends without a complaint when it is stopped.

    That is by Ctrl-C, which is how it is meant to be ended, by SIGTERM, with its terminal, or
    because nobody reads its output any more.
    """
    is_stopping = False

    def stop(*_: object) -> None:
        nonlocal is_stopping
        # Once is enough: a second time would break off what ends the first.
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
    """End the process's work once the pipe that it writes to has no reader.

    A write would tell, but there may be nothing to write for hours.
    """
    descriptor = _pipe()
    if descriptor is None:
        yield
        return
    from threading import Event, Thread

    done = Event()

    def watch() -> None:
        import select

        poll = select.poll()
        # Of errors one hears without asking for anything.
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
    """The descriptor of standard output where it is a pipe that can be watched."""
    import select

    try:
        descriptor = sys.stdout.fileno()
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except (OSError, ValueError):
        # Standard output may be no file at all.
        return None
    return descriptor if is_pipe and hasattr(select, "poll") else None
