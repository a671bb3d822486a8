"""`sandbox resend`: sends a webhook once more."""

import sys
from collections.abc import Mapping
from typing import Any

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.deliveries import show_message, urls, when_tried
from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.known import shown
from sandbox.cli.progress import working
from sandbox.cli.tables import json_option, say, show_json

_FAILED = "failed"
_LAST = "last"


@click.command()
@click.argument("message", default=_FAILED)
@click.option("--endpoint", help="Id of the only endpoint to send it to.")
@click.option(
    "--timeout-s",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    help="Time to wait for the answers of the receivers.",
)
@server_options
@json_option
def resend(
    message: str,
    *,
    endpoint: str | None,
    timeout_s: float,
    world_id: str,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Send a webhook once more, with the same id and body.

    MESSAGE is the id of a message or of its payment, the beginning of such an id, `last`, or
    `failed`: the last message that an endpoint has not accepted. Without MESSAGE it is `failed`.

    The exit status is 1 if an endpoint refused it again.

    \b
    Examples:
      sandbox resend
      sandbox resend last
      sandbox resend msg_eK3RaT --endpoint ep_tSSLIwpeypSGHdhhAg1mnMrqnq3
    """
    server = Remote(url=url, token=token)
    listed = server.read("GET", world_path(world_id, "messages"))["messages"]
    found = _chosen(message, listed, world_id)
    body = {} if endpoint is None else {"endpoint_id": endpoint}
    path = world_path(world_id, "messages", found["id"], "resend")
    again = server.read("POST", path, body)["endpoints"]
    attempts = {one["endpoint_id"]: one["attempts"] for one in found["deliveries"]}
    before = {id: attempts.get(id, []) for id in again}
    with working("waiting for what the receivers answer"):
        tried = when_tried(server, world_id, found["id"], timeout_s, before)
    sent = {**tried, "deliveries": [d for d in tried["deliveries"] if d["endpoint_id"] in before]}
    if as_json:
        show_json(sent)
    else:
        say(f"{found['event_type']} of {found['subject']}")
        show_message(sent, urls(server, world_id))
    if not all(_is_accepted(one) for one in sent["deliveries"]):
        sys.exit(EXIT_REFUSED)


def _chosen(named: str, listed: list[dict[str, Any]], world_id: str) -> dict[str, Any]:
    """The newest message that is meant; the list has the newest last."""
    if named == _FAILED:
        fitting = [one for one in listed if not all(map(_is_done, one["deliveries"]))]
        missing = f"no webhook of {world_id} failed; `sandbox resend last` sends the last one again"
        code = EXIT_REFUSED
    elif named == _LAST:
        fitting, code = listed, EXIT_REFUSED
        missing = f"{world_id} has no message yet"
    else:
        fitting = [
            one for one in listed if named in (one["id"], one["subject"]) or _begins(one, named)
        ]
        missing = f"no message of {world_id} has an id that begins with {shown(named)}"
        missing += "; name a message, a payment, `last` or `failed`"
        code = 2
        if named.startswith("msg_") and len({one["id"] for one in fitting}) > 1:
            refuse(f"{len(fitting)} messages have an id that begins with {shown(named)}")
    if not fitting:
        refuse(missing, code)
    return fitting[-1]


def _begins(message: Mapping[str, Any], named: str) -> bool:
    ids = (message["id"], message["subject"])
    return len(named) > 1 and any(id.startswith(named) for id in ids)


def _is_done(delivery: Mapping[str, Any]) -> bool:
    """Whether the receiver accepted it, or it was never to be sent, or its turn is to come."""
    return delivery["status"] in ("delivered", "dropped") or not delivery["attempts"]


def _is_accepted(delivery: Mapping[str, Any]) -> bool:
    attempts = delivery["attempts"]
    return bool(attempts) and attempts[-1]["error"] is None
