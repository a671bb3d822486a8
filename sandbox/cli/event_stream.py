"""Following the events of a world until interrupted."""

import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, Final, NamedTuple

from sandbox.cli.control_client import RemoteWorld, Unanswered
from sandbox.cli.output import counted, say

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 2.0
_LOOKS_EVERY_MS: Final = 500
_GRACE_S: Final = 0.25
"""A write in progress notices the closed pipe itself, and ends the block."""

_REMEMBERED_MAX: Final = 10_000
"""More than the server lists of past events at once."""

_GAP: Final = "gap"
"""The kind of what a server sends where it left out events."""

_LEFT: Final = "what the world still has comes now"


class Happened(NamedTuple):
    """Something of a kind that happened in a world."""

    kind: str
    data: dict[str, Any]


class Followed(NamedTuple):
    """What happened: one event, or the past that was read after a connection or a gap."""

    is_past: bool
    events: list[Happened]


def follow(
    world: RemoteWorld,
    kinds: Sequence[str],
    identify: Callable[[Happened], Hashable],
    read_past: Callable[[], Iterable[Happened]],
) -> Iterator[Followed]:
    """The past events of a world, and those from now on; none is left out or comes twice.

    After each connection the past is read, and only what is new of it comes. `identify` gives an
    event a key, or None to one that the past does not have. Reconnects if the connection breaks,
    and says so on stderr.

    Raises Unanswered if the first connection fails, or if the server refuses a later one because
    the world is gone.
    """
    past = _Past(identify, read_past)
    was_connected = False
    wait_s = _FIRST_WAIT_S
    while True:
        why, is_connected = "the server ended it", False
        try:
            with world.server.stream(world.path("stream", kinds=",".join(kinds))) as events:
                if was_connected:
                    _tell("reconnected; missed events follow")
                is_connected = was_connected = True
                yield past.catch_up()
                for event in events:
                    data: Any = event.json()
                    happened = Happened(event.event, data)
                    if happened.kind == _GAP:
                        missed = counted(data["missed"], "event")
                        _tell(f"{missed} came faster than could be read; {_LEFT}")
                        yield past.catch_up()
                    elif past.is_new(happened):
                        yield Followed(False, [happened])
        except Unanswered as error:
            if not (was_connected and error.is_away):
                raise
            why = str(error)
        if is_connected:
            _tell(f"the connection broke: {why}; reconnecting")
            wait_s = _FIRST_WAIT_S
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


class _Past:
    """The events so far. A connection may send again some of those that were read before."""

    def __init__(
        self,
        identify: Callable[[Happened], Hashable],
        read: Callable[[], Iterable[Happened]],
    ) -> None:
        self._identify = identify
        self._read = read
        self._seen: dict[Hashable, None] = {}
        self._ahead: set[Hashable] = set()

    def catch_up(self) -> Followed:
        """Read the past; what was not seen yet."""
        past = {self._identify(one): one for one in self._read()}
        new = [one for key, one in past.items() if key not in self._seen]
        self._ahead = set(past)
        self._remember(past)
        return Followed(True, new)

    def is_new(self, happened: Happened) -> bool:
        """Whether an event of the connection was not read with the past."""
        key = self._identify(happened)
        if key in self._ahead:
            return False
        if key is not None:
            # From here on, all events are newer than the past that was read.
            self._ahead.clear()
            self._remember([key])
        return True

    def _remember(self, keys: Iterable[Hashable]) -> None:
        self._seen.update(dict.fromkeys(keys))
        while len(self._seen) > _REMEMBERED_MAX:
            del self._seen[next(iter(self._seen))]


def _tell(notice: str) -> None:
    say(f"sandbox: {notice}", err=True)


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
