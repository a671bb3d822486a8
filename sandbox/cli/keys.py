"""`sandbox keys`: prints the API keys of a world's cast in full."""

import re
import shlex
from typing import Any

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.exit_status import refuse
from sandbox.cli.known import KEY
from sandbox.cli.tables import json_option, say, show_json, show_table

_USUAL = "merchant"


@click.command()
@click.option("--name", type=KEY, help="Print only the key with this name.")
@click.option("--env", "is_env", is_flag=True, help="Print lines for a shell: export SANDBOX_KEY=")
@server_options
@json_option
def keys(
    *,
    name: str | None,
    is_env: bool,
    world_id: str,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Print the API keys of a world's cast.

    They are printed in full: they are good for this sandbox alone.

    With --env, SANDBOX_KEY is the merchant's, or that of --name, SANDBOX_TERMINAL the terminal of
    the same name, and each key has a variable of its own besides, like SANDBOX_KEY_PARTNER.

    \b
    Examples:
      sandbox keys
      sandbox keys --world uat-7 --name merchant
      eval "$(sandbox keys --env)"
    """
    world = Remote(url=url, token=token).read("GET", world_path(world_id))
    all_keys = {key_name: key["key"] for key_name, key in world["keys"].items()}
    chosen = all_keys if name is None else {name: _named(name, all_keys, world_id)}
    if as_json:
        show_json(chosen)
    elif is_env:
        for line in _exports(world, chosen, name or _USUAL):
            say(line)
    elif name is not None:
        say(chosen[name])
    else:
        show_table(("name", "key"), chosen.items(), is_whole=True)


def _named(name: str, keys: dict[str, str], world_id: str) -> str:
    from sandbox.domain.text import known_words

    if name not in keys:
        refuse(f"the world {world_id} has no key {name!r}{known_words(name, keys)}")
    return keys[name]


def _exports(world: dict[str, Any], keys: dict[str, str], usual: str) -> list[str]:
    found = {"SANDBOX_KEY": keys.get(usual), "SANDBOX_TERMINAL": world["terminals"].get(usual)}
    found |= {
        "SANDBOX_KEY_" + re.sub(r"[^A-Z0-9]", "_", name.upper()): key for name, key in keys.items()
    }
    return [f"export {name}={shlex.quote(value)}" for name, value in found.items() if value]
