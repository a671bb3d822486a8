"""`sandbox tail`, which follows the journal of a world, and `follow`, for any of its events."""

import os
import select
import signal
import stat
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Final, NamedTuple

import click

from sandbox.cli import output
from sandbox.cli.arguments import STATUSES
from sandbox.cli.control_client import Away, RemoteWorld, WorldCommand
from sandbox.cli.platform_client import KEY
from sandbox.domain.text import suggest_words

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 2.0
_GRACE_S: Final = 0.25
"""A write in progress notices the closed pipe itself, and ends the block."""

_REMEMBERED_MAX: Final = 10_000
"""More than the past events that the server lists at once."""


class Happened(NamedTuple):
    """An event of a world: its kind and its data."""

    kind: str
    data: dict[str, Any]


Followed = tuple[bool, list[Happened]]
"""Whether it is the past, read after a connection or a gap, and its events; otherwise one event."""


def follow(
    world: RemoteWorld,
    kinds: Sequence[str],
    identify: Callable[[Happened], Hashable],
    read_past: Callable[[], Iterable[Happened]],
) -> Iterator[Followed]:
    """Yield the past events of a world, and those from now on, each exactly once.

    After each connection the past is read, and only its new events are yielded. `identify` returns
    the key of an event, or None for one that the past does not have. Reconnects if the connection
    breaks, and says so on stderr.

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
                    output.tell("reconnected; missed events follow")
                is_connected = was_connected = True
                yield past.catch_up()
                for event in events:
                    data: Any = event.json()
                    happened = Happened(event.event, data)
                    if happened.kind == "gap":
                        missed = output.count_things(data["missed"], "event")
                        output.tell(
                            f"{missed} came faster than could be read; those that the world "
                            "still has follow"
                        )
                        yield past.catch_up()
                    elif past.is_new(happened):
                        yield False, [happened]
        except Away as error:
            if not was_connected:
                raise
            why = str(error)
        if is_connected:
            output.tell(f"the connection broke: {why}; reconnecting")
            wait_s = _FIRST_WAIT_S
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


@dataclass(slots=True)
class _Past:
    """The events so far. A connection may send some again that were read before."""

    _identify: Callable[[Happened], Hashable]
    _read: Callable[[], Iterable[Happened]]
    _seen: deque[Hashable] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_MAX))
    _ahead: set[Hashable] = field(default_factory=set)

    def catch_up(self) -> Followed:
        """Read the past, and return the events in it that were not seen yet."""
        past, seen = {self._identify(one): one for one in self._read()}, set(self._seen)
        new = {key: one for key, one in past.items() if key not in seen}
        self._ahead = set(past)
        self._seen.extend(new)
        return True, list(new.values())

    def is_new(self, happened: Happened) -> bool:
        """Whether an event of the connection was not read with the past."""
        key = self._identify(happened)
        if key in self._ahead:
            return False
        if key is not None:
            # From here on, all events are newer than the past that was read.
            self._ahead.clear()
            self._seen.append(key)
        return True


def attempts_at(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the attempts at a message, as the stream has them.

    A delivery without attempts yields one without a time.
    """
    for delivery in message["deliveries"]:
        about = {
            "message_id": message["id"],
            "event_type": message["event_type"],
            "request_id": message["request_id"],
            "endpoint_id": delivery["endpoint_id"],
            "delivery_status": delivery["status"],
            "rule": delivery["rule"],
        }
        for attempt in delivery["attempts"] or [dict.fromkeys(("at", "status_code", "error"))]:
            yield about | attempt


@contextmanager
def until_stopped() -> Iterator[None]:
    """End the block without an error message when it is stopped.

    It stops on Ctrl-C, on SIGTERM, when its terminal closes, or when its output has no reader.
    """

    def stop(*_: object) -> None:
        # Once is enough: a second signal would interrupt the clean-up of the first.
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
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
    done = Event()

    def watch(poll: "select.poll") -> None:
        # It waits for errors only, which are reported without any flag.
        poll.poll()
        if not done.wait(_GRACE_S):
            os.kill(os.getpid(), signal.SIGTERM)

    # Standard output may not be a file, and Windows has no poll. A Mac cannot poll a terminal.
    with suppress(AttributeError, OSError):
        poll, descriptor = select.poll(), sys.stdout.fileno()
        poll.register(descriptor, 0)
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            Thread(target=watch, args=(poll,), daemon=True).start()
    try:
        yield
    finally:
        done.set()


# --- the journal --------------------------------------------------------------------------------

LIST_MAX: Final = 1_000
"""How many messages, or requests, the server lists at once."""

_SHOWN_OF_KEY: Final = 4
"""The number of characters of a key that the journal shows."""

_SHORTEST_KEY: Final = 32
"""A shorter text is the name of a key."""

_INDENT: Final = " " * 10
_COLORS: Final = {"2": "green", "3": "cyan", "4": "yellow", "5": "red"}


@click.command(cls=WorldCommand)
@click.option("--route", help="Only requests of this operation, like payments.create.")
@click.option("--status", "statuses", type=STATUSES, help="Only these: 402, 4xx or 401,5xx.")
@click.option("--method", help="Only this method.")
@click.option("--path", help="Only paths with this text in them.")
@click.option("--key", type=KEY, help="Only this key: its name in the cast, or the key itself.")
@click.option("--reasons/--no-reasons", default=True, help="Show the reasons below each request.")
@click.option(
    "--limit",
    type=click.IntRange(0, LIST_MAX),
    default=10,
    help="Number of past requests to start with.",
)
@click.option("--no-follow", is_flag=True, help="Exit after the past requests.")
def tail(*, reasons: bool, limit: int, no_follow: bool, world: RemoteWorld, **only: Any) -> None:
    """Follow the requests to a world, with reasons and webhooks.

    Runs until interrupted. Below each request it shows the decisions with their clauses, the
    outcome of a payment with the rule that chose it, rules that almost matched, notes, and the
    attempts at its webhooks with the rule that changed them. Between requests it shows changes of
    the clock. Times are the world's, in UTC.

    \b
    Examples:
      sandbox tail
      sandbox tail --status 4xx --key merchant
      sandbox tail --route payments.create --no-reasons
      sandbox tail --no-follow --limit 1
      sandbox tail --json | jq .response.status_reason
    """
    names = {key["key"]: name for name, key in world.read("GET")["keys"].items()}
    only["key"] = _mask_key(only["key"], names) if only["key"] else None
    tail = _Tail(world, only, names, reasons)
    if no_follow:
        tail.show_past(tail.read_past(), last=limit)
        return
    with until_stopped():
        tail.run(limit)


def _mask_key(key: str, names: Mapping[str, str]) -> str:
    """Return the end of the key, which the journal shows. Ends the command for an unknown name."""
    full = next((one for one, name in names.items() if name == key), key)
    if len(full) < _SHORTEST_KEY and not full.startswith("****"):
        output.refuse(f"--key: the cast has no {key!r}{suggest_words(key, names.values())}")
    return full[-_SHOWN_OF_KEY:]


@dataclass(slots=True)
class _Tail:
    """A journal that is followed, filtered by `only`. `names` has the cast's names by key."""

    world: RemoteWorld
    only: Mapping[str, Any]
    names: Mapping[str, str]
    reasons: bool
    shown: deque[str] = field(default_factory=lambda: deque(maxlen=LIST_MAX))
    """The ids of the last requests that were shown."""

    def run(self, limit: int) -> None:
        """Follow the journal until stopped. Raises Unanswered."""
        # An unknown route is refused before anything is followed.
        self.read_past(limit=1)
        kinds = ("request", "attempt", "clock")
        for is_past, events in follow(self.world, kinds, _identify, self.read_past):
            if is_past:
                self.show_past(events, limit)
                limit = LIST_MAX
                continue
            ((kind, data),) = events
            if kind == "request" and self._is_wanted(data):
                self._show(data)
            elif kind == "attempt" and not output.is_json():
                self._show_attempt(data)
            elif kind == "clock" and not output.is_json():
                words = output.styled("clock", bold=True), f"{data['mode']} at {data['now']}"
                output.say(data["now"][11:23], *words, between="  ")

    def read_past(self, limit: int = LIST_MAX) -> list[Happened]:
        """Return the newest requests of the journal. Raises Unanswered."""
        route = self.only["route"] or None
        listed = self.world.read("GET", "requests", limit=limit, route=route)["requests"]
        return [Happened("request", entry) for entry in listed]

    def show_past(self, past: Iterable[Happened], last: int) -> None:
        """Show the last of these requests, each with its webhooks. Raises Unanswered."""
        wanted = deque((data for _, data in past if self._is_wanted(data)), maxlen=last)
        webhooks = defaultdict[str, list[dict[str, Any]]](list)
        if wanted and not output.is_json():
            for message in self.world.read("GET", "messages", limit=LIST_MAX)["messages"]:
                webhooks[str(message["request_id"])] += attempts_at(message)
        for entry in wanted:
            self._show(entry)
            for attempt in webhooks[entry["id"]]:
                self._show_attempt(attempt)

    def _is_wanted(self, entry: Mapping[str, Any]) -> bool:
        only = self.only
        return (
            (only["route"] is None or entry["route"] == only["route"])
            and (only["statuses"] is None or str(entry["status"]).startswith(only["statuses"]))
            and (only["method"] is None or entry["method"] == only["method"].upper())
            and (only["path"] is None or only["path"] in entry["path"])
            and (only["key"] is None or (entry["key"] or "").endswith(only["key"]))
        )

    def _show_attempt(self, attempt: Mapping[str, Any]) -> None:
        """Print an attempt at a webhook, if its request was shown."""
        if attempt["request_id"] not in self.shown:
            return
        is_taken = attempt["error"] is None and attempt["at"] is not None
        result = str(attempt["status_code"] or attempt["error"] or attempt["delivery_status"])
        rule = attempt["rule"] and output.styled(f"rule {attempt['rule']!r}", fg="yellow")
        shown = output.styled(result, fg="green" if is_taken else "red")
        at, event, id = attempt["at"], attempt["event_type"], attempt["message_id"]
        parts = [_INDENT + "->", event, shown, rule, at and at[11:23], id]
        output.say_parts(filter(None, parts))

    def _show(self, entry: dict[str, Any]) -> None:
        if output.is_json():
            output.show_json(entry, indent=None)
            return
        self.shown.append(entry["id"])
        output.say_parts(self._line(entry))
        if self.reasons:
            for words in _reasons(entry):
                output.say(_INDENT, *words)

    def _line(self, entry: Mapping[str, Any]) -> list[str]:
        status = str(entry["status"])
        query = f"?{entry['query']}" if entry["query"] else ""
        return [
            entry["at"][11:23],
            output.styled(status, fg=_COLORS.get(status[0])),
            f"{entry['method']} {entry['path']}{query}",
            self._who(entry["key"]),
            f"{entry['duration_ms']:.0f} ms",
            entry["id"],
        ]

    def _who(self, key: str | None) -> str:
        """Return the cast's name of a key, if only one matches."""
        if key is None:
            return "no key"
        end = key[-_SHOWN_OF_KEY:]
        named = [name for full, name in self.names.items() if full.endswith(end)]
        return named[0] if len(named) == 1 else key


def _identify(happened: Happened) -> Hashable:
    kind, data = happened
    return (data["id"], data["at"], data["duration_ms"]) if kind == "request" else None


def _reasons(entry: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the decisions behind the answer, one line each."""
    steps = [decision["step"] for decision in entry["decisions"]]
    width = max(map(len, ["near miss", *steps]))
    for decision in entry["decisions"]:
        step, verdict = decision["step"], decision["verdict"]
        yield (
            f"{step:<{width}}  ",
            output.styled(verdict, fg="green" if verdict == "ok" else "yellow"),
            f"  {decision['reason']}  ",
            output.styled(f"[{decision['clause']}]", dim=True),
        )
    outcome = entry["outcome"]
    if outcome is not None and "outcome" not in steps:
        chosen = f"{outcome['key']}, chosen by {outcome['source']}"
        if outcome["rule"] not in ("", outcome["source"]):
            chosen += f": {outcome['rule']}"
        yield f"{'outcome':<{width}}  ", output.styled(chosen, bold=True)
    for word, lines in (("near miss", entry["near_misses"]), ("note", entry["notes"])):
        for line in lines:
            yield (f"{word:<{width}}  {line}",)
