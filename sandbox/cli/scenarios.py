"""`sandbox scenario`: checks, plays, runs, lists and prints scenarios."""

import asyncio
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final

import click
from httpx2 import Response

from sandbox import library
from sandbox.app import build
from sandbox.cli import output
from sandbox.cli.arguments import FILE, SOME_SCENARIO
from sandbox.cli.control_client import (
    Dropped,
    Remote,
    RemoteWorld,
    ServerCommand,
    WorldCommand,
    with_options,
)
from sandbox.cli.main import Group
from sandbox.cli.platform_client import ANSWER_S, find_reason, platform_of
from sandbox.cli.webhooks import Received, receiving
from sandbox.domain.currencies import in_units
from sandbox.domain.json_text import value_of
from sandbox.http_client import start
from sandbox.scenario_examples import runner
from sandbox.scenario_examples.own_sandbox import Step, run_examples
from sandbox.scenarios.parser import ScenarioError, read_scenario
from sandbox.scenarios.scenario import Example, Scenario, Send
from sandbox.scenarios.schema import DIRECTIVE, scenario_schema


@click.group(cls=Group)
def scenario() -> None:
    """Check, play, run, list and print scenarios."""


START: Final = "2026-03-01T12:00:00Z"
"""The clock of the world at the start, as in `scenario check`."""

_LOOKS_EVERY_S: Final = 0.02
_QUIET_S: Final = 20.0
"""How long to wait for due webhooks; a receiver that does not answer takes longest."""

_BEFORE_S: Final = 0.25
"""How long a webhook waits for an answer that was sent before it, as both are under way at once.
A webhook that the platform sends before the answer delays that until it is received."""

_INDENT: Final = "   "
_AMOUNTS: Final = "authorized_amount captured_amount refunded surcharge_amount remaining_amount"


class RemoteStage(runner.Stage):
    """A world of a server in which examples play; `document` is its view by the control API."""

    looks_every_s = _LOOKS_EVERY_S

    def __init__(self, world: RemoteWorld, document: Mapping[str, Any]) -> None:
        super().__init__()
        self.world = world
        self._platform = platform_of(world.server)
        self.accounts, self.terminals = document["accounts"], document["terminals"]
        self.keys = {name: one["key"] for name, one in document["keys"].items()}
        self.control = world.path()
        self._noting = Lock()

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Receive every webhook of the world on loopback. Raises Unanswered."""
        with receiving(self._note) as receiver:
            made = self.world.read("POST", "endpoints", body={"url": receiver.url})
            receiver.secret = made["secret"]
            yield

    def _note(self, received: Received) -> None:
        id, status = received.message_id, received.fields.get("status")
        # One that comes while this one waits does not overtake it.
        with self._noting:
            is_answered = self.answered.wait(_BEFORE_S)
            self.arrived.append(runner.Arrived(id, status, received.is_genuine, is_answered))

    async def ask(self, request: runner.Request) -> runner.ExampleAnswer:
        """Return the answer to a request; status 0 if the connection was closed without one."""
        sent = start(lambda: self._send(request))
        if request.is_awaited:
            sent.add_done_callback(lambda _: self.answered.set())
        try:
            answer = await asyncio.wrap_future(sent)
        except Dropped:
            return runner.ExampleAnswer(0, {}, None)
        body = value_of(answer.content)
        return runner.ExampleAnswer(answer.status_code, dict(answer.headers), body)

    def _send(self, request: runner.Request) -> Response:
        method, body = request.method, request.body
        if request.path.startswith(self.control):
            server = self.world.with_timeout(ANSWER_S).server
            return server.send(method, request.path, body)
        path = f"{request.path}?{request.query}" if request.query else request.path
        return self._platform.ask(request.key, method, path, body, **request.headers)

    def messages(self) -> list[tuple[str, str]]:
        """Return all messages of the world so far, oldest first: id and event."""
        return [(one["id"], one["event_type"]) for one in self._list_messages()]

    def list_waiting(self) -> Collection[str]:
        """Return the payments that wait for a tap."""
        return [one["transaction_id"] for one in self.world.read("GET", "taps")["taps"]]

    async def quiet(self) -> None:
        """Wait until every due webhook has arrived, and the delayed ones too."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _QUIET_S
        while loop.time() < end and any(
            one["status"] == "pending" and one["next_attempt_at"] is None
            for message in self._list_messages()
            for one in message["deliveries"]
        ):
            await asyncio.sleep(_LOOKS_EVERY_S)
        # A delivery is done with its first attempt; duplicates of it may be under way.
        self.world.read("POST", "clock/advance", body={"by": "0s"})

    def _list_messages(self) -> list[Any]:
        return list(self.world.read("GET", "messages", limit=1_000)["messages"])


def load_scenario(name: str) -> tuple[Scenario, str]:
    """Return the scenario with this name, or in this file, and its text."""
    with output.refusing(ScenarioError):
        path = library.scenario_file(name)
        return read_scenario(path), output.read_text(path)


@scenario.command(cls=ServerCommand, json=False)
@click.argument("name", type=SOME_SCENARIO)
@click.option("--auto", is_flag=True, help="Do not wait for a key between steps.")
@click.option("--keep", is_flag=True, help="Do not delete the world at the end.")
def play(name: str, *, auto: bool, keep: bool, server: Remote) -> None:
    """Play the examples of a scenario on a running server.

    NAME is a name or title of the library, or a file. The examples play in a new world, one
    step for each key press. Each step shows its request, the answer, the webhooks as a receiver got
    them, and the world's clock. Without a terminal, nothing waits for a key.

    The exit status is 1 if a step differs from what the scenario expects.

    \b
    Examples:
      sandbox scenario play late_answer
      sandbox scenario play key_revoked_in_flight --auto
      sandbox scenario play my-story.toml --keep
    """
    scenario, text = load_scenario(name)
    if not scenario.example:
        output.refuse(f"{name}: has no examples to play", output.EXIT_REFUSED)
    document = server.read("POST", "/worlds", {"clock": START, "scenario": {"toml": text}})
    world = RemoteWorld(server, document["id"])
    waits = not auto and sys.stdin.isatty()
    try:
        wrong = asyncio.run(_played(world, document, scenario, waits=waits))
    finally:
        if not keep:
            world.read("DELETE")
    output.say("")
    steps = output.count_things(len(scenario.example), "step")
    output.say(f"{steps}, {wrong} not as expected" if wrong else f"{steps}, all as expected")
    if keep:
        follow = with_options(f"sandbox tail --world {world.id}")
        output.say(f"the world is {world.id}: {follow}")
    sys.exit(output.EXIT_REFUSED if wrong else 0)


def _wait_for_key(prompt: str) -> None:
    """Print the prompt, and wait for a key. A key that is pressed early is not lost."""
    try:
        import termios  # noqa: PLC0415 - not on Windows
        import tty  # noqa: PLC0415 - not on Windows
    except ImportError:  # Windows
        output.say(prompt, err=True)
        click.getchar()
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    # click's getchar drops what was typed before it; here the terminal is ready before the prompt.
    tty.setcbreak(terminal, termios.TCSADRAIN)
    try:
        output.say(prompt, err=True)
        os.read(terminal, 1)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


async def _played(
    world: RemoteWorld, document: Mapping[str, Any], scenario: Scenario, *, waits: bool
) -> int:
    """Play the examples, and return the number of steps that differ. Raises Unanswered."""
    stage = RemoteStage(world, document)
    output.say(output.styled(scenario.name, bold=True))
    output.say(scenario.about)
    wrong = 0
    with stage.receiving():
        examples = runner.ExampleRunner(stage)
        for number, example in enumerate(scenario.example, start=1):
            if waits:
                _wait_for_key(f"-- any key: step {number} --")
            output.say("")
            title = f"{number}. {example.name or ''}".rstrip()
            output.say(output.styled(title, bold=True), _words(example.send), between="  ")
            mistakes, result = await examples.play(number, example)
            if result is not None:
                for word, text in _describe(world, example, result):
                    output.say(f"{_INDENT}{word:<10}", text)
            for mistake in mistakes:
                output.say(_INDENT, output.styled("differs", fg="red"), f"  {mistake}")
            wrong += bool(mistakes)
    return wrong


def _words(send: Send) -> str:
    """Return the request of a step in words."""
    if send.operation == "advance":
        return f"the clock advances by {send.by}"
    if send.operation == "find":
        return f"find the payment with event_id {send.event_id}"
    has_amount = send.operation in ("sale", "auth") or send.amount is not None
    words = [
        send.operation.replace("_", " "),
        has_amount and in_units(1000 if send.amount is None else send.amount),
        send.tip_amount is not None and f"tip {in_units(send.tip_amount)}",
        send.operation == "confirm" and ("yes" if send.confirm else "no"),
        send.operation in runner.BLOCKS and send.account,
        send.terminal != "merchant" and f"at {send.terminal}",
        f"as {send.key}",
        send.card is not None and f"with {send.card}",
    ]
    said = " ".join(word for word in words if word)
    tap = send.tap.model_dump(exclude_none=True) if send.tap else {}
    return said + (", tap: " if tap else "") + ", ".join(f"{name} {tap[name]}" for name in tap)


def _describe(
    world: RemoteWorld, example: Example, result: runner.ExampleResult
) -> Iterator[tuple[str, str]]:
    """Yield the result of a step: answer, webhooks, clock."""
    answer = result.answer
    if example.send.operation != "advance":
        said = "no answer" if answer.status == 0 else str(answer.status)
        yield "answer", " ".join(filter(None, [said, answer.fields.get("error")]))
        if answer.status >= 400 and (why := find_reason(world, answer.headers)):
            yield "because", why
    if result.shown.get("status"):
        yield "payment", ", ".join(_facts(result.shown))
    for event, arrived in result.received:
        notes = [] if arrived.is_genuine else ["refused: the signature is wrong"]
        notes += [] if arrived.is_answered else ["before the answer"]
        yield "webhook", ", ".join([event, *notes])
    for event in result.events:
        if event not in [name for name, _ in result.received]:
            yield "event", f"{event}, its webhook has not arrived"
    yield "clock", world.read("GET", "clock")["now"][:19].replace("T", " ")


def _facts(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield a payment or a batch for people: status, reason, amounts."""
    yield ": ".join(filter(None, (shown["status"], shown.get("status_reason"))))
    more = shown.get("additional_details") or {}
    for name in _AMOUNTS.split():
        if value := shown.get(name) or more.get(name):
            yield f"{name.removesuffix('_amount')} {in_units(value, shown.get('currency'))}"


# --- the group of commands ----------------------------------------------------------------------


Proofs = list[tuple[Path, list[Step]]]
"""Files, each with the results of its examples."""


@scenario.command(cls=output.ResultCommand)
@click.argument("paths", nargs=-1, required=True, type=FILE)
def check(paths: tuple[Path, ...]) -> output.Result:
    """Check scenarios by running all their examples. PATHS are files and folders.

    The exit status is 0 if all examples pass, 1 if one fails, 2 if a file cannot be used.

    \b
    Examples:
      sandbox scenario check scenarios/
      sandbox scenario check my-story.toml
    """
    files = [file for path in paths for file in _scenario_files(path)]
    results, unusable = _prove_files(files)
    failed = any(step.mistakes for _, steps in results for step in steps)
    names = ("name", "mistakes", "near_misses")
    shown = [
        {"file": str(file), "examples": [{n: getattr(one, n) for n in names} for one in steps]}
        for file, steps in results
    ]
    value = {"ok": not failed and not unusable, "scenarios": shown, "unusable": unusable}
    status = output.EXIT_UNUSABLE if unusable else int(failed)
    return output.Result(value, lambda _: _show_proofs(results), status, unusable)


def _show_proofs(results: Proofs) -> None:
    for file, steps in results:
        wrong = [step for step in steps if step.mistakes]
        done = output.count_things(len(steps), "example")
        output.say(f"{file}: {done}, {f'{len(wrong)} wrong' if wrong else 'ok'}")
        for step in wrong:
            for told in (*step.mistakes, *(f"near miss: {near}" for near in step.near_misses)):
                output.say(f"  {step.number} {step.name!r}: {told}")


def _prove_files(files: list[Path]) -> tuple[Proofs, list[str]]:
    """Return the results of the examples of each file, and the mistakes of unusable files."""
    results, unusable = [], []
    is_hidden = not sys.stderr.isatty()
    with click.progressbar(files, label="proving", file=sys.stderr, hidden=is_hidden) as going:
        for file in going:
            try:
                results.append((file, list(run_examples(read_scenario(file), build))))
            except ScenarioError as error:
                problems = [str(one).removeprefix(f"{file}: ") for one in error.problems]
                more = error.total - len(problems)
                problems += [f"and {more} more mistakes"] if more else []
                unusable += [f"{file}: {one}" for one in problems]
    return results, unusable


def _scenario_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.toml"))
    if not files:
        output.refuse(f"{path}: has no scenarios")
    return files


@scenario.command(name="list", cls=output.ResultCommand)
def list_scenarios() -> output.Result:
    """List the scenarios that come with the sandbox.

    \b
    Examples:
      sandbox scenario list
      sandbox scenario list --json
    """
    known = library.scenarios()
    listed = [{"name": name, "title": one.name, "about": one.about} for name, one in known.items()]
    columns: output.Columns = {
        "scenario": "name",
        "about": lambda one: one["about"] or one["title"],
    }
    return output.Result(listed, lambda _: output.show_table(listed, columns))


@scenario.command()
@click.argument("name", type=SOME_SCENARIO)
def show(name: str) -> None:
    """Print a library scenario as a starting point.

    NAME is the name of its file, or its title.

    \b
    Examples:
      sandbox scenario show late_answer > my-story.toml
      sandbox scenario show "Refund declined"
    """
    # The copy will not be beside the library's schema.
    click.echo(load_scenario(name)[1].removeprefix(DIRECTIVE), nl=False)


@scenario.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    \b
    Example:
      sandbox scenario schema > scenario.schema.json
    and as the first line of a scenario beside it:
      #:schema scenario.schema.json
    """
    output.show_json(scenario_schema())


@scenario.command(cls=WorldCommand)
@click.argument("name", type=SOME_SCENARIO)
def run(name: str, *, world: RemoteWorld) -> output.Result:
    """Run a scenario in a world, in place of the running one.

    NAME is a name or title of the library, or a file.

    \b
    Examples:
      sandbox scenario run late_answer
      sandbox scenario run my-story.toml --world uat-7
    """
    running = world.read("PUT", "scenario", body={"toml": load_scenario(name)[1]})
    return output.Result(running, f"{running['name']} runs in {world.id}")


@scenario.command(cls=WorldCommand)
def stop(*, world: RemoteWorld) -> output.Result:
    """Stop the scenario of a world, if one runs.

    \b
    Example:
      sandbox scenario stop --world uat-7
    """
    world.read("DELETE", "scenario")
    return output.Result({"world": world.id, "scenario": None}, f"no scenario runs in {world.id}")
