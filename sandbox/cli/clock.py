"""`sandbox clock` and `sandbox agenda`: the time of a world, and what falls due."""

from collections import Counter
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from sandbox.cli.arguments import DURATION, INSTANT, NumberRange
from sandbox.cli.control_client import RemoteWorld, WorldCommand, drop_none
from sandbox.cli.main import Group
from sandbox.cli.output import Columns, Result, count_things, say, show_table, working

_ADVANCE_S: Final = 3_600.0
"""How long an advance may take: the server waits for slow webhook receivers on the way."""

_SHOWN: Final = 20
"""How many things that fell due, or will, to print by default."""


class _ShowsFirst(Group):
    """A group that runs `show` without a subcommand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Treat options without a subcommand as those of `show`."""
        if args:
            is_of_show = args[0].startswith("-") and args[0] not in ctx.help_option_names
        else:
            # While a shell completes the next word, that may be a subcommand.
            is_of_show = not ctx.resilient_parsing
        if is_of_show:
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the subcommands, or the options of `show`."""
        if incomplete.startswith("-"):
            return self.commands["show"].shell_complete(ctx, incomplete)
        return super().shell_complete(ctx, incomplete)


@click.group(cls=_ShowsFirst)
def clock() -> None:
    """Show, advance and set the clock of a world.

    Without a subcommand, shows the clock.

    Everything due on the way to a later time happens at its own time: authorizations expire,
    batches get their results, webhooks are retried.

    \b
    Examples:
      sandbox clock
      sandbox clock advance 3d
      sandbox clock freeze 2026-07-01T09:00:00Z
      sandbox clock run --rate 60
    """


@clock.command(cls=WorldCommand)
def show(*, world: RemoteWorld) -> Result:
    """Show the time of a world, and whether its clock runs."""
    return Result(world.read("GET", "clock"), _show)


@clock.command(cls=WorldCommand)
@click.argument("by", required=False, type=DURATION)
@click.option("--to", type=INSTANT, help="Advance to this instant instead of by a duration.")
@click.option("--next", "to_next", is_flag=True, help="Advance to what falls due next.")
@click.option("--before", is_flag=True, help="Stop a millisecond before that time.")
def advance(
    by: str | None, *, to: str | None, to_next: bool, before: bool, world: RemoteWorld
) -> Result:
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
    body = drop_none({"by": by, "to": "next" if to_next else to, "before": before or None})
    with working("advancing"):
        moved = world.with_timeout(_ADVANCE_S).read("POST", "clock", "advance", body=body)
    return Result(world.read("GET", "clock") | {"fired": moved["fired"]}, _show_advanced)


def _show_advanced(now: dict[str, Any]) -> None:
    _show(now)
    fired = now["fired"]
    if not fired:
        say("nothing fell due")
        return
    kinds = Counter(one["kind"] for one in fired)
    summary = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
    say(f"{count_things(len(fired), 'thing')} happened on the way: {summary}")
    show_table(fired[:_SHOWN], {"at": "at", "what": "kind", "of": "subject"})
    if len(fired) > _SHOWN:
        say(f"and {len(fired) - _SHOWN:,} more, which --json shows")


@clock.command(name="set", cls=WorldCommand)
@click.argument("instant", type=INSTANT)
def set_clock(instant: str, *, world: RemoteWorld) -> Result:
    """Set the clock to INSTANT, earlier or later. It stays running or frozen.

    \b
    Example:
      sandbox clock set 2026-07-01T09:00:00Z
    """
    return _put(world, now=instant)


@clock.command(cls=WorldCommand)
@click.argument("instant", required=False, type=INSTANT)
def freeze(instant: str | None, *, world: RemoteWorld) -> Result:
    """Freeze the clock where it is, or at INSTANT.

    \b
    Examples:
      sandbox clock freeze
      sandbox clock freeze 2026-07-01T09:00:00Z
    """
    return _put(world, mode="frozen", now=instant)


@clock.command(cls=WorldCommand)
@click.option(
    "--rate",
    type=NumberRange(0, 86_400, min_open=True),
    default=1.0,
    help="Seconds that pass in the world per second of real time.",
)
def run(rate: float, *, world: RemoteWorld) -> Result:
    """Let the clock run from where it is.

    \b
    Examples:
      sandbox clock run
      sandbox clock run --rate 3600
    """
    return _put(world, mode="running", rate=rate)


def _put(world: RemoteWorld, **setting: Any) -> Result:
    patient, body = world.with_timeout(_ADVANCE_S), drop_none(setting)
    with working("setting the clock"):
        return Result(patient.read("PUT", "clock", body=body), _show)


def _show(now: dict[str, Any]) -> None:
    rate = "" if now["rate"] == 1 or now["mode"] == "frozen" else f" at {now['rate']:g} times"
    say(f"{now['now']}  {now['mode']}{rate}")


@click.command(cls=WorldCommand)
@click.argument("lasts", required=False, type=DURATION)
@click.option("--end", is_flag=True, help="End the maintenance now.")
def maintenance(lasts: str | None, *, end: bool, world: RemoteWorld) -> Result:
    """Make the platform refuse every request with 503 for a while.

    LASTS is a duration on the world's clock. Without it, shows the maintenance.

    \b
    Examples:
      sandbox maintenance 10m
      sandbox maintenance --end
    """
    if end and lasts is not None:
        raise click.UsageError("give either a duration or --end")
    if end:
        world.read("DELETE", "maintenance")
    elif lasts is not None:
        world.read("PUT", "maintenance", body={"lasts": lasts})
    shown = world.read("GET", "maintenance")
    until = shown["until"]
    return Result(shown, f"under maintenance until {until}" if until else "no maintenance")


@click.command(cls=WorldCommand)
@click.option("--until", type=INSTANT, help="Only events until this instant.")
@click.option("--kind", help="Only events of this kind, like authorization_expires.")
@click.option("--subject", help="Only events of the payment, batch or key with this id.")
@click.option(
    "--limit", type=click.IntRange(1, 500), default=_SHOWN, help="List at most this many."
)
def agenda(*, world: RemoteWorld, **wanted: Any) -> Result:
    """List the events that fall due in a world, soonest first, with their effects.

    This changes nothing. `sandbox clock advance` makes the events happen.

    \b
    Examples:
      sandbox agenda
      sandbox agenda --until 2026-07-08T00:00:00Z
      sandbox agenda --kind authorization_expires
    """
    return Result(world.read("GET", "agenda", **wanted), _show_agenda)


def _show_agenda(shown: dict[str, Any]) -> None:
    agenda = shown["agenda"]
    show_table(agenda, _COLUMNS, empty="nothing falls due")
    if shown["total"] > len(agenda):
        say(f"and {shown['total'] - len(agenda):,} more; --limit lists up to 500")


_COLUMNS: Final[Columns] = {
    "due": "due",
    "what": "says",
    "of": lambda one: one["subject"]["says"],
    "leads to": lambda one: one["then"] and ": ".join(filter(None, one["then"].values())),
    "clause": "clause",
}
