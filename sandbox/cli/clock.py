"""`sandbox clock`: shows, advances and sets the clock of a world."""

from collections import Counter
from typing import Any, Final

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.group import Group
from sandbox.cli.params import DurationType, InstantType
from sandbox.cli.progress import working
from sandbox.cli.tables import counted, json_option, say, show_json, show_table

_ADVANCE_S: Final = 3_600.0
"""The server waits for slow webhook receivers on the way."""

_FIRED_SHOWN_MAX: Final = 20


class _ShowsFirst(Group):
    """A group that runs `show` without a subcommand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Treat options without a subcommand as those of `show`."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_ShowsFirst)
def clock() -> None:
    """Show, advance and set the clock of a world.

    Without a subcommand, shows the clock.

    Everything due on the way to a later time happens at its own moment: authorizations expire,
    batches get their results, webhooks are retried.

    \b
    Examples:
      sandbox clock
      sandbox clock advance 3d
      sandbox clock freeze 2026-07-01T09:00:00Z
      sandbox clock run --rate 60
    """


@clock.command()
@server_options
@json_option
def show(*, world_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Show the time of a world, and whether its clock runs."""
    _show(
        Remote(url=url, token=token).read("GET", world_path(world_id, "clock")),
        as_json=as_json,
    )


@clock.command()
@click.argument("by", required=False, type=DurationType())
@click.option("--to", type=InstantType(), help="Advance to this instant instead of by a duration.")
@click.option("--next", "to_next", is_flag=True, help="Advance to what falls due next.")
@click.option("--before", is_flag=True, help="Stop a millisecond before that moment.")
@server_options
@json_option
def advance(
    by: str | None,
    *,
    to: str | None,
    to_next: bool,
    before: bool,
    world_id: str,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Advance the clock BY a duration, and list what happened on the way.

    \b
    Examples:
      sandbox clock advance 30s
      sandbox clock advance PT36H
      sandbox clock advance --to 2026-07-08T00:00:00Z
      sandbox clock advance --next
    """
    if [by is not None, to is not None, to_next].count(True) != 1:
        raise click.UsageError(
            "give either a duration, like 3d, or --to with an instant, or --next"
        )
    server = Remote(url=url, token=token)
    body: dict[str, Any] = {"by": by} if by is not None else {"to": "next" if to_next else to}
    if before:
        body["before"] = True
    with working("advancing"):
        moved = server.read(
            "POST", world_path(world_id, "clock", "advance"), body, answer_s=_ADVANCE_S
        )
    now = server.read("GET", world_path(world_id, "clock"))
    if as_json:
        show_json(now | {"fired": moved["fired"]})
        return
    _show(now, as_json=False)
    _show_fired(moved["fired"])


def _show_fired(fired: list[dict[str, str]]) -> None:
    if not fired:
        say("nothing fell due")
        return
    kinds = Counter(one["kind"] for one in fired)
    summary = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    say(f"{counted(len(fired), 'thing')} happened on the way: {summary}")
    rows = [(one["at"], one["kind"], one["subject"]) for one in fired[:_FIRED_SHOWN_MAX]]
    show_table(("at", "what", "of"), rows)
    if len(fired) > len(rows):
        say(f"and {len(fired) - len(rows):,} more, which --json shows")


@clock.command(name="set")
@click.argument("instant", type=InstantType())
@server_options
@json_option
def set_clock(instant: str, **options: Any) -> None:
    """Set the clock to INSTANT, earlier or later. It stays running or frozen.

    \b
    Example:
      sandbox clock set 2026-07-01T09:00:00Z
    """
    _put({"now": instant}, **options)


@clock.command()
@click.argument("instant", required=False, type=InstantType())
@server_options
@json_option
def freeze(instant: str | None, **options: Any) -> None:
    """Freeze the clock where it is, or at INSTANT.

    \b
    Examples:
      sandbox clock freeze
      sandbox clock freeze 2026-07-01T09:00:00Z
    """
    _put({"mode": "frozen"} | ({"now": instant} if instant else {}), **options)


@clock.command()
@click.option(
    "--rate",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=1.0,
    show_default=True,
    help="Seconds that pass in the world per second of real time.",
)
@server_options
@json_option
def run(rate: float, **options: Any) -> None:
    """Let the clock run from where it is.

    \b
    Examples:
      sandbox clock run
      sandbox clock run --rate 3600
    """
    _put({"mode": "running", "rate": rate}, **options)


def _put(
    setting: dict[str, Any], *, world_id: str, url: str, token: str | None, as_json: bool
) -> None:
    server = Remote(url=url, token=token)
    with working("setting the clock"):
        now = server.read("PUT", world_path(world_id, "clock"), setting, answer_s=_ADVANCE_S)
    _show(now, as_json=as_json)


def _show(now: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(now)
        return
    rate = "" if now["rate"] == 1 or now["mode"] == "frozen" else f" at {now['rate']:g} times"
    say(f"{now['now']}  {now['mode']}{rate}")
