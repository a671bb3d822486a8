"""Commands that look something up in a world, or on a server."""

import re
import shlex
import webbrowser
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import click

from sandbox.cli import output
from sandbox.cli.arguments import NumberRange
from sandbox.cli.control_client import WORLD, Remote, RemoteWorld, ServerCommand, WorldCommand
from sandbox.cli.platform_client import KEY, MEMBER
from sandbox.domain.text import suggest_words

_NAMES_MAX: Final = 12
"""How many names to print for a section of the coverage; the JSON has all of them."""

_some_world_option = click.option(
    "--world",
    "world_id",
    envvar="SANDBOX_WORLD",
    type=WORLD,
    help="Only this world (env SANDBOX_WORLD). Default: all worlds of the server.",
)


@click.command(cls=WorldCommand)
@click.option("--name", type=KEY, help="Print only the key with this name.")
@click.option("--env", "is_env", is_flag=True, help="Print lines for a shell: export SANDBOX_KEY=")
def keys(*, name: str | None, is_env: bool, world: RemoteWorld) -> output.Result:
    """Print the API keys of a world's cast.

    Keys are printed in full, because they only work in this sandbox.

    With --env, SANDBOX_KEY is the key of the merchant, or of the member that --name gives, and
    SANDBOX_TERMINAL is that member's terminal. Each key also has its own variable, like
    SANDBOX_KEY_PARTNER.

    \b
    Examples:
      sandbox keys
      sandbox keys --world uat-7 --name merchant
      eval "$(sandbox keys --env)"
    """
    document = world.read("GET")
    chosen = {key_name: key["key"] for key_name, key in document["keys"].items()}
    if name is not None:
        if name not in chosen:
            output.refuse(f"the world {world.id} has no key {name!r}{suggest_words(name, chosen)}")
        chosen = {name: chosen[name]}
    if is_env:
        exports = _exports(document, chosen, name or "merchant")
        return output.Result(chosen, lambda _: output.say_lines(exports))
    if name is not None:
        return output.Result(chosen, chosen[name])
    rows = [{"name": name, "key": key} for name, key in chosen.items()]
    return output.Result(chosen, lambda _: output.show_table(rows, ("name", "key"), is_whole=True))


def _exports(world: dict[str, Any], keys: dict[str, str], usual: str) -> Iterator[str]:
    found = {"SANDBOX_KEY": keys.get(usual), "SANDBOX_TERMINAL": world["terminals"].get(usual)}
    for name, key in keys.items():
        found["SANDBOX_KEY_" + re.sub(r"[^A-Z0-9]", "_", name.upper())] = key
    return (f"export {name}={shlex.quote(value)}" for name, value in found.items() if value)


@click.command(cls=WorldCommand)
@click.argument("key", type=KEY)
@click.argument("operation", required=False)
@click.argument("target", required=False, type=MEMBER)
def lens(key: str, *, world: RemoteWorld, **asked: str | None) -> output.Result:
    """Show the answer that a key would get for an operation, and the keys that could do it.

    KEY and TARGET are ids or names of the cast; OPERATION is a name like payments.capture. Without
    it, shows all operations. No request is sent to the platform, and nothing changes. Exits with
    status 1 if the key may not do the operation.

    \b
    Examples:
      sandbox lens merchant
      sandbox lens merchant_read_only accounts.update merchant
    """
    if asked["operation"] is None:
        return output.Result(world.read("GET", "lens", key), _show_access)
    seen = world.read("POST", "lens", body={"key": key, **asked})
    return output.Result(seen, _show_permission, int(not seen["allowed"]))


def _show_access(table: dict[str, Any]) -> None:
    if table["unusable"]:
        output.say(f"the key can no longer authenticate: {table['unusable']}")
    output.show_table(table["rows"], ("operation", "own", "descendant", "outside"))


def _show_permission(seen: dict[str, Any]) -> None:
    output.say(f"{seen['status']}  {'allowed' if seen['allowed'] else seen['error']}")
    for one in seen["decisions"]:
        output.say(f"  {one['step']:<12}  {one['verdict']}: {one['reason']} ({one['clause']})")
    if seen["missing"]:
        output.say(f"  missing       {' or '.join(seen['missing'])}")
    could = ", ".join(one["cast"] or one["name"] for one in seen["could"])
    output.say(f"  could         {could or 'no key of this world'}")


@click.command(cls=ServerCommand)
@click.argument("text")
@_some_world_option
def find(text: str, *, world_id: str | None, server: Remote) -> output.Result:
    """Find anything by its id, or payments by the last four digits of a card.

    TEXT is the id of a payment, request, message, batch, key, account, terminal or location, an
    event_id, a name of the cast, or four digits. Exits with status 1 if nothing is found.

    \b
    Examples:
      sandbox find 0011
      sandbox find req_0000000001
    """
    found = server.read("GET", "/find", q=text, world=world_id)
    if not found["found"]:
        return output.Result(found, f"nothing has the id {text!r}", output.EXIT_REFUSED)
    return output.Result(found, _show_found)


def _show_found(found: dict[str, Any]) -> None:
    output.show_table(found["found"], ("world", "kind", "id", "says"))
    if found["more"]:
        output.say("there are more; give the whole id, or a world with --world")


@click.command("open", cls=WorldCommand, json=False)
@click.option("--print", "only_print", is_flag=True, help="Print the address; open no browser.")
def open_console(*, world: RemoteWorld, only_print: bool) -> None:
    """Open the console of a server in a browser.

    If the server has a token, the address contains it, so do not share it.

    \b
    Examples:
      sandbox open
      sandbox open --world friday
      sandbox open --print
    """
    world.read("GET")
    token = world.server.token
    signs_in = f"token={quote(token, safe='')}" if token else ""
    address = f"{world.server.control_url}/#{signs_in}/{quote(world.id, safe='')}/overview"
    if not (only_print or webbrowser.open(address)):
        output.refuse("no browser could be opened here; --print shows the address")
    output.say(address if only_print else "opened in your browser")


# --- coverage


@click.command(cls=ServerCommand)
@_some_world_option
@click.option(
    "--fail-under",
    type=NumberRange(0, 100),
    metavar="PERCENT",
    help="Exit with status 1 if less than this percentage of operations was used.",
)
def coverage(*, world_id: str | None, fail_under: float | None, server: Remote) -> output.Result:
    """Show which parts of the platform were used, and which were not.

    For a server: all worlds since its start, including deleted ones. For a world: since it was
    created or reset.

    \b
    Examples:
      sandbox coverage
      sandbox coverage --world uat-7 --json
      sandbox coverage --fail-under 80
    """
    path = "/coverage" if world_id is None else RemoteWorld(server, world_id).path("coverage")
    found = server.read("GET", path)
    used, never = (len(found["operations"][name]) for name in ("exercised", "never"))
    percent, least = 100 * used / max(used + never, 1), fail_under or 0
    if percent >= least:
        return output.Result(found, _show_coverage)
    why = f"{percent:.1f} % of the operations were exercised, less than {least:g} %"
    return output.Result(found, _show_coverage, output.EXIT_REFUSED, [why])


def _show_coverage(coverage: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a table: how much of each section was exercised, and what never was.

    The test kit, which shares no code with this package, prints the same table.
    """
    titles = {name: name.replace("_", " ") for name in coverage}
    width = max(map(len, titles.values()), default=0)
    indent = " " * (width + 2)
    for name, section in coverage.items():
        done, never = len(section["exercised"]), section["never"]
        total = done + len(never)
        percent = f"{100 * done // total} %" if total else ""
        output.say(f"{titles[name]:<{width}}  {done:>4} of {total:<4} {percent:>5}".rstrip())
        if never:
            rest = len(never) - _NAMES_MAX
            more = f" and {rest} more" if rest > 0 else ""
            text, deeper = f"never: {', '.join(never[:_NAMES_MAX])}{more}", f"{indent}       "
            lines = output.break_words(text, 100, initial_indent=indent, subsequent_indent=deeper)
            output.say_lines(lines)
