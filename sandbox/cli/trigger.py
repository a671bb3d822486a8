"""`sandbox trigger`: sends a sample of an event."""

import sys
import time
from typing import Any, Final

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.params import SettingType
from sandbox.cli.progress import working
from sandbox.cli.tables import Styled, json_option, say, show_json, show_table, styled

_LOOKS_FIRST_S: Final = 0.02
_LOOKS_AT_LEAST_EVERY_S: Final = 0.5


@click.command()
@click.argument("event", required=False)
@click.option(
    "--set",
    "changes",
    multiple=True,
    type=SettingType(),
    help="Change a field of the body: JSON, or text. May be given several times.",
)
@click.option("--list", "is_list", is_flag=True, help="List all events.")
@click.option(
    "--timeout-s",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    help="Time to wait for the answers of the receivers.",
)
@server_options
@json_option
def trigger(
    event: str | None,
    *,
    changes: tuple[tuple[str, Any], ...],
    is_list: bool,
    timeout_s: float,
    world_id: str,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Send a sample of EVENT as a webhook.

    It goes to all endpoints of the world that subscribe to the event, with a signature.

    The exit status is 1 if an endpoint refused it.

    \b
    Examples:
      sandbox trigger transaction.sale
      sandbox trigger transaction.sale --set status=declined --set total_amount=500
      sandbox trigger --list
    """
    from sandbox.domain.events import EVENTS
    from sandbox.domain.words import did_you_mean

    if is_list:
        _show_events(as_json=as_json)
        return
    if event is None:
        raise click.UsageError("Missing argument 'EVENT': --list shows them.")
    if event not in EVENTS:
        refuse(f"there is no event {event!r}{did_you_mean(event, EVENTS)}", EXIT_REFUSED)
    server = Remote(url=url, token=token)
    body = {"event_type": event, "changes": dict(changes)}
    sent = server.read("POST", world_path(world_id, "messages"), body)
    with working("waiting for what the receivers answer"):
        message = _answered(server, world_id, sent["id"], timeout_s)
    if as_json:
        show_json(message)
    else:
        _show(message, _urls(server, world_id))
    if any(one["status"] not in ("delivered", "dropped") for one in message["deliveries"]):
        sys.exit(EXIT_REFUSED)


def _show_events(*, as_json: bool) -> None:
    from sandbox.domain.events import EVENTS

    if as_json:
        show_json([{"event": row.name, "meaning": row.meaning} for row in EVENTS.values()])
    else:
        show_table(("event", "meaning"), [(row.name, row.meaning) for row in EVENTS.values()])


def _answered(server: Remote, world_id: str, id: str, timeout_s: float) -> dict[str, Any]:
    """The message after every delivery was tried, or after a time limit."""
    until = time.monotonic() + timeout_s
    wait_s = _LOOKS_FIRST_S
    while True:
        message: dict[str, Any] = server.read("GET", world_path(world_id, "messages", id))
        is_open = any(
            one["status"] == "pending" and not one["attempts"] for one in message["deliveries"]
        )
        left_s = until - time.monotonic()
        if not is_open or left_s <= 0:
            return message
        time.sleep(min(wait_s, left_s))
        wait_s = min(2 * wait_s, _LOOKS_AT_LEAST_EVERY_S)


def _urls(server: Remote, world_id: str) -> dict[str, str]:
    listed = server.read("GET", world_path(world_id, "endpoints"))
    return {one["id"]: one["url"] for one in listed["endpoints"]}


def _show(message: dict[str, Any], urls: dict[str, str]) -> None:
    """Print the id of the message, and the result for each endpoint."""
    say(message["id"])
    for delivery in message["deliveries"]:
        say("  ", *_result(delivery), f"  {urls.get(delivery['endpoint_id'], '')}")
    if not message["deliveries"]:
        say(
            "sandbox: no endpoint of the world subscribes to this event; "
            "`sandbox listen URL` registers one",
            err=True,
        )


def _result(delivery: dict[str, Any]) -> tuple[Styled, str]:
    color = "green" if delivery["status"] == "delivered" else "red"
    status = styled(delivery["status"], fg=color)
    if not delivery["attempts"]:
        return status, ", not tried yet" if delivery["status"] == "pending" else ""
    last = delivery["attempts"][-1]
    took = f"{last['duration_ms']:.0f} ms"
    if last["error"] is None:
        return status, f", {last['status_code']} in {took}"
    due = delivery["next_attempt_at"]
    again = f", tried again at {due}" if due else ""
    return status, f": {last['error']}, in {took}{again}"
