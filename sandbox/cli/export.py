"""`sandbox export`: the platform in the formats of other tools."""

import json
from pathlib import Path

import click

from sandbox.cli.exit_status import refuse
from sandbox.cli.group import Group
from sandbox.cli.tables import say, show_json


@click.group(cls=Group)
def export() -> None:
    """Write the platform in the formats of other tools."""


@export.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to this file. Default: standard output.",
)
@click.option(
    "--server",
    default="http://127.0.0.1:8080",
    show_default=True,
    metavar="URL",
    help="Address of the server that the requests go to.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path),
    help="TOML file with the real platform's names, as for `serve`.",
)
def postman(out: Path | None, *, server: str, profile: Path | None) -> None:
    """Write a Postman collection of all operations, with chained ids.

    It needs no server to be written. Bruno and Insomnia import it too. Run as a whole, it makes a
    world of its own, sends every request, and deletes the world.

    \b
    Examples:
      sandbox export postman --out sandbox.postman_collection.json
      sandbox export postman --server http://127.0.0.1:9000 > collection.json
    """
    from sandbox import __version__
    from sandbox.app import build
    from sandbox.domain.profile import Profile
    from sandbox.platform.openapi.collection import collection
    from sandbox.settings import Settings, SettingsError, read_profile

    try:
        named = read_profile(profile) if profile else Profile()
    except SettingsError as error:
        refuse(str(error))
    cast = build(Settings(profile=named)).worlds.default.cast
    shown = collection(
        named,
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
    try:
        out.write_text(json.dumps(shown, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        refuse(f"--out {out}: cannot be written: {error.strerror or error}")
    say(f"{out} is written: import it, or run it with `npx newman run {out}`")
