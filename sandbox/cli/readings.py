"""`sandbox readings`: shows and chooses the readings of a world."""

from typing import Any

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.params import SettingType
from sandbox.cli.tables import json_option, show_json, show_table


@click.command()
@click.argument("choices", nargs=-1, type=SettingType(), metavar="[READING=VALUE]...")
@server_options
@json_option
def readings(
    choices: tuple[tuple[str, Any], ...],
    *,
    world_id: str,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Show or choose how a world reads the spec.

    Some sentences of the spec can be read in several ways, and each of them is a reading.

    The value null returns a reading to that of the profile.

    \b
    Examples:
      sandbox readings
      sandbox readings refund_before_settlement=refused --world uat-7
      sandbox readings refund_before_settlement=null
    """
    server, path = Remote(url=url, token=token), world_path(world_id, "readings")
    values = server.read("PUT", path, dict(choices)) if choices else server.read("GET", path)
    if as_json:
        show_json(values)
        return
    listed = server.read("GET", "/readings")["readings"]
    rows = [
        (one["id"], values[one["id"]], ", ".join(value["name"] for value in one["values"]))
        for one in listed
    ]
    show_table(("reading", "value", "values"), rows)
