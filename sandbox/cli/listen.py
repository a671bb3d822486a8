"""`sandbox listen`: a world's webhooks, sent to a URL or received here, one line each."""

from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import click

from sandbox.cli.arguments import TARGET
from sandbox.cli.control_client import RemoteWorld, Unanswered, WorldCommand
from sandbox.cli.output import Result, is_json, refuse, say, show_json, styled, tell
from sandbox.cli.tail import LIST_MAX, Happened, attempts_at, follow, until_stopped
from sandbox.cli.webhooks import Received, Receiver, endpoint_options, receiving
from sandbox.domain.json_text import fields_of
from sandbox.domain.text import printable

_SAID_MAX: Final = 200
"""How many characters of a receiver's answer to show; the message has them all."""

_INDENT: Final = " " * 19


@click.command(cls=WorldCommand)
@click.argument("target", metavar="[URL]", type=TARGET, required=False)
@endpoint_options
@click.option("--print-secret", is_flag=True, help="Print the secret and exit; the endpoint stays.")
@click.option("--keep", is_flag=True, help="Do not delete the endpoint at the end.")
def listen(
    target: str | None, *, print_secret: bool, keep: bool, world: RemoteWorld, **wanted: Any
) -> Result | None:
    """Send webhooks to URL and trace them as they happen.

    Runs until interrupted. URL may be a port of this machine. Events are shown with `-->`,
    answers of the receiver with `<--`. Times are the world's, in UTC.

    Without URL the command receives the webhooks itself: it checks each signature and prints a
    line for each webhook.

    At the end the endpoint is deleted, unless it existed before or --keep is given.
    --print-secret leaves it registered: the same command without that flag then follows it.

    \b
    Examples:
      sandbox listen
      sandbox listen 9000
      sandbox listen localhost:9000/webhooks --events transaction.sale,transaction.refund
      export WEBHOOK_SECRET=$(sandbox listen 9000 --print-secret)
      sandbox listen 9000 --json | jq 'select(.kind == "attempt") | .status_code'
    """
    if target is None and (print_secret or keep):
        refuse("--print-secret and --keep need a URL: the receiver of this command ends with it")
    arrived: dict[str, deque[Received]] = {}

    def note(received: Received) -> None:
        arrived.setdefault(received.message_id, deque(maxlen=100)).append(received)

    with receiving(note) if target is None else nullcontext() as receiver:
        wanted["url"] = receiver.url if receiver else target
        wanted = {name: value for name, value in wanted.items() if value}
        listener = _Listener(world, wanted, receiver, arrived)
        if print_secret:
            listener.register()
            return Result(listener.endpoint, listener.endpoint["secret"])
        try:
            with until_stopped():
                listener.run()
        finally:
            if not keep:
                listener.leave()
    return None


@dataclass(slots=True)
class _Listener:
    """An endpoint with the settings in `wanted`, and the trace of its world's events.

    With a `receiver`, each webhook that `arrived` there is shown instead, found by the id of its
    message.
    """

    world: RemoteWorld
    wanted: dict[str, Any]
    receiver: Receiver | None
    arrived: dict[str, deque[Received]]
    endpoint: dict[str, Any] = field(default_factory=dict)
    is_ours: bool = False
    times_lost: int = 0
    """How often a restarted server had lost the endpoint, and the past with it."""

    def run(self) -> None:
        """Trace until stopped. Raises Unanswered."""
        for is_past, events in follow(self.world, ("message", "attempt"), self._key, self._past):
            if is_past and not self.endpoint:
                self.register()
                self._say_ready()
            else:
                for happened in events:
                    self._show(happened)

    # --- the endpoint -------------------------------------------------------------------------

    def register(self) -> None:
        """Use the existing endpoint with the wanted settings, or else register a new one."""
        listed = self.world.read("GET", "endpoints")["endpoints"]
        same_url = [one for one in listed if one["url"] == self.wanted["url"]]
        if fitting := next(filter(self._matches, same_url), None):
            self.endpoint = fitting
            return
        if same_url:
            tell(f"{same_url[0]['id']}, with other settings, also sends there")
        self._create()

    def _create(self, **again: str) -> None:
        self.endpoint = self.world.read("POST", "endpoints", body=self.wanted | again)
        self.is_ours = True
        if self.receiver is not None:
            self.receiver.secret = self.endpoint["secret"]
            self.receiver.is_dated_by_world = self._is_dated_by_world

    def _is_dated_by_world(self) -> bool:
        """Whether webhooks have the world's time now. Source: assumed D49."""
        with suppress(Unanswered):
            return bool(self.world.read("GET", "switches")["webhooks.timestamp"] == "world")
        return False

    def _matches(self, endpoint: dict[str, Any]) -> bool:
        """Whether the endpoint has the wanted settings."""
        if endpoint["disabled"] or endpoint["account_id"] or endpoint["filters"]:
            return False
        wanted = {"event_types": (), **self.wanted}
        has_events = set(endpoint["event_types"]) == set(wanted.pop("event_types"))
        return has_events and endpoint.items() >= wanted.items()

    def _see_to_endpoint(self) -> None:
        """Register it again with its id and secret if a restarted server has lost it."""
        listed = self.world.read("GET", "endpoints")["endpoints"]
        if self.endpoint["id"] not in [one["id"] for one in listed]:
            self.times_lost += 1
            self._create(id=self.endpoint["id"], secret=self.endpoint["secret"])
            tell("the endpoint was gone and is registered again")

    def leave(self) -> None:
        """Delete the endpoint if it was created here, and the server still runs."""
        if self.is_ours:
            with suppress(Unanswered):
                self.world.read("DELETE", "endpoints", self.endpoint["id"])

    # --- output ----------------------------------------------------------------------------

    def _past(self) -> Iterator[Happened]:
        """Yield the newest messages of the world with their attempts."""
        if self.endpoint:
            self._see_to_endpoint()
        listed = self.world.read("GET", "messages", limit=LIST_MAX)
        for message in listed["messages"]:
            attempts = list(attempts_at(message))
            del message["deliveries"]
            is_sent = self.endpoint.get("id") in [one["endpoint_id"] for one in attempts]
            yield Happened("message", message if is_sent else message | {"is_sent": False})
            for attempt in attempts:
                if attempt["at"] is not None:
                    yield Happened("attempt", attempt | {"url": self.wanted["url"]})

    def _key(self, happened: Happened) -> Hashable:
        """Return a value that identifies a message or an attempt."""
        data = happened.data
        if happened.kind == "message":
            return self.times_lost, data["id"], data["created_at"]
        names = ("message_id", "endpoint_id", "at", "duration_ms")
        return self.times_lost, *(data[name] for name in names)

    def _say_ready(self) -> None:
        if is_json():
            ready = {"kind": "ready", "world": self.world.id, "endpoint": self.endpoint}
            show_json(ready, indent=None)
            return
        what = ", ".join(self.endpoint["event_types"]) or "every event"
        was_there = "" if self.is_ours else " (already registered)"
        sends = f"{self.endpoint['id']}{was_there} sends {what} of the world {self.world.id}"
        say(f"Ready! {sends} to {self.endpoint['url']}")
        secret = styled(self.endpoint["secret"], bold=True)
        say("Its signing secret is ", secret, " (^C to quit)")

    def _show(self, happened: Happened) -> None:
        (kind, data), types = happened, self.endpoint["event_types"]
        if kind == "message" and types and data["event_type"] not in types:
            return
        if kind == "attempt" and data["endpoint_id"] != self.endpoint["id"]:
            return
        if self.receiver is not None:
            if kind == "attempt":
                waiting = self.arrived.get(data["message_id"])
                _show_received(waiting.popleft() if waiting else None, data)
        elif is_json():
            show_json({"kind": kind, **data}, indent=None)
        elif kind == "message":
            _show_message(data)
        else:
            _show_attempt(data)
            if data["error"] is not None:
                reply = ": ".join(filter(None, (data["error"], data["response"])))
                say(_INDENT + printable(reply)[:_SAID_MAX])
                say(_INDENT + self._what_next(data))

    def _what_next(self, attempt: dict[str, Any]) -> str:
        message = self.world.read("GET", "messages", attempt["message_id"])
        at = {one["endpoint_id"]: one["next_attempt_at"] for one in message["deliveries"]}
        if (due := at.get(attempt["endpoint_id"])) is not None:
            is_same_day = due[:10] == attempt["at"][:10]
            return f"retry at {due[11:23] if is_same_day else due}"
        endpoint = self.world.read("GET", "endpoints", attempt["endpoint_id"])
        if endpoint["disabled"]:
            return f"the endpoint is disabled: {endpoint['disabled_reason']}"
        return f"no retry: the delivery is {attempt['delivery_status']}"


def _show_message(message: dict[str, Any]) -> None:
    status = fields_of(message["body"]).get("status")
    known = [status] if isinstance(status, str) else []
    lost = ["not sent: the endpoint did not exist"] if "is_sent" in message else []
    event = styled(message["event_type"], bold=True)
    say(message["created_at"][11:23], "-->", event, *known, message["id"], *lost, between="  ")


def _show_attempt(attempt: dict[str, Any]) -> None:
    is_taken = attempt["error"] is None
    answer = str(attempt["status_code"] or "---")
    asked = f" POST {attempt['url']}  {attempt['duration_ms']:.0f} ms  "
    status = styled(answer, fg="green" if is_taken else "red")
    event = f"{attempt['event_type']} {attempt['message_id']}"
    say(f"{attempt['at'][11:23]}  <--  ", status, asked, event)


def _show_received(received: Received | None, attempt: dict[str, Any]) -> None:
    """Print one line for a webhook that arrived here."""
    if is_json():
        shown = {name: getattr(received, name, None) for name in ("is_genuine", "problem", "body")}
        show_json({"kind": "webhook", **attempt, **shown}, indent=None)
        return
    body = received.fields if received is not None else {}
    facts = [body.get(name) for name in ("status", "status_reason", "transaction_id", "id")]
    if received is None:
        signature = styled(f"did not arrive: {attempt['error']}", fg="red")
    elif received.is_genuine:
        signature = styled("signature ok", fg="green")
    else:
        signature = styled(f"signature wrong, answered with 401: {received.problem}", fg="red")
    say(
        attempt["at"][11:23],
        styled(attempt["event_type"], bold=True),
        *[fact for fact in facts if isinstance(fact, str)][:3],
        signature,
        attempt["message_id"],
        between="  ",
    )
