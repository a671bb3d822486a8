"""`sandbox export`: the platform in the formats of other tools."""

import json
from pathlib import Path

import click

from sandbox import __version__
from sandbox.app import build
from sandbox.cli.choices import INSTANT
from sandbox.cli.control_client import RemoteWorld, world_options
from sandbox.cli.groups import Group
from sandbox.cli.options import profile_option
from sandbox.cli.output import counted, json_flag, say, say_lines, show_json, write_file
from sandbox.domain.profile import Profile
from sandbox.platform.openapi.examples import collection
from sandbox.settings import Settings

_out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to this file. Default: standard output.",
)


@click.group(cls=Group)
def export() -> None:
    """Write the platform, or requests to it, in the formats of other tools."""


@export.command()
@_out_option
@click.option(
    "--server",
    default="http://127.0.0.1:8080",
    metavar="URL",
    help="Address of the server that the requests go to.",
)
@profile_option(help="TOML file with the real platform's names, as for `serve`.")
def postman(out: Path | None, *, server: str, profile: Profile) -> None:
    """Write a Postman collection of all operations, with chained ids.

    It needs no server to be written. Bruno and Insomnia import it too. Run as a whole, it makes a
    world of its own, sends every request, and deletes the world.

    \b
    Examples:
      sandbox export postman --out sandbox.postman_collection.json
      sandbox export postman --server http://127.0.0.1:9000 > collection.json
    """
    cast = build(Settings(profile=profile)).worlds.default.cast
    shown = collection(
        profile,
        version=__version__,
        url=server.rstrip("/"),
        keys={name: key for name, (_, key) in cast.keys.items()},
        cast={
            "accounts": cast.accounts,
            "terminals": cast.terminals,
            "locations": cast.locations,
        },
    )
    if out is None:
        show_json(shown)
        return
    write_file(out, json.dumps(shown, indent=2) + "\n", option="--out ")
    say(f"{out} is written: import it, or run it with `npx newman run {out}`")


@export.command()
@click.argument("ids", nargs=-1)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["curl", "har", "markdown", "pytest", "scenario"]),
    default="curl",
    help="Format of the file.",
)
@click.option("--subject", help="Only requests about the payment, batch or key with this id.")
@click.option("--since", type=INSTANT, help="Only requests from this instant on.")
@_out_option
@world_options
@json_flag
def requests(
    ids: tuple[str, ...],
    *,
    kind: str,
    subject: str | None,
    since: str | None,
    out: Path | None,
    world: RemoteWorld,
    as_json: bool,
) -> None:
    """Write requests of the journal as curl, HAR, Markdown, a test or a scenario.

    IDS are the ids of requests, like req_0000000001. Without them, all requests that fit. Keys are
    never written: the commands take them from variables of the shell. A scenario has rules for the
    outcomes, and examples that came true in a demo world; reads and other requests are left out.

    \b
    Examples:
      sandbox export requests req_0000000001
      sandbox export requests --as har --out requests.har
      sandbox export requests --as markdown --subject 3fa85f64-5717-4562-b3fc-2c963f66afa6
      sandbox export requests --as pytest --out test_what_was_seen.py
      sandbox export requests --as scenario --out what-was-seen.toml
    """
    chosen = {"requests": list(ids) or None, "subject": subject, "since": since}
    body = {"as": kind} | {name: value for name, value in chosen.items() if value is not None}
    shown = world.read("POST", "export", body=body)
    if as_json:
        show_json(shown)
    elif out is None:
        say_lines(shown["content"].splitlines())
    else:
        write_file(out, shown["content"])
        say(f"wrote {counted(shown['requests'], 'request')} to {out}")
