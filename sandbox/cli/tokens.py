"""`sandbox token`: issues, lists and deletes the tokens of teams that share a server."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import click

from sandbox.cli.control_client import Remote, ServerCommand
from sandbox.cli.main import Group
from sandbox.cli.output import Columns, Result, counted, say, show_table


@click.group(cls=Group)
def token() -> None:
    """Issue, list and delete the tokens of teams that share a server.

    A team reaches the worlds that it made, and no other. These commands need the token of the
    server itself.
    """


@token.command(cls=ServerCommand)
@click.argument("team")
@click.option("--name", help="What the token is for, in lists.")
@click.option("--expires-in", metavar="DURATION", help="How long it is good: 90d, 12h, P30D.")
def new(*, server: Remote, **more: str | None) -> Result:
    """Issue a token to TEAM, and print it. It is shown this once.

    \b
    Examples:
      sandbox token new mobile --name CI --expires-in 90d
      SANDBOX_TOKEN=$(sandbox token new mobile) sandbox world new --id checkout
    """
    body = {name: value for name, value in more.items() if value}
    return Result(server.read("POST", "/tokens", body), _show_new)


def _show_new(made: Mapping[str, Any]) -> None:
    say(made["token"])
    until = f"until {made['expires_at']}" if made["expires_at"] else "until it is deleted"
    say(f"{made['id']} is good for the worlds of the team {made['team']}, {until}", err=True)


@token.command("list", cls=ServerCommand)
def list_all(*, server: Remote) -> Result:
    """List the tokens of all teams. None is shown in plain text.

    \b
    Examples:
      sandbox token list
      sandbox token list --json
    """
    return Result(server.read("GET", "/tokens"), _show_list)


_COLUMNS: Final[Columns] = {
    "id": "id",
    "team": "team",
    "name": "name",
    "issued": "created_at",
    "expires": lambda one: "expired" if one["expired"] else one["expires_at"] or "never",
}


def _show_list(found: Mapping[str, Any]) -> None:
    if found["tokens"]:
        show_table(found["tokens"], _COLUMNS)
    say(counted(found["total"], "token"), err=True)


@token.command(cls=ServerCommand)
@click.argument("id")
def delete(id: str, *, server: Remote) -> Result:
    """Make the token with this ID worthless, at once. Its team's worlds stay.

    \b
    Example:
      sandbox token delete tok_4f2a9c01b7d3
    """
    server.read("DELETE", f"/tokens/{quote(id, safe='')}")
    return Result({"id": id, "deleted": True}, lambda _: say(f"{id} is deleted", err=True))
