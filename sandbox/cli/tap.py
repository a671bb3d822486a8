"""`sandbox tap` taps a card for a waiting payment, or lists the payments that wait."""

from typing import Any

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.known import SOME_CARD, SOME_OUTCOME
from sandbox.cli.money import in_units
from sandbox.cli.tables import json_option, say, show_json, show_table


@click.command()
@click.argument("id", required=False)
@click.option("--card", type=SOME_CARD, help="Tap this test card, like tok_visa_credit.")
@click.option("--outcome", type=SOME_OUTCOME, help="Outcome of the payment.")
@click.option(
    "--cancel", type=click.Choice(["user", "merchant"]), help="Cancel it as the user or merchant."
)
@server_options
@json_option
def tap(
    id: str | None,
    *,
    world_id: str,
    url: str,
    token: str | None,
    as_json: bool,
    **choice: str | None,
) -> None:
    """Tap a card for a waiting payment.

    Without options, lists the waiting payments. ID is the payment's; you can leave it out if only
    one waits. Payments wait if a scenario says tap = "wait".

    \b
    Examples:
      sandbox tap
      sandbox tap --card tok_visa_debit
      sandbox tap 3fa85f64-5717-4562-b3fc-2c963f66afa6 --cancel user
    """
    server = Remote(url=url, token=token)
    body = {name: value for name, value in choice.items() if value is not None}
    if len(body) > 1:
        raise click.UsageError("give one of --card, --outcome and --cancel")
    waiting = server.read("GET", world_path(world_id, "taps"))
    if not body:
        if id is not None:
            raise click.UsageError("give one of --card, --outcome and --cancel")
        _show_waiting(waiting, as_json=as_json)
        return
    id = id or _only(waiting["taps"])
    ended = server.read("POST", world_path(world_id, "taps", id), body)
    if as_json:
        show_json(ended)
    else:
        why = f": {ended['status_reason']}" if ended["status_reason"] else ""
        say(f"{ended['transaction_id']}  {ended['status']}{why}")


def _show_waiting(waiting: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(waiting)
    elif waiting["taps"]:
        columns = ("transaction_id", "operation", "amount", "terminal_id", "since", "until")
        rows = [[tap[name] for name in columns] for tap in map(_with_currency, waiting["taps"])]
        show_table([name.replace("_", " ") for name in columns], rows, is_whole=True)
    else:
        say("no payment waits for a tap")


def _with_currency(tap: dict[str, Any]) -> dict[str, Any]:
    return tap | {"amount": f"{in_units(tap['amount'], tap['currency'])} {tap['currency']}"}


def _only(taps: list[dict[str, Any]]) -> str:
    if not taps:
        refuse("no payment waits for a tap", EXIT_REFUSED)
    if len(taps) > 1:
        ids = ", ".join(tap["transaction_id"] for tap in taps)
        refuse(f"{len(taps)} payments wait; name one: {ids}", EXIT_REFUSED)
    return str(taps[0]["transaction_id"])
