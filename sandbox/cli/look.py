"""`sandbox lens` and `sandbox find`: what a key would be answered, and what has an id."""

import sys
from urllib.parse import urlencode

import click

from sandbox.cli.control import Remote, at_server, server_options, world_path
from sandbox.cli.exit_status import EXIT_REFUSED
from sandbox.cli.tables import json_option, say, show_json, show_table


@click.command()
@click.argument("key")
@click.argument("operation", required=False)
@click.argument("target", required=False)
@server_options
@json_option
def lens(
    key: str,
    *,
    operation: str | None,
    target: str | None,
    world_id: str,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Show what a key would be answered, and which keys could do it.

    KEY and TARGET are ids or names of the cast, OPERATION is one like payments.capture. Without an
    operation, shows all of them. No request is sent to the platform, and nothing changes. Exits
    with status 1 if the key may not do it.

    \b
    Examples:
      sandbox lens merchant
      sandbox lens merchant_read_only accounts.update merchant
    """
    server = Remote(url=url, token=token)
    if operation is None:
        table = server.read("GET", world_path(world_id, "lens", key))
        if as_json:
            show_json(table)
            return
        if table["unusable"]:
            say(f"the key authenticates no more: {table['unusable']}")
        columns = ("operation", "own", "descendant", "outside")
        show_table(columns, [[row[name] for name in columns] for row in table["rows"]])
        return
    body = {"key": key, "operation": operation} | ({} if target is None else {"target": target})
    seen = server.read("POST", world_path(world_id, "lens"), body)
    if as_json:
        show_json(seen)
    else:
        say(f"{seen['status']}  {'allowed' if seen['allowed'] else seen['error']}")
        for one in seen["decisions"]:
            say(f"  {one['step']:<12}  {one['verdict']}: {one['reason']} ({one['clause']})")
        if seen["missing"]:
            say(f"  missing       {' or '.join(seen['missing'])}")
        could = ", ".join(one["cast"] or one["name"] for one in seen["could"])
        say(f"  could         {could or 'no key of this world'}")
    if not seen["allowed"]:
        sys.exit(EXIT_REFUSED)


@click.command()
@click.argument("text")
@click.option(
    "--world",
    "world_id",
    envvar="SANDBOX_WORLD",
    help="Only this world (env SANDBOX_WORLD). Default: all worlds of the server.",
)
@at_server
@json_option
def find(text: str, *, world_id: str | None, url: str, token: str | None, as_json: bool) -> None:
    """Find whatever has an id, or payments by the last four digits of a card.

    TEXT is the id of a payment, request, message, batch, key, account, terminal or location, an
    event_id, a name of the cast, or four digits. Exits with status 1 if there is nothing.

    \b
    Examples:
      sandbox find 0011
      sandbox find req_0000000001
    """
    query = {"q": text} | ({} if world_id is None else {"world": world_id})
    found = Remote(url=url, token=token).read("GET", f"/find?{urlencode(query)}")
    if as_json:
        show_json(found)
    elif not found["found"]:
        say(f"nothing has the id {text!r}")
    else:
        columns = ("world", "kind", "id", "says")
        show_table(columns, [[one[name] for name in columns] for one in found["found"]])
        if found["more"]:
            say("there is more; name the whole id, or a world with --world")
    if not found["found"]:
        sys.exit(EXIT_REFUSED)
