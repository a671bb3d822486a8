"""`sandbox world new`, `list`, `show`, `reset` and `delete`: the worlds of a running server."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from sandbox.cli.acting import platform_of
from sandbox.cli.control import (
    Remote,
    at_server,
    complete_worlds,
    server_options,
    world_path,
)
from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.known import SOME_SCENARIO
from sandbox.cli.params import CountsType, InstantType, SettingType
from sandbox.cli.progress import working
from sandbox.cli.tables import json_option, say, say_parts, show_json, show_table
from sandbox.domain.text import decode_text


class _FrozenAtType(InstantType):
    """`running`, or an instant at which the clock is frozen."""

    name = "running|INSTANT"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """None for a running clock, or the instant."""
        return None if value in (None, "running") else super().convert(value, param, ctx)


@click.command()
@click.option("--id", help="Id of the world. Default: a random one.")
@click.option("--name", help="Name in lists.")
@click.option("--seed", type=int, help="Seed for its ids. Default: the server's.")
@click.option("--fixture", help="Fixture: a name under fixtures/.")
@click.option(
    "--scenario", type=SOME_SCENARIO, help="Scenario: a name or title of the library, or a file."
)
@click.option("--clock", type=_FrozenAtType(), help="Clock: running, or frozen at an instant.")
@click.option(
    "--switch",
    "switches",
    multiple=True,
    type=SettingType(),
    help="Switch, like batch.settlement=manual. May be given several times.",
)
@click.option(
    "--reading",
    "readings",
    multiple=True,
    type=SettingType(),
    help="Reading, like delete_answers=resource. May be given several times.",
)
@click.option(
    "--invent", type=CountsType(), help="Generate merchants beside the fixture's: merchants=200."
)
@at_server
@json_option
def new(
    *,
    scenario: str | None,
    switches: tuple[tuple[str, Any], ...],
    readings: tuple[tuple[str, Any], ...],
    url: str,
    token: str | None,
    as_json: bool,
    **more: Any,
) -> None:
    """Create a world, and print its keys with a first request to paste.

    \b
    Examples:
      sandbox world new
      sandbox world new --id uat-7 --seed 7 --clock 2026-07-01T09:00:00Z
      sandbox world new --scenario my-story.toml --switch batch.settlement=manual
      sandbox world new --reading delete_answers=resource
      sandbox world new --invent merchants=200,terminals_per_merchant=2
    """
    server = Remote(url=url, token=token)
    body = {name: value for name, value in more.items() if value is not None}
    if scenario is not None:
        body["scenario"] = _scenario(scenario)
    if switches:
        body["switches"] = dict(switches)
    if readings:
        body["readings"] = dict(readings)
    with working("creating a world"):
        made = server.read("POST", "/worlds", body)
    if as_json:
        show_json(made)
        return
    _show(made)
    _show_first_request(made, server)


def _scenario(named: str) -> Any:
    """The scenario as the server takes it: the content of a file, or a name."""
    path = Path(named)
    if not path.name.endswith(".toml"):
        return {"name": named}
    import tomllib

    try:
        # The server checks it, because the server's version defines the words.
        return tomllib.loads(decode_text(path.read_bytes()))
    except (OSError, ValueError) as error:
        refuse(f"--scenario: {path}: cannot be read: {error}")


@click.command(name="list")
@at_server
@json_option
def list_all(*, url: str, token: str | None, as_json: bool) -> None:
    """List the worlds of a server."""
    listed = Remote(url=url, token=token).read("GET", "/worlds")
    if as_json:
        show_json(listed)
        return
    rows = [
        (
            world["id"],
            world["name"],
            world["seed"],
            world["fixture"],
            world["scenario"],
            f"{world['clock']['now']} {world['clock']['mode']}",
        )
        for world in listed["worlds"]
    ]
    show_table(("id", "name", "seed", "fixture", "scenario", "clock"), rows)


def named_world(command: Any) -> Any:
    """The world as an argument, or as the option that all commands have."""
    argument = click.argument(
        "named", metavar="[WORLD]", required=False, shell_complete=complete_worlds
    )
    return argument(server_options(command))


def _which(named: str | None, world_id: str) -> str:
    return world_id if named is None else named


@click.command()
@named_world
@json_option
def show(named: str | None, *, world_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Show a world: its clock, accounts, terminals, locations and keys.

    \b
    Example:
      sandbox world show uat-7
    """
    world = Remote(url=url, token=token).read("GET", world_path(_which(named, world_id)))
    if as_json:
        show_json(world)
    else:
        _show(world)


@click.command()
@named_world
@json_option
def reset(named: str | None, *, world_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Reset a world to its fixture, with the same keys.

    \b
    Example:
      sandbox world reset uat-7
    """
    id = _which(named, world_id)
    with working("resetting"):
        world = Remote(url=url, token=token).read("POST", world_path(id, "reset"))
    if as_json:
        show_json(world)
    else:
        say(f"{id} is as it began, with fixture {world['fixture']}")


@click.command()
@named_world
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
def delete(
    named: str | None, *, yes: bool, world_id: str, url: str, token: str | None, as_json: bool
) -> None:
    """Delete a world with all its data. On a terminal, asks for confirmation.

    \b
    Example:
      sandbox world delete uat-7 --yes
    """
    id = _which(named, world_id)
    question = f"Delete the world {id} with all its data?"
    if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
        refuse(f"{id} stays", EXIT_REFUSED)
    Remote(url=url, token=token).ask("DELETE", world_path(id))
    if as_json:
        show_json({"deleted": id})
    else:
        say(f"{id} is deleted")


def _show(world: dict[str, Any]) -> None:
    clock, scenario = world["clock"], world["scenario"]
    called = f" ({world['name']})" if world["name"] else ""
    facts = [
        f"world {world['id']}{called}:",
        f"fixture {world['fixture']},",
        f"seed {world['seed']},",
        *([f"scenario {scenario},"] if scenario else []),
        *(f"reading {id}={value}," for id, value in world["readings"].items()),
        f"clock {clock['mode']} at {clock['now']}",
    ]
    say_parts(facts, between=" ")
    say()
    cast = dict.fromkeys([*world["accounts"], *world["locations"]])
    rows = [
        (name, *(world[kind].get(name) for kind in ("accounts", "terminals", "locations")))
        for name in cast
    ]
    show_table(("cast", "account", "terminal", "location"), rows, is_whole=True)
    say()
    keys = [(name, one["key"]) for name, one in world["keys"].items()]
    show_table(("key of", "key"), keys, is_whole=True)


def _show_first_request(world: dict[str, Any], server: Remote) -> None:
    """A sale to paste, or a list of keys if the cast has no merchant with a terminal."""
    keys, terminal = world["keys"], world["terminals"].get("merchant")
    named = "merchant" if "merchant" in keys else next(iter(keys), None)
    if named is None:
        return
    url, name = platform_of(server)
    header = f"-H '{name}: {keys[named]['key']}'"
    if named == "merchant" and terminal:
        body = json.dumps({"amount": 1000, "terminal_id": terminal})
        line = f"curl -s {url}/v3/payment {header} --json '{body}'"
    else:
        line = f"curl -s {url}/v5/apikeys {header}"
    say()
    say("A first request to paste:")
    say(f"  {line}")
