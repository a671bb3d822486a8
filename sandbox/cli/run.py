"""`sandbox run`: runs a command with a server of its own around it."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click
from httpx2 import Response

from sandbox.app import Sandbox, build
from sandbox.cli.control_client import PREFIX, Remote, Unanswered, world_path
from sandbox.cli.options import fixture_option, scenario_option, seed_option, token_options
from sandbox.cli.output import counted, reason_of, refuse, refusing, say
from sandbox.control.captures import NamedCapture, read_capture, with_captures
from sandbox.internal_client import send_json
from sandbox.scenarios.parser import ScenarioError
from sandbox.server.run import bound, new_loop, serving_sandbox
from sandbox.settings import Settings, SettingsError
from sandbox.store.fixture import FixtureError

EXIT_NOT_EXECUTABLE: Final = 126
"""The command is there and cannot be executed, as in shells."""

EXIT_NOT_FOUND: Final = 127
"""There is no such command, as in shells."""

EXIT_SIGNALED: Final = 128
"""A signal ended the command: this and the number of the signal, as in shells."""

WORLD: Final = "default"
REPORT: Final = "report.html"
_JOURNAL_MAX: Final = 1_000
_DELETED_MAX: Final = 50
_REFUSED_FROM: Final = 400
_REFUSED_SHOWN: Final = 5
_FORWARDED: Final = ("SIGINT", "SIGTERM", "SIGHUP")


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the server; 0 picks a free one.",
)
@fixture_option
@scenario_option
@seed_option
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("sandbox-failure"),
    help="Folder for worlds and journals if the command fails.",
)
@token_options
def run(*, command: tuple[str, ...], folder: Path, **options: Any) -> None:
    """Run COMMAND with a server around it, and return its exit status.

    The server takes a free port, and ends with the command. The command finds the server in
    SANDBOX_URL, and in SANDBOX_KEY, SANDBOX_TERMINAL and SANDBOX_WORLD what a payment needs.
    SANDBOX_TOKEN is set if the server has a token. If the command fails, the worlds that it used
    are kept with their journals and a report to read, also those that it deleted: the last 50.

    \b
    Examples:
      sandbox run -- npm test
      sandbox run --scenario late_answer -- ./gradlew test
      sandbox run -- pytest tests
    """
    program = _program(command[0])
    with (
        refusing(SettingsError, FixtureError, ScenarioError),
        asyncio.Runner(loop_factory=new_loop) as runner,
    ):
        status = runner.run(_around([program, *command[1:]], Settings(**options), folder))
    sys.exit(status)


def _program(name: str) -> str:
    """The file of a command. Ends with the exit status of a shell if it cannot be executed."""
    found = shutil.which(name)
    if found is not None:
        return found
    is_path = len(Path(name).parts) > 1 or name.startswith(".")
    if is_path and Path(name).exists():
        refuse(f"{name}: cannot be executed; is it a program?", EXIT_NOT_EXECUTABLE)
    return refuse(f"{name}: there is no such command", EXIT_NOT_FOUND)


async def _around(command: list[str], settings: Settings, folder: Path) -> int:
    """The exit status of a command, while a server runs. Keeps the worlds if it failed.

    Raises SettingsError, FixtureError or ScenarioError, before the command starts.
    """
    with bound(settings) as (settings, sockets):
        sandbox = build(settings)
        server = Remote(url=f"http://{settings.host}:{settings.port}", token=sandbox.token)
        deleted = _Deleted(sandbox)
        async with serving_sandbox(sandbox, settings, sockets):
            world = await asyncio.to_thread(server.read, "GET", world_path(WORLD))
            status = await _ended(command, _environment(server, world))
            if status:
                ended = f"the command ended with {status}"
                await asyncio.to_thread(_keep, server, deleted.worlds, folder, ended)
    return status


def _environment(server: Remote, world: Mapping[str, Any]) -> dict[str, str]:
    """The environment of the command: that of this process, and where the sandbox is."""
    keys = {name: one["key"] for name, one in world["keys"].items()}
    terminals = world["terminals"]
    ours = {
        "SANDBOX_URL": server.url,
        "SANDBOX_KEY": keys.get("merchant") or next(iter(keys.values()), None),
        "SANDBOX_TERMINAL": terminals.get("merchant") or next(iter(terminals.values()), None),
        "SANDBOX_WORLD": WORLD,
        "SANDBOX_TOKEN": server.token,
        "SANDBOX_TOKEN_FILE": None,
    }
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {name: value for name, value in ours.items() if value is not None}


async def _ended(command: list[str], environment: Mapping[str, str]) -> int:
    """The exit status of a command, which gets the signals that this process gets."""
    try:
        process = await asyncio.create_subprocess_exec(*command, env=environment)
    except OSError as error:
        refuse(f"{command[0]}: cannot be executed: {error.strerror}", EXIT_NOT_EXECUTABLE)

    def forward(number: signal.Signals) -> None:
        # Ctrl-C at a terminal reaches the command without this.
        if number != signal.SIGINT or not sys.stdin.isatty():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    loop = asyncio.get_running_loop()
    numbers = [getattr(signal, name) for name in _FORWARDED if hasattr(signal, name)]
    for number in numbers:
        # There are no such handlers on Windows.
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, forward, number)
    status = await process.wait()
    return status if status >= 0 else EXIT_SIGNALED - status


@dataclass(frozen=True, slots=True)
class _Kept:
    """A world that was used: its journal, the document to load it from, and a capture to read."""

    id: str
    journal: bytes
    document: bytes
    capture: bytes


class _Deleted:
    """The last worlds that the command used and deleted, kept in memory until it ends."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.worlds: deque[_Kept] = deque(maxlen=_DELETED_MAX)
        self._app = sandbox.app
        self._token = sandbox.token
        sandbox.worlds.before_deleting = self._keep

    async def _keep(self, world_id: str) -> None:
        found: list[bytes] = []
        for path in _paths(world_id):
            answer = await self._answer(PREFIX + path)
            if answer.status_code != 200 or (not found and _is_unused(answer.content)):
                return
            found.append(answer.content)
        self.worlds.append(_Kept(world_id, *found))

    async def _answer(self, path: str) -> Response:
        headers = {"authorization": f"Bearer {self._token}"} if self._token else {}
        answer = await send_json(self._app, "GET", path, headers=headers)
        assert answer is not None
        return answer


def _paths(world_id: str) -> list[str]:
    """Where the control API has what is kept of a world, in order."""
    return [
        world_path(world_id, "requests") + f"?limit={_JOURNAL_MAX}",
        world_path(world_id, "snapshot"),
        world_path(world_id, "capture"),
    ]


def _is_unused(journal: bytes) -> bool:
    return not json.loads(journal)["requests"]


def _keep(server: Remote, deleted: Iterable[_Kept], folder: Path, ended: str) -> None:
    """Write what is kept of all worlds that were used into a folder; says what is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = [*_used(server), *deleted]
        names = _names([one.id for one in kept])
        for name, one in zip(names, kept, strict=True):
            (folder / f"{name}.journal.json").write_bytes(one.journal)
            (folder / f"{name}.world.json").write_bytes(one.document)
        _write_report(folder, names, kept)
    except (OSError, Unanswered) as error:
        why = reason_of(error)
        say(f"sandbox: {ended}; {folder}: the worlds cannot be kept there: {why}", err=True)
        return
    say(
        f"sandbox: {ended}; {folder} has {counted(len(kept), 'world')}, each as NAME.world.json "
        f"with NAME.journal.json: {', '.join(names)}; {REPORT} shows them in a browser",
        err=True,
    )
    _say_refused(kept)


def _used(server: Remote) -> Iterator[_Kept]:
    """The worlds that are there: `default`, and each that got a request."""
    for listed in server.ask("GET", "/worlds").json()["worlds"]:
        id = str(listed["id"])
        journal, *others = _paths(id)
        requests = server.ask("GET", journal).content
        if id == WORLD or not _is_unused(requests):
            yield _Kept(id, requests, *(server.ask("GET", path).content for path in others))


def _names(ids: Sequence[str]) -> list[str]:
    """A name of a file for each world; a later one with the same id gets a number."""
    seen: Counter[str] = Counter()
    names = []
    for id in ids:
        seen[id] += 1
        names.append(quote(id, safe="") + (f"-{seen[id]}" if seen[id] > 1 else ""))
    return names


def _write_report(folder: Path, names: Sequence[str], kept: Iterable[_Kept]) -> None:
    named = zip(names, kept, strict=True)
    page = with_captures(NamedCapture(name, name, read_capture(one.capture)) for name, one in named)
    (folder / REPORT).write_bytes(page)


def _say_refused(kept: Iterable[_Kept]) -> None:
    """Print the last requests that were refused, with their reasons."""
    refused = [
        (entry["at"], one.id, entry)
        for one in kept
        for entry in json.loads(one.journal)["requests"]
        if entry["status"] >= _REFUSED_FROM
    ]
    refused.sort(key=lambda row: row[0])
    if refused:
        say("sandbox: the last requests that were refused:", err=True)
    for _, id, entry in refused[-_REFUSED_SHOWN:]:
        reasons = [each["reason"] for each in entry["decisions"] if each["verdict"] != "ok"]
        why = f": {reasons[-1]}" if reasons else ""
        say(f"  {id}  {entry['status']} {entry['method']} {entry['path']}{why}", err=True)
