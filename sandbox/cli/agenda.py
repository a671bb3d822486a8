"""`sandbox agenda` lists what falls due in a world."""

from typing import Any, Final
from urllib.parse import urlencode

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.params import InstantType
from sandbox.cli.tables import json_option, say, show_json, show_table

_SHOWN_MAX: Final = 20


@click.command()
@click.option("--until", type=InstantType(), help="Only what falls due until this instant.")
@click.option("--kind", help="Only this kind of thing, like authorization_expires.")
@click.option("--subject", help="Only what happens to the payment, batch or key with this id.")
@click.option(
    "--limit",
    type=click.IntRange(1, 500),
    default=_SHOWN_MAX,
    show_default=True,
    help="The most things to list.",
)
@server_options
@json_option
def agenda(*, world_id: str, url: str, token: str | None, as_json: bool, **wanted: Any) -> None:
    """List what falls due in a world, the soonest first, and what it leads to.

    Nothing happens by this. `sandbox clock advance` has it happen.

    \b
    Examples:
      sandbox agenda
      sandbox agenda --until 2026-07-08T00:00:00Z
      sandbox agenda --kind authorization_expires
    """
    query = urlencode({name: value for name, value in wanted.items() if value is not None})
    server = Remote(url=url, token=token)
    shown = server.read("GET", f"{world_path(world_id, 'agenda')}?{query}")
    if as_json:
        show_json(shown)
        return
    if not shown["agenda"]:
        say("nothing falls due")
        return
    rows = [
        (one["due"], one["says"], one["subject"]["says"], _status(one), one["clause"])
        for one in shown["agenda"]
    ]
    show_table(("due", "what", "of", "leads to", "clause"), rows)
    if shown["total"] > len(rows):
        say(f"and {shown['total'] - len(rows):,} more; --limit lists up to 500")


def _status(one: dict[str, Any]) -> str:
    then = one["then"]
    if then is None:
        return "-"
    reason = then["status_reason"]
    return str(then["status"]) if reason is None else f"{then['status']}: {reason}"
