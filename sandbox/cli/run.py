"""`sandbox run`: runs a command with a server of its own around it."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click

from sandbox.app import Sandbox, build
from sandbox.cli.arguments import SOME_SCENARIO, TokenCommand, settings
from sandbox.cli.control_client import PREFIX, world_path
from sandbox.cli.output import Refused, count_things, reason_of, refuse, refusing, say
from sandbox.cli.platform_client import refusal_reason
from sandbox.control.captures import NamedCapture, read_capture, with_captures
from sandbox.http_client import send_json
from sandbox.scenarios.parser import ScenarioError
from sandbox.server.run import bound, new_loop, server_of, serving
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


@click.command(context_settings={"allow_interspersed_args": False}, cls=TokenCommand, json=None)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port of the server; 0 picks a free one.",
)
@settings("fixture")
@settings("scenario", type=SOME_SCENARIO)
@settings("seed")
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
    """Return the file of a command.

    Ends with the exit status of a shell if it cannot be executed.
    """
    found = shutil.which(name)
    if found is not None:
        return found
    is_path = len(Path(name).parts) > 1 or name.startswith(".")
    if is_path and Path(name).exists():
        refuse(f"{name}: cannot be executed; is it a program?", EXIT_NOT_EXECUTABLE)
    return refuse(f"{name}: there is no such command", EXIT_NOT_FOUND)


async def _around(command: list[str], settings: Settings, folder: Path) -> int:
    """Return the exit status of a command, while a server runs. Keeps the worlds if it failed.

    Raises SettingsError, FixtureError or ScenarioError, before the command starts.
    """
    with bound(settings) as (settings, sockets):
        sandbox = build(settings)
        worlds = _UsedWorlds(sandbox)
        async with serving(server_of(sandbox, settings), sockets):
            world = json.loads(await worlds.read(world_path(WORLD)))
            url = f"http://{settings.host}:{settings.port}"
            status = await _ended(command, _environment(url, sandbox.token, world))
            if status:
                await _keep(worlds, folder, f"the command ended with {status}")
    return status


def _environment(url: str, token: str | None, world: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment of the command: that of this process, and where the sandbox is."""
    keys = {name: one["key"] for name, one in world["keys"].items()}
    terminals = world["terminals"]
    ours = {
        "SANDBOX_URL": url,
        "SANDBOX_KEY": keys.get("merchant") or next(iter(keys.values()), None),
        "SANDBOX_TERMINAL": terminals.get("merchant") or next(iter(terminals.values()), None),
        "SANDBOX_WORLD": WORLD,
        "SANDBOX_TOKEN": token,
        "SANDBOX_TOKEN_FILE": None,
    }
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {name: value for name, value in ours.items() if value is not None}


async def _ended(command: list[str], environment: Mapping[str, str]) -> int:
    """Return the exit status of a command, which gets the signals that this process gets."""
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


class _UsedWorlds:
    """The worlds that the command used, the last ones that it deleted too."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._deleted: deque[_Kept] = deque(maxlen=_DELETED_MAX)
        sandbox.worlds.before_deleting = self._keep_deleted

    async def list_kept(self) -> list[_Kept]:
        """List the worlds that got a request, the deleted ones, and `default`."""
        listed = json.loads(await self.read("/worlds"))["worlds"]
        used = [await self._find_used(str(one["id"])) for one in listed]
        return [*filter(None, used), *self._deleted]

    async def read(self, path: str) -> bytes:
        """Return what the control API answers. Raises Refused."""
        token = self._sandbox.token
        headers = {"authorization": f"Bearer {token}"} if token else {}
        answer = await send_json(self._sandbox.app, "GET", PREFIX + path, headers=headers)
        assert answer is not None
        if not answer.is_success:
            refuse(f"{path} is answered {answer.status_code}")
        return answer.content

    async def _keep_deleted(self, world_id: str) -> None:
        with suppress(Refused):
            self._deleted.extend(filter(None, [await self._find_used(world_id)]))

    async def _find_used(self, id: str) -> _Kept | None:
        """Return the part of a world that is kept; None without a request to it."""
        journal = await self.read(world_path(id, "requests") + f"?limit={_JOURNAL_MAX}")
        if id != WORLD and not json.loads(journal)["requests"]:
            return None
        document = await self.read(world_path(id, "snapshot"))
        return _Kept(id, journal, document, await self.read(world_path(id, "capture")))


async def _keep(worlds: _UsedWorlds, folder: Path, ended: str) -> None:
    """Write what is kept of all worlds that were used into a folder; says what is there."""
    try:
        kept = await worlds.list_kept()
        names = _names([one.id for one in kept])
        folder.mkdir(parents=True, exist_ok=True)
        for name, one in zip(names, kept, strict=True):
            (folder / f"{name}.journal.json").write_bytes(one.journal)
            (folder / f"{name}.world.json").write_bytes(one.document)
        named = [
            NamedCapture(name, name, read_capture(one.capture))
            for name, one in zip(names, kept, strict=True)
        ]
        (folder / REPORT).write_bytes(with_captures(named))
    except (OSError, Refused) as error:
        why = reason_of(error)
        say(f"sandbox: {ended}; {folder}: the worlds cannot be kept there: {why}", err=True)
        return
    say(
        f"sandbox: {ended}; {folder} has {count_things(len(kept), 'world')}, each as "
        f"NAME.world.json with NAME.journal.json: {', '.join(names)}; {REPORT} shows them in a "
        "browser",
        err=True,
    )
    _say_refused(kept)


def _names(ids: Sequence[str]) -> list[str]:
    """Return a name of a file for each world; a later one with the same id gets a number."""
    seen: Counter[str] = Counter()
    names = []
    for id in ids:
        seen[id] += 1
        names.append(quote(id, safe="") + (f"-{seen[id]}" if seen[id] > 1 else ""))
    return names


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
        reason = refusal_reason(entry)
        why = f": {reason}" if reason else ""
        say(f"  {id}  {entry['status']} {entry['method']} {entry['path']}{why}", err=True)
