"""`sandbox scenario play`: the examples of a scenario, a step at a time, on a running server."""

import asyncio
import os
import sys
import tomllib
from collections.abc import Mapping
from typing import Any, Final

import click

from sandbox import library
from sandbox.cli.amounts import in_units
from sandbox.cli.choices import SOME_SCENARIO
from sandbox.cli.control_client import Remote, server_options, world_path
from sandbox.cli.output import EXIT_REFUSED, counted, refuse, refusing, say, styled
from sandbox.cli.platform_client import platform_of
from sandbox.cli.remote_stage import RemoteStage
from sandbox.domain.text import decode_text
from sandbox.scenario_examples.comparison import ExampleResult
from sandbox.scenario_examples.runner import ExampleRunner
from sandbox.scenarios.parser import ScenarioError, read_scenario
from sandbox.scenarios.scenario import Example, Scenario, Send

START: Final = "2026-03-01T12:00:00Z"
"""The clock of the world at the start, as in `scenario check`."""

_INDENT: Final = "   "
_AMOUNTS: Final = ("authorized_amount", "captured_amount", "surcharge_amount", "remaining_amount")


def load_scenario(name: str) -> tuple[Scenario, str]:
    """The scenario that is named, or in a file, and its text."""
    with refusing(ScenarioError):
        path = library.scenario_file(name)
        return read_scenario(path), decode_text(path.read_bytes())


@click.command()
@click.argument("name", type=SOME_SCENARIO)
@click.option("--auto", is_flag=True, help="Do not wait for a key between steps.")
@click.option("--keep", is_flag=True, help="Do not delete the world at the end.")
@server_options
def play(name: str, *, auto: bool, keep: bool, server: Remote) -> None:
    """Play the examples of a scenario on a running server.

    NAME is a name or title of the library, or a file. The examples play in a world of their own,
    one step at each key. Each step shows its request, the answer, the webhooks as a receiver got
    them, and the world's clock. Without a terminal nothing waits for a key.

    The exit status is 1 if a step differs from what the scenario expects.

    \b
    Examples:
      sandbox scenario play late_answer
      sandbox scenario play key_revoked_in_flight --auto
      sandbox scenario play my-story.toml --keep
    """
    scenario, text = load_scenario(name)
    if not scenario.example:
        refuse(f"{name}: has no examples to play", EXIT_REFUSED)
    world = server.read("POST", "/worlds", {"clock": START, "scenario": tomllib.loads(text)})
    waits = not auto and sys.stdin.isatty()
    try:
        with asyncio.Runner() as runner:
            wrong = runner.run(_played(server, world, scenario, waits=waits))
    finally:
        if not keep:
            server.ask("DELETE", world_path(world["id"]))
    say("")
    steps = counted(len(scenario.example), "step")
    say(f"{steps}, {wrong} not as expected" if wrong else f"{steps}, all as expected")
    if keep:
        say(f"the world is {world['id']}: sandbox tail --world {world['id']}")
    sys.exit(EXIT_REFUSED if wrong else 0)


def _wait_for_key(prompt: str) -> None:
    """Print the prompt, and wait for a key. A key that is pressed at once is not lost."""
    try:
        import termios
        import tty
    except ImportError:  # Windows
        say(prompt, err=True)
        click.getchar()
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    # click's getchar drops what was typed before it; here the terminal is ready before the prompt.
    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        say(prompt, err=True)
        os.read(terminal, 1)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


async def _played(
    server: Remote, world: Mapping[str, Any], scenario: Scenario, *, waits: bool
) -> int:
    """The number of steps that differ. Raises Unanswered."""
    platform_url, key_header = await asyncio.to_thread(platform_of, server)
    stage = RemoteStage(server, world, platform_url, key_header)
    say(styled(scenario.name, bold=True))
    say(scenario.about)
    wrong = 0
    async with stage.open():
        runner = ExampleRunner(stage)
        for number, example in enumerate(scenario.example, start=1):
            if waits:
                _wait_for_key(f"-- any key: step {number} --")
            say("")
            name = example.name or f"example {number}"
            title = f"{number}. {example.name}" if example.name else f"{number}."
            say(styled(title, bold=True), _words(example.send), between="  ")
            mistakes, result = await runner.play(number, name, example)
            if result is not None:
                await _show(stage, example, result)
            for mistake in mistakes:
                say(_INDENT, styled("differs", fg="red"), f"  {mistake}")
            wrong += bool(mistakes)
    return wrong


def _words(send: Send) -> str:
    """The request of a step in words."""
    if send.operation == "advance":
        return f"the clock advances by {send.by}"
    if send.operation == "find":
        return f"find the payment with event_id {send.event_id}"
    words = [send.operation.replace("_", " ")]
    if send.operation in ("sale", "auth") or send.amount is not None:
        words.append(in_units(1000 if send.amount is None else send.amount))
    if send.tip_amount is not None:
        words.append(f"tip {in_units(send.tip_amount)}")
    if send.operation == "confirm":
        words.append("yes" if send.confirm else "no")
    if send.terminal != "merchant":
        words.append(f"at {send.terminal}")
    words.append(f"as {send.key}")
    if send.card is not None:
        words.append(f"with {send.card}")
    if send.tap is not None:
        tap = send.tap.model_dump(exclude_none=True)
        words[-1] += ", tap: " + ", ".join(f"{name} {value}" for name, value in tap.items())
    return " ".join(words)


async def _show(stage: RemoteStage, example: Example, result: ExampleResult) -> None:
    """Print what came of a step: answer, webhooks, clock."""
    answer = result.answer
    if example.send.operation != "advance":
        said = "no answer" if answer.status == 0 else str(answer.status)
        error = answer.body.get("error") if isinstance(answer.body, dict) else None
        say(_INDENT, "answer    ", " ".join(filter(None, [said, error])))
        why = await stage.why(answer)
        if why is not None:
            say(_INDENT, "because   ", why)
    if result.shown.get("status"):
        say(_INDENT, "payment   ", ", ".join(_facts(result.shown)))
    for event, arrived in result.received:
        notes = [] if arrived.is_genuine else ["refused: the signature is wrong"]
        notes += [] if arrived.is_answered else ["before the answer"]
        say(_INDENT, "webhook   ", ", ".join([event, *notes]))
    for event in result.events:
        if event not in [name for name, _ in result.received]:
            say(_INDENT, "event     ", f"{event}, its webhook has not arrived")
    say(_INDENT, "clock     ", (await stage.now())[:19].replace("T", " "))


def _facts(shown: Mapping[str, Any]) -> list[str]:
    """What people want to know about a payment or a batch: status, reason, amounts."""
    reason = shown.get("status_reason")
    facts = [f"{shown['status']}: {reason}" if reason else str(shown["status"])]
    more = shown.get("additional_details") or {}
    for name in _AMOUNTS:
        value = shown.get(name) or more.get(name)
        if value:
            amount = in_units(value, shown.get("currency"))
            facts.append(f"{name.removesuffix('_amount')} {amount}")
    return facts
