"""`sandbox world`, the worlds of a server; `switch` and `readings`, their settings; `token`."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click

from sandbox.cli import arguments, output
from sandbox.cli.control_client import WORLD, Remote, RemoteWorld, ServerCommand, WorldCommand
from sandbox.cli.files import capture, convert, load, open_captures, save
from sandbox.cli.main import Group
from sandbox.cli.platform_client import platform_of
from sandbox.domain.json_text import value_of
from sandbox.domain.switches import SWITCHES
from sandbox.domain.text import did_you_mean, parse_toml


@click.group(cls=Group)
def world() -> None:
    """Create, list, fork, reset, delete, save, load and capture worlds."""


for _command in (save, load, convert, capture, open_captures):
    world.add_command(_command)


def _parse_frozen_at(value: str) -> str | None:
    """Return None for a running clock, or the instant at which to freeze it."""
    return None if value == "running" else arguments.parse_instant(value)


@world.command(cls=ServerCommand)
@click.option("--id", help="Id of the world. Default: a random one.")
@click.option("--name", help="Name in lists.")
@click.option("--seed", type=int, help="Seed for its ids. Default: the server's.")
@click.option("--fixture", help="Fixture: a name under fixtures/.")
@click.option(
    "--scenario",
    type=arguments.SOME_SCENARIO,
    help="Scenario: a name or title of the library, or a file.",
)
@click.option(
    "--clock",
    type=arguments.ParsedType("running|INSTANT", _parse_frozen_at),
    help="Clock: running, or frozen at an instant.",
)
@arguments.several(
    "--switch", "switches", type=arguments.SETTING, help="Switch, like batch.settlement=manual."
)
@arguments.several(
    "--reading", "readings", type=arguments.READING, help="Reading, like delete_answers=resource."
)
@arguments.several(
    "--webhook", "urls", type=arguments.TARGET, help="Send webhooks of the world to this URL."
)
@click.option(
    "--invent",
    type=arguments.COUNTS,
    help="Generate more merchants than the fixture has: merchants=200.",
)
def new(
    *, scenario: str | None, urls: tuple[str, ...], server: Remote, **more: Any
) -> output.Result:
    """Create a world, and print its keys with a first request to paste.

    With --webhook it also prints the secret that signs the webhooks.

    \b
    Examples:
      sandbox world new
      sandbox world new --id uat-7 --seed 7 --clock 2026-07-01T09:00:00Z
      sandbox world new --scenario my-story.toml --switch batch.settlement=manual
      sandbox world new --reading delete_answers=resource
      sandbox world new --webhook localhost:9000/hook
      sandbox world new --invent merchants=200,terminals_per_merchant=2
    """
    body = {name: value for name, value in more.items() if value not in (None, ())}
    body |= {name: dict(body[name]) for name in ("switches", "readings") if name in body}
    if scenario is not None:
        body["scenario"] = _scenario(scenario)
    if urls:
        body["endpoints"] = [{"url": url} for url in urls]
    with output.working("creating a world"):
        made = server.read("POST", "/worlds", body)

    def show(_: Any) -> None:
        _show(made)
        if urls:
            output.say()
            output.show_table(made["endpoints"], ("url", "secret"), is_whole=True)
        _show_first_request(made, server)

    return output.Result(made, show)


def _scenario(named: str) -> dict[str, str]:
    """Return the scenario as the server takes it: the text of a file, or a name."""
    path = Path(named)
    if not path.name.endswith(".toml"):
        return {"name": named}
    text = output.read_text(path, "--scenario: ")
    # The server checks the rest, because the server's version defines the words.
    with output.using(f"--scenario: {path}"):
        parse_toml(text)
    return {"toml": text}


@world.command(name="list", cls=ServerCommand)
def list_all(*, server: Remote) -> output.Result:
    """List the worlds of a server."""
    listed = server.read("GET", "/worlds")
    return output.Result(listed, lambda _: output.show_table(listed["worlds"], _COLUMNS))


_COLUMNS: Final[output.Columns] = {
    **{name: name for name in ("id", "name", "seed", "fixture", "scenario")},
    "clock": lambda world: f"{world['clock']['now']} {world['clock']['mode']}",
}


_world_argument = click.argument("named", metavar="[WORLD]", required=False, type=WORLD)
"""The world as an argument, beside the option that all commands have."""


@world.command(cls=WorldCommand)
@_world_argument
def show(*, world: RemoteWorld) -> output.Result:
    """Show a world: its clock, accounts, terminals, locations and keys.

    \b
    Example:
      sandbox world show uat-7
    """
    return output.Result(world.read("GET"), _show)


@world.command(cls=WorldCommand)
@_world_argument
def reset(*, world: RemoteWorld) -> output.Result:
    """Reset a world to its fixture, with the same keys.

    \b
    Example:
      sandbox world reset uat-7
    """
    with output.working("resetting"):
        document = world.read("POST", "reset")
    return output.Result(document, f"{world.id} is reset to the fixture {document['fixture']}")


@world.command(cls=WorldCommand)
@_world_argument
@click.option("--id", help="Id of the copy. Default: the next free one.")
@click.option("--name", help="Name of the copy in lists.")
def fork(*, world: RemoteWorld, **wanted: str | None) -> output.Result:
    """Copy a world, with keys of its own, and show the copy.

    \b
    Example:
      sandbox world fork uat-7 --id uat-7-copy
    """
    body = {name: value for name, value in wanted.items() if value}
    with output.working("copying"):
        return output.Result(world.read("POST", "fork", body=body), _show)


@world.command(cls=WorldCommand)
@_world_argument
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(*, yes: bool, world: RemoteWorld) -> output.Result:
    """Delete a world with all its data. On a terminal, asks for confirmation.

    \b
    Example:
      sandbox world delete uat-7 --yes
    """
    question = f"Delete the world {world.id} with all its data?"
    if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
        output.refuse(f"{world.id} was not deleted", output.EXIT_REFUSED)
    world.read("DELETE")
    return output.Result({"deleted": world.id}, f"{world.id} is deleted")


def _show(world: dict[str, Any]) -> None:
    clock, known = world["clock"], ("fixture", "seed", "scenario")
    called = f" ({world['name']})" if world["name"] else ""
    facts = [f"{name} {world[name]}," for name in known if world[name] is not None]
    facts += [f"reading {id}={value}," for id, value in world["readings"].items()]
    facts.append(f"clock {clock['mode']} at {clock['now']}")
    output.say_parts([f"world {world['id']}{called}:", *facts], between=" ")
    output.say()
    kinds = {"account": "accounts", "terminal": "terminals", "location": "locations"}
    cast = [
        {"cast": name, **{one: world[kind].get(name) for one, kind in kinds.items()}}
        for name in dict.fromkeys([*world["accounts"], *world["locations"]])
    ]
    output.show_table(cast, ("cast", *kinds), is_whole=True)
    output.say()
    keys = [{"key of": name, "key": one["key"]} for name, one in world["keys"].items()]
    output.show_table(keys, ("key of", "key"), is_whole=True)


def _show_first_request(world: dict[str, Any], server: Remote) -> None:
    """Show a sale to paste, or how to list keys if no merchant has a terminal."""
    keys, terminal = world["keys"], world["terminals"].get("merchant")
    named = "merchant" if "merchant" in keys else next(iter(keys), None)
    if named is None:
        return
    platform = platform_of(server)
    url, header = platform.url, f"-H '{platform.key_header}: {keys[named]['key']}'"
    curl, lines = "curl -s", ["", "A first request to paste:"]
    if server.url.startswith("https:") and server.send("GET", "/ca.pem").is_success:
        curl = "curl -s --cacert ca.pem"
        lines.append(f"  curl -sk {server.control_url}/ca.pem -o ca.pem")
    if named == "merchant" and terminal:
        body = json.dumps({"amount": 1000, "terminal_id": terminal})
        line = f"{curl} {url}/v3/payment {header} --json '{body}'"
    else:
        line = f"{curl} {url}/v5/apikeys {header}"
    output.say_lines([*lines, f"  {line}"])


# --- settings


@click.command(cls=WorldCommand)
@click.argument("name", required=False, type=arguments.SWITCH)
@click.argument("value", required=False, type=arguments.SWITCH_VALUE)
def switch(name: str | None, value: str | None, *, world: RemoteWorld) -> output.Result:
    """Show the switches of a world, or set the switch NAME to VALUE.

    A switch changes how a world behaves. With NAME alone, its value is printed.

    \b
    Examples:
      sandbox switch
      sandbox switch batch.settlement
      sandbox switch batch.settlement manual
      sandbox switch latency.scale 0.5
    """
    body = {name: _value(name, value)} if name is not None and value is not None else None
    values = world.read("PUT" if body else "GET", "switches", body=body)
    if name is not None:
        return output.Result({name: values[name]}, _text(values[name]))
    return output.Result(values, _show_switches)


def _show_switches(values: dict[str, Any]) -> None:
    columns: output.Columns = {
        "switch": lambda row: row[0],
        "value": lambda row: _text(row[1]),
        "what it does": lambda row: SWITCHES[row[0]].about if row[0] in SWITCHES else None,
    }
    output.show_table(values.items(), columns)


def _value(name: str, text: str) -> Any:
    """Return the value that the text names. Ends the command if the switch has no such value."""
    row = SWITCHES[name]
    named = {_text(value): value for value in row.values}
    value: Any = named.get(text.lower()) if row.values else value_of(text)
    if value is None or not row.accepts(value):
        message = f"{arguments.quote_word(text)} is not a value of {name}: it is {row.choices}"
        raise click.BadParameter(message + did_you_mean(text, named), param_hint="'VALUE'")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@click.command(cls=WorldCommand)
@click.argument("choices", nargs=-1, type=arguments.READING, metavar="[READING=VALUE]...")
def readings(choices: tuple[tuple[str, str | None], ...], *, world: RemoteWorld) -> output.Result:
    """Show or choose how a world reads the spec.

    Where a sentence of the spec can be understood in several ways, a reading chooses one. The value
    null resets a reading to that of the profile.

    \b
    Examples:
      sandbox readings
      sandbox readings refund_before_settlement=refused --world uat-7
      sandbox readings refund_before_settlement=null
    """
    body = dict(choices) or None
    values = world.read("PUT" if body else "GET", "readings", body=body)
    columns: output.Columns = {
        "reading": "id",
        "value": lambda one: values[one["id"]],
        "values": lambda one: ", ".join(value["name"] for value in one["values"]),
    }

    def show(_: Any) -> None:
        output.show_table(world.server.read("GET", "/readings")["readings"], columns)

    return output.Result(values, show)


# --- the tokens of teams that share a server ----------------------------------------------------


@click.group(cls=Group)
def token() -> None:
    """Issue, list and delete the tokens of teams that share a server.

    A team can reach only the worlds that it made. These commands need the token of the
    server itself.
    """


@token.command("new", cls=ServerCommand)
@click.argument("team")
@click.option("--name", help="What the token is for, in lists.")
@click.option("--expires-in", metavar="DURATION", help="How long it is valid: 90d, 12h, P30D.")
def new_token(*, server: Remote, **more: str | None) -> output.Result:
    """Issue a token to TEAM, and print it. It is shown only once.

    \b
    Examples:
      sandbox token new mobile --name CI --expires-in 90d
      SANDBOX_TOKEN=$(sandbox token new mobile) sandbox world new --id checkout
    """
    body = {name: value for name, value in more.items() if value}
    return output.Result(server.read("POST", "/tokens", body), _show_token)


def _show_token(made: Mapping[str, Any]) -> None:
    output.say(made["token"])
    until = f"until {made['expires_at']}" if made["expires_at"] else "until it is deleted"
    output.say(f"{made['id']} is valid for worlds of the team {made['team']}, {until}", err=True)


@token.command("list", cls=ServerCommand)
def list_tokens(*, server: Remote) -> output.Result:
    """List the tokens of all teams. No token is shown in plain text.

    \b
    Examples:
      sandbox token list
      sandbox token list --json
    """
    return output.Result(server.read("GET", "/tokens"), _show_tokens)


_TOKEN_COLUMNS: Final[output.Columns] = {
    "id": "id",
    "team": "team",
    "name": "name",
    "issued": "created_at",
    "expires": lambda one: "expired" if one["expired"] else one["expires_at"] or "never",
}


def _show_tokens(found: Mapping[str, Any]) -> None:
    if found["tokens"]:
        output.show_table(found["tokens"], _TOKEN_COLUMNS)
    output.say(output.count_things(found["total"], "token"), err=True)


@token.command("delete", cls=ServerCommand)
@click.argument("id")
def delete_token(id: str, *, server: Remote) -> output.Result:
    """Revoke the token with this ID. Its team's worlds stay.

    \b
    Example:
      sandbox token delete tok_4f2a9c01b7d3
    """
    server.read("DELETE", f"/tokens/{quote(id, safe='')}")
    said = f"{id} is deleted"
    return output.Result({"id": id, "deleted": True}, lambda _: output.say(said, err=True))
