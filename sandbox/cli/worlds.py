"""`sandbox world`, the worlds of a server; `switch` and `readings`, their settings; `token`."""

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click

from sandbox.cli.arguments import (
    COUNTS,
    SETTING,
    SOME_SCENARIO,
    SWITCH,
    SWITCH_VALUE,
    ParsedType,
    parse_instant,
    quote_word,
)
from sandbox.cli.control_client import WORLD, Remote, RemoteWorld, ServerCommand, WorldCommand
from sandbox.cli.files import capture, convert, load, open_captures, save
from sandbox.cli.main import Group
from sandbox.cli.output import (
    EXIT_REFUSED,
    Columns,
    Result,
    count_things,
    read_text,
    refuse,
    say,
    say_parts,
    show_table,
    working,
)
from sandbox.cli.platform_client import platform_of
from sandbox.domain.json_text import value_of
from sandbox.domain.switches import SWITCHES
from sandbox.domain.text import did_you_mean


@click.group(cls=Group)
def world() -> None:
    """Create, list, reset, delete, save, load and capture worlds."""


for _command in (save, load, convert, capture, open_captures):
    world.add_command(_command)


def _parse_frozen_at(value: str) -> str | None:
    """None for a running clock, or the instant at which it is frozen."""
    return None if value == "running" else parse_instant(value)


@world.command(cls=ServerCommand)
@click.option("--id", help="Id of the world. Default: a random one.")
@click.option("--name", help="Name in lists.")
@click.option("--seed", type=int, help="Seed for its ids. Default: the server's.")
@click.option("--fixture", help="Fixture: a name under fixtures/.")
@click.option(
    "--scenario", type=SOME_SCENARIO, help="Scenario: a name or title of the library, or a file."
)
@click.option(
    "--clock",
    type=ParsedType("running|INSTANT", _parse_frozen_at),
    help="Clock: running, or frozen at an instant.",
)
@click.option(
    "--switch",
    "switches",
    multiple=True,
    type=SETTING,
    help="Switch, like batch.settlement=manual. May be given several times.",
)
@click.option(
    "--reading",
    "readings",
    multiple=True,
    type=SETTING,
    help="Reading, like delete_answers=resource. May be given several times.",
)
@click.option(
    "--invent", type=COUNTS, help="Generate merchants beside the fixture's: merchants=200."
)
def new(*, scenario: str | None, server: Remote, **more: Any) -> Result:
    """Create a world, and print its keys with a first request to paste.

    \b
    Examples:
      sandbox world new
      sandbox world new --id uat-7 --seed 7 --clock 2026-07-01T09:00:00Z
      sandbox world new --scenario my-story.toml --switch batch.settlement=manual
      sandbox world new --reading delete_answers=resource
      sandbox world new --invent merchants=200,terminals_per_merchant=2
    """
    body = {name: value for name, value in more.items() if value not in (None, ())}
    body |= {name: dict(body[name]) for name in ("switches", "readings") if name in body}
    if scenario is not None:
        body["scenario"] = _scenario(scenario)
    with working("creating a world"):
        made = server.read("POST", "/worlds", body)

    def show(_: Any) -> None:
        _show(made)
        _show_first_request(made, server)

    return Result(made, show)


def _scenario(named: str) -> Any:
    """Return the scenario as the server takes it: the content of a file, or a name."""
    path = Path(named)
    if not path.name.endswith(".toml"):
        return {"name": named}
    try:
        # The server checks it, because the server's version defines the words.
        return tomllib.loads(read_text(path, "--scenario: "))
    except ValueError as error:
        refuse(f"--scenario: {path}: cannot be read: {error}")


@world.command(name="list", cls=ServerCommand)
def list_all(*, server: Remote) -> Result:
    """List the worlds of a server."""
    listed = server.read("GET", "/worlds")
    return Result(listed, lambda _: show_table(listed["worlds"], _COLUMNS))


_COLUMNS: Final[Columns] = {
    **{name: name for name in ("id", "name", "seed", "fixture", "scenario")},
    "clock": lambda world: f"{world['clock']['now']} {world['clock']['mode']}",
}


_world_argument = click.argument("named", metavar="[WORLD]", required=False, type=WORLD)
"""The world as an argument, beside the option that all commands have."""


@world.command(cls=WorldCommand)
@_world_argument
def show(*, world: RemoteWorld) -> Result:
    """Show a world: its clock, accounts, terminals, locations and keys.

    \b
    Example:
      sandbox world show uat-7
    """
    return Result(world.read("GET"), _show)


@world.command(cls=WorldCommand)
@_world_argument
def reset(*, world: RemoteWorld) -> Result:
    """Reset a world to its fixture, with the same keys.

    \b
    Example:
      sandbox world reset uat-7
    """
    with working("resetting"):
        document = world.read("POST", "reset")
    return Result(document, f"{world.id} is as it began, with fixture {document['fixture']}")


@world.command(cls=WorldCommand)
@_world_argument
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(*, yes: bool, world: RemoteWorld) -> Result:
    """Delete a world with all its data. On a terminal, asks for confirmation.

    \b
    Example:
      sandbox world delete uat-7 --yes
    """
    question = f"Delete the world {world.id} with all its data?"
    if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
        refuse(f"{world.id} stays", EXIT_REFUSED)
    world.read("DELETE")
    return Result({"deleted": world.id}, f"{world.id} is deleted")


def _show(world: dict[str, Any]) -> None:
    clock, known = world["clock"], ("fixture", "seed", "scenario")
    called = f" ({world['name']})" if world["name"] else ""
    facts = [f"{name} {world[name]}," for name in known if world[name] is not None]
    facts += [f"reading {id}={value}," for id, value in world["readings"].items()]
    facts.append(f"clock {clock['mode']} at {clock['now']}")
    say_parts([f"world {world['id']}{called}:", *facts], between=" ")
    say()
    kinds = {"account": "accounts", "terminal": "terminals", "location": "locations"}
    cast = [
        {"cast": name, **{one: world[kind].get(name) for one, kind in kinds.items()}}
        for name in dict.fromkeys([*world["accounts"], *world["locations"]])
    ]
    show_table(cast, ("cast", *kinds), is_whole=True)
    say()
    keys = [{"key of": name, "key": one["key"]} for name, one in world["keys"].items()]
    show_table(keys, ("key of", "key"), is_whole=True)


def _show_first_request(world: dict[str, Any], server: Remote) -> None:
    """Show a sale to paste, or how to list keys if no merchant has a terminal."""
    keys, terminal = world["keys"], world["terminals"].get("merchant")
    named = "merchant" if "merchant" in keys else next(iter(keys), None)
    if named is None:
        return
    platform = platform_of(server)
    url, header = platform.url, f"-H '{platform.key_header}: {keys[named]['key']}'"
    if named == "merchant" and terminal:
        body = json.dumps({"amount": 1000, "terminal_id": terminal})
        line = f"curl -s {url}/v3/payment {header} --json '{body}'"
    else:
        line = f"curl -s {url}/v5/apikeys {header}"
    say()
    say("A first request to paste:")
    say(f"  {line}")


# --- settings


@click.command(cls=WorldCommand)
@click.argument("name", required=False, type=SWITCH)
@click.argument("value", required=False, type=SWITCH_VALUE)
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
    """Return the value that the text names. Ends the command if the switch has no such value."""
    row = SWITCHES[name]
    named = {_text(value): value for value in row.values}
    value: Any = named.get(text.lower()) if row.values else value_of(text)
    if value is None or not row.accepts(value):
        message = f"{quote_word(text)} is not a value of {name}: it is {row.choices}"
        raise click.BadParameter(message + did_you_mean(text, named), param_hint="'VALUE'")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@click.command(cls=WorldCommand)
@click.argument("choices", nargs=-1, type=SETTING, metavar="[READING=VALUE]...")
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
    body = dict(choices) or None
    values = world.read("PUT" if body else "GET", "readings", body=body)
    columns: Columns = {
        "reading": "id",
        "value": lambda one: values[one["id"]],
        "values": lambda one: ", ".join(value["name"] for value in one["values"]),
    }

    def show(_: Any) -> None:
        show_table(world.server.read("GET", "/readings")["readings"], columns)

    return Result(values, show)


# --- the tokens of teams that share a server ----------------------------------------------------


@click.group(cls=Group)
def token() -> None:
    """Issue, list and delete the tokens of teams that share a server.

    A team reaches the worlds that it made, and no other. These commands need the token of the
    server itself.
    """


@token.command("new", cls=ServerCommand)
@click.argument("team")
@click.option("--name", help="What the token is for, in lists.")
@click.option("--expires-in", metavar="DURATION", help="How long it is good: 90d, 12h, P30D.")
def new_token(*, server: Remote, **more: str | None) -> Result:
    """Issue a token to TEAM, and print it. It is shown this once.

    \b
    Examples:
      sandbox token new mobile --name CI --expires-in 90d
      SANDBOX_TOKEN=$(sandbox token new mobile) sandbox world new --id checkout
    """
    body = {name: value for name, value in more.items() if value}
    return Result(server.read("POST", "/tokens", body), _show_token)


def _show_token(made: Mapping[str, Any]) -> None:
    say(made["token"])
    until = f"until {made['expires_at']}" if made["expires_at"] else "until it is deleted"
    say(f"{made['id']} is good for the worlds of the team {made['team']}, {until}", err=True)


@token.command("list", cls=ServerCommand)
def list_tokens(*, server: Remote) -> Result:
    """List the tokens of all teams. None is shown in plain text.

    \b
    Examples:
      sandbox token list
      sandbox token list --json
    """
    return Result(server.read("GET", "/tokens"), _show_tokens)


_TOKEN_COLUMNS: Final[Columns] = {
    "id": "id",
    "team": "team",
    "name": "name",
    "issued": "created_at",
    "expires": lambda one: "expired" if one["expired"] else one["expires_at"] or "never",
}


def _show_tokens(found: Mapping[str, Any]) -> None:
    if found["tokens"]:
        show_table(found["tokens"], _TOKEN_COLUMNS)
    say(count_things(found["total"], "token"), err=True)


@token.command("delete", cls=ServerCommand)
@click.argument("id")
def delete_token(id: str, *, server: Remote) -> Result:
    """Make the token with this ID worthless, at once. Its team's worlds stay.

    \b
    Example:
      sandbox token delete tok_4f2a9c01b7d3
    """
    server.read("DELETE", f"/tokens/{quote(id, safe='')}")
    return Result({"id": id, "deleted": True}, lambda _: say(f"{id} is deleted", err=True))
