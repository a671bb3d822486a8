"""`sandbox trigger`: sends a sample of an event."""

import sys
from typing import Any

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.deliveries import show_message, urls, when_tried
from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.known import SOME_EVENT
from sandbox.cli.params import SettingType
from sandbox.cli.progress import working
from sandbox.cli.tables import json_option, show_json, show_table


@click.command()
@click.argument("event", required=False, type=SOME_EVENT)
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
    from sandbox.domain.text import known_words

    if is_list:
        _show_events(as_json=as_json)
        return
    if event is None:
        raise click.UsageError("Missing argument 'EVENT': --list shows them.")
    if event not in EVENTS:
        refuse(f"there is no event {event!r}{known_words(event, EVENTS)}")
    server = Remote(url=url, token=token)
    body = {"event_type": event, "changes": dict(changes)}
    sent = server.read("POST", world_path(world_id, "messages"), body)
    with working("waiting for what the receivers answer"):
        message = when_tried(server, world_id, sent["id"], timeout_s, {})
    if as_json:
        show_json(message)
    else:
        show_message(message, urls(server, world_id))
    if any(one["status"] not in ("delivered", "dropped") for one in message["deliveries"]):
        sys.exit(EXIT_REFUSED)


def _show_events(*, as_json: bool) -> None:
    from sandbox.domain.events import EVENTS

    if as_json:
        show_json([{"event": row.name, "meaning": row.meaning} for row in EVENTS.values()])
    else:
        show_table(("event", "meaning"), [(row.name, row.meaning) for row in EVENTS.values()])
