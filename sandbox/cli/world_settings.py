"""`sandbox switch` and `sandbox readings`: the switches and the readings of a world."""

import json
from typing import Any

import click

from sandbox.cli.choices import SETTING, SWITCH, SWITCH_VALUE, shown
from sandbox.cli.control_client import RemoteWorld, world_options
from sandbox.cli.output import Columns, Result, json_option, show_table
from sandbox.domain.switches import SWITCHES
from sandbox.domain.text import did_you_mean


@click.command()
@click.argument("name", required=False, type=SWITCH)
@click.argument("value", required=False, type=SWITCH_VALUE)
@world_options
@json_option
def switch(name: str | None, value: str | None, *, world: RemoteWorld) -> Result:
    """Show the switches of a world, or set the switch NAME to VALUE.

    A switch tells a world to do something otherwise. With NAME alone, its value is printed.

    \b
    Examples:
      sandbox switch
      sandbox switch batch.settlement
      sandbox switch batch.settlement manual
      sandbox switch latency.scale 0.5
    """
    if name is not None and value is not None:
        values = world.read("PUT", "switches", body={name: _value(name, value)})
    else:
        values = world.read("GET", "switches")
    if name is not None:
        return Result({name: values[name]}, _text(values[name]))
    return Result(values, _show_switches)


def _show_switches(values: dict[str, Any]) -> None:
    columns: Columns = {
        "switch": lambda row: row[0],
        "value": lambda row: _text(row[1]),
        "what it does": lambda row: SWITCHES[row[0]].about if row[0] in SWITCHES else None,
    }
    show_table(values.items(), columns)


def _value(name: str, text: str) -> Any:
    """The value that the text names. Ends the command if the switch has no such value."""
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


@click.command()
@click.argument("choices", nargs=-1, type=SETTING, metavar="[READING=VALUE]...")
@world_options
@json_option
def readings(choices: tuple[tuple[str, Any], ...], *, world: RemoteWorld) -> Result:
    """Show or choose how a world reads the spec.

    Some sentences of the spec can be read in several ways, and each of them is a reading.

    The value null returns a reading to that of the profile.

    \b
    Examples:
      sandbox readings
      sandbox readings refund_before_settlement=refused --world uat-7
      sandbox readings refund_before_settlement=null
    """
    if choices:
        values = world.read("PUT", "readings", body=dict(choices))
    else:
        values = world.read("GET", "readings")
    return Result(values, lambda _: _show_readings(values, world))


def _show_readings(values: dict[str, Any], world: RemoteWorld) -> None:
    listed = world.server.read("GET", "/readings")["readings"]
    columns: Columns = {
        "reading": "id",
        "value": lambda one: values[one["id"]],
        "values": lambda one: ", ".join(value["name"] for value in one["values"]),
    }
    show_table(listed, columns)
