"""`sandbox next` sets the outcome of the next payment."""

from typing import Any

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.known import SOME_FAULT, SOME_OPERATION, SOME_OUTCOME
from sandbox.cli.tables import json_option, say, show_json, show_table


@click.command(name="next")
@click.argument("outcome", required=False, type=SOME_OUTCOME)
@click.option(
    "--operation",
    type=SOME_OPERATION,
    help="Only for this operation: sale, auth, capture, refund, ...",
)
@click.option("--amount", type=click.IntRange(1), help="Only for this amount, in minor units.")
@click.option("--delay-ms", type=click.IntRange(0), help="Time that the processor takes.")
@click.option("--fault", type=SOME_FAULT, help="Transport fault, like drop_after or http_503.")
@click.option(
    "--approved-amount", type=click.IntRange(1), help="For partial_approval, in minor units."
)
@click.option("--clear", is_flag=True, help="Clear the queue.")
@server_options
@json_option
def next_outcome(
    *, clear: bool, world_id: str, url: str, token: str | None, as_json: bool, **entry: Any
) -> None:
    """Set the outcome of the next payment.

    It applies once, to the next attempt that matches. Without OUTCOME, lists the queue.

    `sandbox outcomes` lists all outcomes and faults.

    \b
    Examples:
      sandbox next insufficient_funds
      sandbox next partial_approval --operation sale --approved-amount 500
      sandbox next --fault drop_after --operation capture
      sandbox next --clear
    """
    server = Remote(url=url, token=token)
    path = world_path(world_id, "scenario", "next")
    body = {name: value for name, value in entry.items() if value is not None}
    if clear:
        if body:
            raise click.UsageError("--clear cannot be combined with an outcome or other options")
        server.ask("DELETE", path)
    elif body:
        server.read("POST", path, body)
    waiting = server.read("GET", path)
    if as_json:
        show_json(waiting)
        return
    columns = ("outcome", "fault", "operation", "amount", "approved_amount", "delay_ms")
    if waiting["queue"]:
        rows = [[entry[name] for name in columns] for entry in waiting["queue"]]
        show_table([name.replace("_", " ") for name in columns], rows)
    else:
        say("the queue is empty: the scenario, the card or the amount decides")
