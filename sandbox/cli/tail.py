"""`sandbox tail`: follows the journal of a world, with reasons, webhooks and clock."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import click

from sandbox.cli.choices import STATUSES
from sandbox.cli.control_client import RemoteWorld, world_options
from sandbox.cli.event_stream import Happened, follow, until_stopped
from sandbox.cli.output import (
    Styled,
    json_flag,
    refuse,
    say,
    say_parts,
    show_json_line,
    styled,
)
from sandbox.domain.text import known_words

_LIST_MAX: Final = 1_000
_SHOWN_OF_KEY: Final = 4
"""The number of characters of a key that the journal shows."""

_SHORTEST_KEY: Final = 32
"""A shorter text is the name of a key."""

_INDENT: Final = " " * 10
_COLORS: Final = {"2": "green", "3": "cyan", "4": "yellow", "5": "red"}
_VERDICTS: Final = {"ok": "green"}


@click.command()
@click.option("--route", help="Only requests of this row, like payments.create.")
@click.option("--status", "statuses", type=STATUSES, help="Only these: 402, 4xx or 401,5xx.")
@click.option("--method", help="Only this method.")
@click.option("--path", help="Only paths with this text in them.")
@click.option("--key", help="Only this key: its name in the cast, or the key itself.")
@click.option("--reasons/--no-reasons", default=True, help="Show the reasons below each request.")
@click.option(
    "--limit",
    type=click.IntRange(0, _LIST_MAX),
    default=10,
    help="Number of past requests to start with.",
)
@click.option("--no-follow", is_flag=True, help="Exit after the past requests.")
@world_options
@json_flag
def tail(
    *,
    reasons: bool,
    limit: int,
    no_follow: bool,
    world: RemoteWorld,
    as_json: bool,
    key: str | None,
    **filters: Any,
) -> None:
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
    tail = _Tail(
        world=world,
        wanted=_Wanted(key=None if key is None else _masked(key, names), **filters),
        names=names,
        reasons=reasons,
        as_json=as_json,
    )
    if no_follow:
        tail.show_last(limit)
        return
    with until_stopped():
        tail.run(limit)


def _masked(key: str, names: Mapping[str, str]) -> str:
    """The end of the key, which the journal shows. Ends the command for an unknown name."""
    full = next((one for one, name in names.items() if name == key), key)
    if len(full) < _SHORTEST_KEY and not full.startswith("****"):
        refuse(f"--key: the cast has no {key!r}{known_words(key, names.values())}")
    return full[-_SHOWN_OF_KEY:]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Which requests to show; None shows all. `key` is its end."""

    route: str | None
    statuses: tuple[str, ...] | None
    method: str | None
    path: str | None
    key: str | None

    def __contains__(self, entry: Mapping[str, Any]) -> bool:
        return (
            (self.route is None or entry["route"] == self.route)
            and (self.statuses is None or str(entry["status"]).startswith(self.statuses))
            and (self.method is None or entry["method"] == self.method.upper())
            and (self.path is None or self.path in entry["path"])
            and (self.key is None or (entry["key"] or "").endswith(self.key))
        )


@dataclass(slots=True, kw_only=True)
class _Tail:
    """A journal that is followed. `names` has the keys of the cast, in full."""

    world: RemoteWorld
    wanted: _Wanted
    names: Mapping[str, str]
    reasons: bool
    as_json: bool
    shown: dict[str, None] = field(default_factory=dict)
    """The ids of the last requests that were shown."""

    def run(self, limit: int) -> None:
        """Follow the journal until stopped. Raises Unanswered."""
        # An unknown route is refused before anything is followed.
        self._past(limit=0)
        kinds = ("request", "attempt", "clock")
        for is_past, events in follow(self.world, kinds, _identify, self._past):
            if is_past:
                entries = [happened.data for happened in events]
                self._show_all(entries, last=limit, with_webhooks=True)
                limit = _LIST_MAX
                continue
            ((kind, data),) = events
            if kind == "request":
                self._show_all([data])
            elif kind == "attempt" and not self.as_json:
                self._show_attempt(data)
            elif kind == "clock" and not self.as_json:
                _show_clock(data)

    def show_last(self, limit: int) -> None:
        """Show so many requests of the past. Raises Unanswered."""
        self._show_all([data for _, data in self._past()], last=limit, with_webhooks=True)

    def _past(self, limit: int = _LIST_MAX) -> list[Happened]:
        """The newest requests of the journal."""
        query = {"limit": max(limit, 1), "route": self.wanted.route or None}
        listed = self.world.read("GET", "requests", query=query)["requests"]
        return [Happened("request", entry) for entry in listed]

    def _show_all(
        self, entries: list[dict[str, Any]], last: int = _LIST_MAX, *, with_webhooks: bool = False
    ) -> None:
        fitting = [entry for entry in entries if entry in self.wanted]
        fitting = fitting[max(len(fitting) - last, 0) :]
        is_long = with_webhooks and bool(fitting) and not self.as_json
        webhooks = self._webhooks() if is_long else {}
        for entry in fitting:
            self._show(entry)
            for attempt in webhooks.get(entry["id"], ()):
                self._show_attempt(attempt)

    def _webhooks(self) -> dict[str, list[dict[str, Any]]]:
        """The past attempts at webhooks, by the request that caused them."""
        found: dict[str, list[dict[str, Any]]] = {}
        for message in self.world.read("GET", "messages", query={"limit": _LIST_MAX})["messages"]:
            about = {"message_id": message["id"], "event_type": message["event_type"]}
            about["request_id"] = message["request_id"]
            for delivery in message["deliveries"]:
                of = about | {"rule": delivery["rule"], "delivery_status": delivery["status"]}
                attempts = delivery["attempts"] or [dict.fromkeys(("at", "status_code", "error"))]
                found.setdefault(str(message["request_id"]), []).extend(
                    of | attempt for attempt in attempts
                )
        return found

    def _show_attempt(self, attempt: Mapping[str, Any]) -> None:
        """Print an attempt at a webhook, if its request was shown."""
        if attempt["request_id"] not in self.shown:
            return
        is_taken = attempt["error"] is None and attempt["at"] is not None
        result = str(attempt["status_code"] or attempt["error"] or attempt["delivery_status"])
        rule = [styled(f"rule {attempt['rule']!r}", fg="yellow")] if attempt["rule"] else []
        say_parts(
            [
                _INDENT + "->",
                attempt["event_type"],
                styled(result, fg="green" if is_taken else "red"),
                *rule,
                *([attempt["at"][11:23]] if attempt["at"] else []),
                attempt["message_id"],
            ],
            between="  ",
        )

    def _show(self, entry: dict[str, Any]) -> None:
        if self.as_json:
            show_json_line(entry)
            return
        self.shown[entry["id"]] = None
        if len(self.shown) > _LIST_MAX:
            del self.shown[next(iter(self.shown))]
        say_parts(self._line(entry), between="  ")
        if self.reasons:
            for words in _reasons(entry):
                say(_INDENT, *words)

    def _line(self, entry: Mapping[str, Any]) -> list[str | Styled]:
        status = str(entry["status"])
        query = f"?{entry['query']}" if entry["query"] else ""
        return [
            entry["at"][11:23],
            styled(status, fg=_COLORS.get(status[0])),
            f"{entry['method']} {entry['path']}{query}",
            self._who(entry["key"]),
            f"{entry['duration_ms']:.0f} ms",
            entry["id"],
        ]

    def _who(self, key: str | None) -> str:
        """The cast's name of a key, if only one matches."""
        if key is None:
            return "no key"
        end = key[-_SHOWN_OF_KEY:]
        named = [name for full, name in self.names.items() if full.endswith(end)]
        return named[0] if len(named) == 1 else key


def _show_clock(clock: Mapping[str, Any]) -> None:
    mode = f"{clock['mode']} at {clock['now']}"
    say(clock["now"][11:23], styled("clock", bold=True), mode, between="  ")


def _identify(happened: Happened) -> Hashable:
    kind, data = happened
    return (data["id"], data["at"], data["duration_ms"]) if kind == "request" else None


def _reasons(entry: Mapping[str, Any]) -> Iterator[tuple[str | Styled, ...]]:
    """The decisions behind the answer, one line each."""
    steps = [str(decision["step"]) for decision in entry["decisions"]]
    width = max([len(step) for step in steps] + [len("near miss")])
    for step, decision in zip(steps, entry["decisions"], strict=True):
        verdict = decision["verdict"]
        yield (
            f"{step:<{width}}  ",
            styled(verdict, fg=_VERDICTS.get(verdict, "yellow")),
            f"  {decision['reason']}  ",
            styled(f"[{decision['clause']}]", dim=True),
        )
    outcome = entry["outcome"]
    if outcome is not None and "outcome" not in steps:
        chosen = f"{outcome['key']}, chosen by {outcome['source']}"
        if outcome["rule"] not in ("", outcome["source"]):
            chosen += f": {outcome['rule']}"
        yield f"{'outcome':<{width}}  ", styled(chosen, bold=True)
    for word, lines in (("near miss", entry["near_misses"]), ("note", entry["notes"])):
        for line in lines:
            yield (f"{word:<{width}}  {line}",)
