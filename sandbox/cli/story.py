"""`sandbox scenario run` and `stop`: the scenario of a world on a running server."""

import tomllib

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.exit_status import refuse
from sandbox.cli.known import SOME_SCENARIO
from sandbox.cli.tables import json_option, say, show_json
from sandbox.domain.text import decode_text


@click.command()
@click.argument("name", type=SOME_SCENARIO)
@server_options
@json_option
def run(name: str, *, world_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Run a scenario in a world, in place of the one that runs there.

    NAME is a name or title of the library, or a file.

    \b
    Examples:
      sandbox scenario run late_answer
      sandbox scenario run my-story.toml --world uat-7
    """
    from sandbox import library
    from sandbox.scenarios.parser import ScenarioError, read_scenario

    try:
        path = library.scenario_file(name)
        read_scenario(path)
    except ScenarioError as error:
        refuse(str(error))
    document = tomllib.loads(decode_text(path.read_bytes()))
    running = Remote(url=url, token=token).read("PUT", world_path(world_id, "scenario"), document)
    if as_json:
        show_json(running)
    else:
        say(f"{running['name']} runs in {world_id}")


@click.command()
@server_options
@json_option
def stop(*, world_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Stop the scenario of a world. Without one, nothing changes.

    \b
    Example:
      sandbox scenario stop --world uat-7
    """
    Remote(url=url, token=token).ask("DELETE", world_path(world_id, "scenario"))
    if as_json:
        show_json({"world": world_id, "scenario": None})
    else:
        say(f"no scenario runs in {world_id}")
