"""Running a command with a server around it."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import click

from sandbox.app import Sandbox, build
from sandbox.cli import arguments, output
from sandbox.cli.control_client import PREFIX, drop_none, world_path
from sandbox.cli.platform_client import refusal_reason
from sandbox.control.captures import NamedCapture, free_id, read_capture, with_captures
from sandbox.http_client import send_json
from sandbox.scenarios.parser import ScenarioError
from sandbox.server import run as server
from sandbox.settings import Settings, SettingsError
from sandbox.store.files.disk import replace_file
from sandbox.store.fixture import FixtureError
from sandbox.worlds.journal import REFUSED_FROM
from sandbox.worlds.spec import DEFAULT_WORLD

EXIT_NOT_EXECUTABLE: Final = 126
"""The command exists but cannot be executed, as in shells."""

EXIT_NOT_FOUND: Final = 127
"""There is no such command, as in shells."""

EXIT_SIGNALED: Final = 128
"""A signal ended the command: this plus the number of the signal, as in shells."""

_REPORT: Final = "report.html"
_JOURNAL_MAX: Final = 1_000
_DELETED_MAX: Final = 50
_REFUSED_SHOWN: Final = 5


@click.command(
    context_settings={"allow_interspersed_args": False}, cls=arguments.TokenCommand, json=False
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@arguments.settings("port", default=0, help="Port of the server; 0 picks a free one.")
@arguments.settings("fixture")
@arguments.settings("scenario", type=arguments.SOME_SCENARIO)
@arguments.settings("seed")
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("sandbox-failure"),
    help="Folder for worlds and journals if the command fails.",
)
def run(*, command: tuple[str, ...], folder: Path, **options: Any) -> None:
    """Run COMMAND with a server around it, and return its exit status.

    The server takes a free port, and ends with the command. The command finds the server in
    SANDBOX_URL, and what a payment needs in SANDBOX_KEY, SANDBOX_TERMINAL and SANDBOX_WORLD.
    SANDBOX_TOKEN is set if the server has a token. If the command fails, the worlds that it used
    are kept with their journals and a report to read, including the last 50 that it deleted.

    \b
    Examples:
      sandbox run -- npm test
      sandbox run --scenario late_answer -- ./gradlew test
      sandbox run -- pytest tests
    """
    program = _find_program(command[0])
    with (
        output.refusing(SettingsError, FixtureError, ScenarioError),
        asyncio.Runner(loop_factory=server.new_loop) as runner,
    ):
        status = runner.run(_run_around([program, *command[1:]], Settings(**options), folder))
    sys.exit(status)


def _find_program(name: str) -> str:
    """Return the file of a command.

    Ends with the exit status of a shell if it cannot be executed.
    """
    if found := shutil.which(name):
        return found
    if (len(Path(name).parts) > 1 or name.startswith(".")) and Path(name).exists():
        output.refuse(f"{name}: cannot be executed; is it a program?", EXIT_NOT_EXECUTABLE)
    return output.refuse(f"{name}: there is no such command", EXIT_NOT_FOUND)


async def _run_around(command: list[str], settings: Settings, folder: Path) -> int:
    """Run a command beside a server; return its exit status. Keeps the worlds if it failed.

    Raises SettingsError, FixtureError or ScenarioError, before the command starts.
    """
    with server.bound(settings) as (settings, sockets):
        sandbox = build(settings)
        worlds = _UsedWorlds(sandbox)
        async with server.serving(server.Server(sandbox, settings), sockets):
            url = f"http://{settings.host}:{settings.port}"
            status = await _run_to_end(command, _environment(url, sandbox))
            if status:
                await _keep(worlds, folder, f"the command ended with {status}")
    return status


def _environment(url: str, sandbox: Sandbox) -> dict[str, str]:
    """Return the environment of the command: that of this process, with the sandbox's variables."""
    cast = sandbox.worlds.default.cast
    keys, terminals = cast.plaintexts, cast.terminals
    ours = {
        "SANDBOX_URL": url,
        "SANDBOX_KEY": keys.get("merchant") or next(iter(keys.values()), None),
        "SANDBOX_TERMINAL": terminals.get("merchant") or next(iter(terminals.values()), None),
        "SANDBOX_WORLD": DEFAULT_WORLD,
        "SANDBOX_TOKEN": sandbox.token,
        "SANDBOX_TOKEN_FILE": None,
    }
    return drop_none({**os.environ, **ours})


async def _run_to_end(command: list[str], environment: Mapping[str, str]) -> int:
    """Run a command, forward the signals of this process to it, and return its exit status."""
    # Listen before the command starts, so that no signal is lost while it does.
    signals: asyncio.Queue[signal.Signals] = asyncio.Queue()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        # There are no such handlers on Windows.
        with suppress(AttributeError, NotImplementedError):
            number = getattr(signal, name)
            asyncio.get_running_loop().add_signal_handler(number, signals.put_nowait, number)
    try:
        process = await asyncio.create_subprocess_exec(*command, env=environment)
    except OSError as error:
        output.refuse(f"{command[0]}: cannot be executed: {error.strerror}", EXIT_NOT_EXECUTABLE)
    forwarding = asyncio.create_task(_forward(signals, process))
    status = await process.wait()
    forwarding.cancel()
    return status if status >= 0 else EXIT_SIGNALED - status


async def _forward(
    signals: asyncio.Queue[signal.Signals], process: asyncio.subprocess.Process
) -> None:
    while True:
        number = await signals.get()
        # Ctrl-C at a terminal reaches the command without this.
        if number != signal.SIGINT or not sys.stdin.isatty():
            with suppress(ProcessLookupError):
                process.send_signal(number)


class _Kept(NamedTuple):
    """A world that was used: its journal, the document to load it from, and a capture to read."""

    id: str
    journal: bytes
    document: bytes
    capture: bytes


class _UsedWorlds:
    """The worlds that the command used, including the last ones that it deleted."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._deleted: deque[_Kept] = deque(maxlen=_DELETED_MAX)
        sandbox.worlds.before_deleting = self._keep_deleted

    async def list_kept(self) -> list[_Kept]:
        """List the worlds that got a request, the deleted ones, and `default`."""
        listed = json.loads(await self.read("/worlds"))["worlds"]
        return [*await self._read_used(*(one["id"] for one in listed)), *self._deleted]

    async def read(self, path: str) -> bytes:
        """Return the control API's answer. Raises Refused."""
        token = self._sandbox.token
        headers = {"authorization": f"Bearer {token}"} if token else {}
        answer = await send_json(self._sandbox.app, "GET", PREFIX + path, headers=headers)
        assert answer is not None
        if not answer.is_success:
            output.refuse(f"{path} was answered with {answer.status_code}")
        return answer.content

    async def _keep_deleted(self, world_id: str) -> None:
        if world_id == DEFAULT_WORLD:
            # Its deletion is refused.
            return
        with suppress(output.Refused):
            self._deleted.extend(await self._read_used(world_id))

    async def _read_used(self, *ids: str) -> list[_Kept]:
        """Return the parts to keep of these worlds, except worlds that got no request."""
        found = []
        for id in ids:
            journal = await self.read(world_path(id, "requests") + f"?limit={_JOURNAL_MAX}")
            if id == DEFAULT_WORLD or json.loads(journal)["requests"]:
                parts = [await self.read(world_path(id, kind)) for kind in ("snapshot", "capture")]
                found.append(_Kept(id, journal, *parts))
        return found


async def _keep(worlds: _UsedWorlds, folder: Path, ended: str) -> None:
    """Write all worlds that were used into a folder, and say what is there."""
    try:
        kept = await worlds.list_kept()
        folder.mkdir(parents=True, exist_ok=True)
        captures: list[NamedCapture] = []
        for one in kept:
            # A later world with the same id gets a number.
            name = free_id(quote(one.id, safe=""), captures)
            (folder / f"{name}.journal.json").write_bytes(one.journal)
            # It has the keys and the secrets of the world.
            replace_file(folder / f"{name}.world.json", [one.document], keeps_mode=False)
            captures.append(NamedCapture(name, name, read_capture(one.capture)))
        (folder / _REPORT).write_bytes(with_captures(captures))
    except (OSError, output.Refused) as error:
        why = output.reason_of(error)
        output.tell(f"{ended}; {folder}: the worlds cannot be kept there: {why}")
        return
    output.tell(
        f"{ended}; {folder} has {output.count_things(len(kept), 'world')}, each as "
        f"NAME.world.json with NAME.journal.json: {', '.join(one.id for one in captures)}; "
        f"{_REPORT} shows them in a browser"
    )
    _say_refused(kept)


def _say_refused(kept: Iterable[_Kept]) -> None:
    """Print the last requests that were refused, with their reasons."""
    refused = [
        (one.id, entry)
        for one in kept
        for entry in json.loads(one.journal)["requests"]
        if entry["status"] >= REFUSED_FROM
    ]
    refused.sort(key=lambda row: row[1]["at"])
    if refused:
        output.tell("the last requests that were refused:")
    for id, entry in refused[-_REFUSED_SHOWN:]:
        asked = f"{id}  {entry['status']} {entry['method']} {entry['path']}"
        output.say("  ", ": ".join(filter(None, (asked, refusal_reason(entry)))), err=True)
