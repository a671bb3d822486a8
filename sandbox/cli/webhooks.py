"""`sandbox endpoint`, `trigger` and `resend`, and a receiver for commands that get webhooks."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple

import click

from sandbox.cli import arguments, output
from sandbox.cli.arguments import NumberRange, quote_word
from sandbox.cli.control_client import ENDPOINT, RemoteWorld, WorldCommand, drop_none, with_options
from sandbox.cli.main import Group
from sandbox.cli.platform_client import ACCOUNT
from sandbox.domain.events import EVENTS
from sandbox.domain.json_text import fields_of, value_of
from sandbox.domain.text import suggest_words
from sandbox.webhooks.signing import why_not_genuine

_FAILED: Final = "failed"
_ENDED: Final = ("delivered", "dropped")
_SEARCHED_MAX: Final = 200
"""How many characters the server searches for."""

_LOOKS_FIRST_S: Final = 0.02
_LOOKS_AT_LEAST_EVERY_S: Final = 0.5

_timeout_option = click.option(
    "--timeout-s",
    type=NumberRange(0),
    default=20.0,
    help="Time to wait for the answers of the receivers.",
)

_secret_option = click.option(
    "--secret", help="Sign with this secret, whsec_.... Default: a new one."
)


def endpoint_options(command: arguments.C) -> arguments.C:
    """Add the options for registering an endpoint."""
    meaning = "Only these events, like transaction.sale,'batch.*'. Default: all."
    events = arguments.events_option("event_types", help=meaning)
    description = click.option("--description", help="Description of the endpoint.")
    return events(description(_secret_option(command)))


# --- endpoints


_endpoint_argument = click.argument("id", metavar="ENDPOINT", type=ENDPOINT)


@click.group(cls=Group)
def endpoint() -> None:
    """List, add, disable, enable, rotate and delete the webhook endpoints of a world."""


@endpoint.command("list", cls=WorldCommand)
def list_endpoints(*, world: RemoteWorld) -> output.Result:
    """List the webhook endpoints of a world. Their secrets are in the JSON.

    \b
    Example:
      sandbox endpoint list --json
    """
    listed = world.read("GET", "endpoints")
    columns: output.Columns = {
        "id": "id",
        "url": "url",
        "state": lambda one: one["disabled_reason"] or "enabled",
        "events": lambda one: ", ".join(one["event_types"]) or "all",
    }
    empty = f"{world.id} has no endpoint"
    return output.Result(
        listed, lambda _: output.show_table(listed["endpoints"], columns, empty=empty)
    )


@endpoint.command(cls=WorldCommand)
@click.argument("target", metavar="URL", type=arguments.TARGET)
@click.option("--id", help="Id of the endpoint. Default: a random one.")
@click.option("--account", "account_id", type=ACCOUNT, help="Only events of this account.")
@endpoint_options
def add(target: str, *, world: RemoteWorld, **wanted: Any) -> output.Result:
    """Send the webhooks of a world to URL too, and print the endpoint with its secret.

    \b
    Examples:
      sandbox endpoint add 9000/hook
      sandbox endpoint add https://shop.example.com/hook --events 'batch.*' --account merchant
    """
    added = world.read("POST", "endpoints", body={"url": target, **drop_none(wanted)})
    columns = ("id", "url", "secret")
    return output.Result(added, lambda _: output.show_table([added], columns, is_whole=True))


@endpoint.command(cls=WorldCommand)
@_endpoint_argument
def disable(id: str, *, world: RemoteWorld) -> output.Result:
    """Send no webhooks to ENDPOINT until it is enabled.

    \b
    Example:
      sandbox endpoint disable ep_till
    """
    changed = world.read("PATCH", "endpoints", id, body={"disabled": True})
    return output.Result(changed, f"{id} is disabled")


@endpoint.command(cls=WorldCommand)
@_endpoint_argument
def enable(id: str, *, world: RemoteWorld) -> output.Result:
    """Send webhooks to a disabled ENDPOINT again.

    \b
    Example:
      sandbox endpoint enable ep_till
    """
    return output.Result(world.read("POST", "endpoints", id, "enable"), f"{id} is enabled")


@endpoint.command(cls=WorldCommand)
@_endpoint_argument
@_secret_option
@click.option(
    "--grace-s", type=NumberRange(0), help="How long the old one still signs. Default: a day."
)
def rotate(id: str, *, world: RemoteWorld, **wanted: Any) -> output.Result:
    """Give ENDPOINT a new secret, and print it. The old one signs too for a while.

    \b
    Example:
      sandbox endpoint rotate ep_till --grace-s 3600
    """
    changed = world.read("POST", "endpoints", id, "rotate-secret", body=drop_none(wanted))
    return output.Result(changed, changed["secret"])


@endpoint.command(cls=WorldCommand)
@_endpoint_argument
def delete(id: str, *, world: RemoteWorld) -> output.Result:
    """Delete ENDPOINT and its pending deliveries.

    \b
    Example:
      sandbox endpoint delete ep_till
    """
    world.read("DELETE", "endpoints", id)
    return output.Result({"deleted": id}, f"{id} is deleted")


# --- messages


@click.command(cls=WorldCommand)
@click.argument("event", required=False, type=arguments.SOME_EVENT)
@arguments.several(
    "--set", "changes", type=arguments.SETTING, help="Change a field of the body: JSON, or text."
)
@click.option("--list", "is_list", is_flag=True, help="List all events.")
@_timeout_option
def trigger(
    event: str | None, *, changes: Any, is_list: bool, timeout_s: float, world: RemoteWorld
) -> output.Result:
    """Send a sample of EVENT as a webhook.

    The webhook is signed, and goes to every endpoint of the world that subscribes to the event.

    The exit status is 1 if an endpoint refused it.

    \b
    Examples:
      sandbox trigger transaction.sale
      sandbox trigger transaction.sale --set status=declined --set total_amount=500
      sandbox trigger --list
    """
    if is_list:
        events = [{"event": row.name, "meaning": row.meaning} for row in EVENTS.values()]
        return output.Result(events, lambda _: output.show_table(events, ("event", "meaning")))
    if event is None:
        raise click.UsageError("Missing argument 'EVENT': --list shows them.")
    if event not in EVENTS:
        output.refuse(f"there is no event {event!r}{suggest_words(event, EVENTS)}")
    body = {"event_type": event, "changes": dict(changes)}
    sent = world.read("POST", "messages", body=body)
    with output.working("waiting for the receivers' answers"):
        message = _wait_for_attempts(world, sent["id"], timeout_s, {})
    is_refused = any(one["status"] not in _ENDED for one in message["deliveries"])
    status = output.EXIT_REFUSED if is_refused else 0
    return output.Result(message, lambda _: _show_message(message, world), status)


@click.command(cls=WorldCommand)
@click.argument("message", default=_FAILED)
@click.option("--endpoint", "to", type=ENDPOINT, help="Id of the only endpoint to send it to.")
@_timeout_option
def resend(message: str, *, to: str | None, timeout_s: float, world: RemoteWorld) -> output.Result:
    """Send a webhook again, with the same id and body.

    MESSAGE is the id of a message or of its payment, the beginning of such an id, `last`, or
    `failed`: the last message that an endpoint has not accepted. Without MESSAGE it is `failed`.

    The exit status is 1 if an endpoint refused it again.

    \b
    Examples:
      sandbox resend
      sandbox resend last
      sandbox resend msg_eK3RaT --endpoint ep_tSSLIwpeypSGHdhhAg1mnMrqnq3
    """
    found = _choose_message(message, world)
    body = {} if to is None else {"endpoint_id": to}
    again = world.read("POST", "messages", found["id"], "resend", body=body)["endpoints"]
    attempts = {one["endpoint_id"]: one["attempts"] for one in found["deliveries"]}
    before = {id: attempts.get(id, []) for id in again}
    with output.working("waiting for the receivers' answers"):
        tried = _wait_for_attempts(world, found["id"], timeout_s, before)
    sent = {**tried, "deliveries": [d for d in tried["deliveries"] if d["endpoint_id"] in before]}

    def show(_: Any) -> None:
        output.say(f"{found['event_type']} of {found['subject']}")
        _show_message(sent, world)

    last = [one["attempts"][-1:] for one in sent["deliveries"]]
    is_accepted = all(attempt and attempt[0]["error"] is None for attempt in last)
    return output.Result(sent, show, 0 if is_accepted else output.EXIT_REFUSED)


def _choose_message(named: str, world: RemoteWorld) -> dict[str, Any]:
    """Return the newest message that matches. Ends the command if there is none."""
    searched = None if named in (_FAILED, "last") else named[:_SEARCHED_MAX] or None
    # The server lists the newest thousand, the last one at the end.
    listed: list[dict[str, Any]] = world.read("GET", "messages", q=searched)["messages"]
    code = output.EXIT_REFUSED
    if named == _FAILED:
        fitting = [one for one in listed if not all(map(_is_done, one["deliveries"]))]
        again = with_options("sandbox resend last")
        missing = f"no webhook of {world.id} failed; `{again}` sends the last one again"
    elif named == "last":
        fitting, missing = listed, f"{world.id} has no message yet"
    else:
        ids = ("id", "subject") if len(named) > 1 else ()
        fitting = [one for one in listed if any(one[id].startswith(named) for id in ids)]
        missing = f"no message of {world.id} has an id that begins with {quote_word(named)}"
        missing += "; name a message, a payment, `last` or `failed`"
        code = output.EXIT_UNUSABLE
        if named.startswith("msg_") and len({one["id"] for one in fitting}) > 1:
            output.refuse(
                f"{len(fitting)} messages have an id that begins with {quote_word(named)}"
            )
    if not fitting:
        output.refuse(missing, code)
    return fitting[-1]


def _is_done(delivery: Mapping[str, Any]) -> bool:
    """Whether the delivery was accepted, was not to be sent, or has not been tried yet."""
    return delivery["status"] in _ENDED or not delivery["attempts"]


# --- deliveries


def _wait_for_attempts(
    world: RemoteWorld, id: str, timeout_s: float, before: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the message after every delivery was tried, or after a time limit.

    `before` has the earlier attempts of the endpoints that are tried once more.
    """
    until = time.monotonic() + timeout_s
    wait_s = _LOOKS_FIRST_S
    while True:
        message: dict[str, Any] = world.read("GET", "messages", id)
        is_open = any(
            one["attempts"] == before.get(one["endpoint_id"], [])
            and (one["endpoint_id"] in before or one["status"] == "pending")
            for one in message["deliveries"]
        )
        left_s = until - time.monotonic()
        if not is_open or left_s <= 0:
            return message
        time.sleep(min(wait_s, left_s))
        wait_s = min(2 * wait_s, _LOOKS_AT_LEAST_EVERY_S)


def _show_message(message: dict[str, Any], world: RemoteWorld) -> None:
    """Print the id of the message, and the result for each endpoint."""
    urls = {one["id"]: one["url"] for one in world.read("GET", "endpoints")["endpoints"]}
    output.say(message["id"])
    for delivery in message["deliveries"]:
        output.say("  ", *_result(delivery), f"  {urls.get(delivery['endpoint_id'], '')}")
    if not message["deliveries"]:
        listen = with_options("sandbox listen URL")
        output.tell(f"no enabled endpoint of the world takes this event; `{listen}` registers one")


def _result(delivery: dict[str, Any]) -> tuple[str, str]:
    color = "green" if delivery["status"] == "delivered" else "red"
    status = output.styled(delivery["status"], fg=color)
    if not delivery["attempts"]:
        return status, ", not tried yet" if delivery["status"] == "pending" else ""
    last = delivery["attempts"][-1]
    took = f"{last['duration_ms']:.0f} ms"
    if last["error"] is None:
        return status, f", {last['status_code']} in {took}"
    due = delivery["next_attempt_at"]
    again = f", retry at {due}" if due else ""
    return status, f": {last['error']}, in {took}{again}"


# --- a receiver on loopback ---------------------------------------------------------------------

_LOOPBACK: Final = "127.0.0.1"
_BODY_BYTES_MAX: Final = 1_048_576


class Received(NamedTuple):
    """One webhook as it arrived. `body` is None if it is not JSON.

    `problem` says what is wrong with its signature; None if it is right.
    """

    message_id: str
    problem: str | None
    body: Any

    @property
    def is_genuine(self) -> bool:
        """Whether its signature is right."""
        return self.problem is None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the body, none if it is not an object."""
        return fields_of(self.body)


@dataclass(slots=True)
class Receiver:
    """A receiver at a URL, with the secret of its endpoint.

    `is_dated_by_world` says whether webhooks have the time of their world at the moment.
    """

    url: str
    secret: str = ""
    is_dated_by_world: Callable[[], bool] = lambda: False


@contextmanager
def receiving(note: Callable[[Received], None]) -> Iterator[Receiver]:
    """Yield a receiver on a free port of this machine until the block ends.

    `note` gets each webhook, in a thread, before it is answered. A webhook with a wrong signature
    is answered with 401, as a careful receiver does.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def do_POST(self) -> None:
            status, length = 413, self.headers.get("content-length", "")
            if length.isdigit() and int(length) <= _BODY_BYTES_MAX:
                received = self._read(self.rfile.read(int(length)))
                note(received)
                status = 204 if received.is_genuine else 401
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def _read(self, body: bytes) -> Received:
            headers = {name.lower(): value for name, value in self.headers.items()}
            names = (name for name in headers if name.endswith("-signature"))
            prefix = next(names, "webhook-signature").removesuffix("-signature")
            webhook = (prefix, receiver.secret, body, headers)
            problem = why_not_genuine(*webhook)
            if problem is not None and receiver.is_dated_by_world():
                problem = why_not_genuine(*webhook, at_any_time=True)
            return Received(headers.get(f"{prefix}-id", ""), problem, value_of(body))

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing: the command prints what arrived."""

    with ThreadingHTTPServer((_LOOPBACK, 0), Handler) as server:
        server.daemon_threads = True
        receiver = Receiver(f"http://{_LOOPBACK}:{server.server_port}/")
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
