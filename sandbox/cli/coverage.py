"""`sandbox coverage`: the parts of the platform that an integration used."""

import sys
from typing import Any

import click

from sandbox.cli.control import Remote, at_server, world_path
from sandbox.cli.coverage_table import table
from sandbox.cli.exit_status import EXIT_REFUSED
from sandbox.cli.tables import json_option, say, show_json


@click.command()
@click.option(
    "--world",
    "world_id",
    envvar="SANDBOX_WORLD",
    help="Only this world (env SANDBOX_WORLD). Default: all worlds of the server.",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with status 1 if fewer than this part of the operations were used.",
)
@at_server
@json_option
def coverage(
    *,
    world_id: str | None,
    fail_under: float | None,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Show which parts of the platform were used, and which were not.

    For a server: all worlds since its start, including deleted ones. For a world: since it was
    created or reset.

    \b
    Examples:
      sandbox coverage
      sandbox coverage --world uat-7 --json
      sandbox coverage --fail-under 80
    """
    path = "/coverage" if world_id is None else world_path(world_id, "coverage")
    found = Remote(url=url, token=token).read("GET", path)
    if as_json:
        show_json(found)
    else:
        for line in table(found):
            say(line)
    if fail_under is not None and (percent := _percent(found["operations"])) < fail_under:
        say(
            f"sandbox: {percent:.1f} % of the operations were exercised, "
            f"less than {fail_under:g} %",
            err=True,
        )
        sys.exit(EXIT_REFUSED)


def _percent(section: dict[str, Any]) -> float:
    """The part of the table that was used, in percent."""
    exercised = len(section["exercised"])
    return 100 * exercised / max(exercised + len(section["never"]), 1)
