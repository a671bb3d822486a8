"""`sandbox switch`: shows and sets the switches of a world."""

import json
from typing import Any

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.known import SWITCH, switch_values
from sandbox.cli.tables import json_option, say, show_json, show_table


@click.command()
@click.argument("name", required=False, type=SWITCH)
@click.argument("value", required=False, shell_complete=switch_values)
@server_options
@json_option
def switch(
    name: str | None,
    value: str | None,
    *,
    world_id: str,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Show the switches of a world, or set the switch NAME to VALUE.

    A switch tells a world to do something otherwise. With NAME alone, its value is printed.

    \b
    Examples:
      sandbox switch
      sandbox switch batch.settlement
      sandbox switch batch.settlement manual
      sandbox switch latency.scale 0.5
    """
    from sandbox.domain.switches import SWITCHES

    server = Remote(url=url, token=token)
    path = world_path(world_id, "switches")
    if name is not None and value is not None:
        values = server.read("PUT", path, {name: _value(name, value)})
    else:
        values = server.read("GET", path)
    if name is not None:
        values = {name: values[name]}
    if as_json:
        show_json(values)
    elif name is not None:
        say(_text(values[name]))
    else:
        rows = [
            (one, _text(now), SWITCHES[one].about if one in SWITCHES else None)
            for one, now in values.items()
        ]
        show_table(("switch", "value", "what it does"), rows)


def _value(name: str, text: str) -> Any:
    """The value that the text names. Ends the command if the switch has no such value."""
    from sandbox.cli.known import shown
    from sandbox.domain.switches import SWITCHES
    from sandbox.domain.text import did_you_mean

    row = SWITCHES[name]
    named = {_text(value): value for value in row.values}
    value: Any = named.get(text.lower())
    if value is None and not row.values:
        try:
            value = json.loads(text)
        except ValueError:
            value = None
    if value is None or not row.accepts(value):
        message = f"{shown(text)} is no value of {name}: it is {row.choices}"
        raise click.BadParameter(message + did_you_mean(text, named), param_hint="'VALUE'")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
