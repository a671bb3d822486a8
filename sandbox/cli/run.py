"""`sandbox run`: runs a command with a server of its own around it."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from sandbox.cli.control import Remote, Unanswered, world_path
from sandbox.cli.exit_status import refuse
from sandbox.cli.known import SOME_SCENARIO
from sandbox.cli.tables import counted, say
from sandbox.cli.token_options import token_options

if TYPE_CHECKING:
    from sandbox.settings import Settings

EXIT_NOT_EXECUTABLE: Final = 126
"""The command is there and cannot be executed, as in shells."""

EXIT_NOT_FOUND: Final = 127
"""There is no such command, as in shells."""

EXIT_SIGNALED: Final = 128
"""A signal ended the command: this and the number of the signal, as in shells."""

WORLD: Final = "default"
_JOURNAL_MAX: Final = 1_000
_FORWARDED: Final = ("SIGINT", "SIGTERM", "SIGHUP")


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Port of the server; 0 picks a free one.",
)
@click.option(
    "--fixture",
    default="demo",
    show_default=True,
    help="Fixture of the world 'default': a name under fixtures/, or a file.",
)
@click.option(
    "--scenario",
    type=SOME_SCENARIO,
    help="Scenario that runs in 'default': a name or title of the library, or a file.",
)
@click.option(
    "--seed",
    type=click.IntRange(-(2**63), 2**63 - 1),
    default=1,
    show_default=True,
    help="Seed for ids; the default for worlds created without one.",
)
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("sandbox-failure"),
    show_default=True,
    help="Folder for worlds and journals if the command fails.",
)
@token_options
def run(*, command: tuple[str, ...], folder: Path, **options: Any) -> None:
    """Run COMMAND with a server around it, and return its exit status.

    The server takes a free port, and ends with the command. The command finds the server in
    SANDBOX_URL, and in SANDBOX_KEY, SANDBOX_TERMINAL and SANDBOX_WORLD what a payment needs.
    SANDBOX_TOKEN is set if the server has a token. If the command fails, the worlds that it used
    are kept with their journals.

    \b
    Examples:
      sandbox run -- npm test
      sandbox run --scenario late_answer -- ./gradlew test
      sandbox run -- pytest tests
    """
    from sandbox.scenarios.loading import ScenarioError
    from sandbox.server.run import new_loop
    from sandbox.settings import Settings, SettingsError
    from sandbox.store.fixture import FixtureError

    program = _program(command[0])
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            status = runner.run(_around([program, *command[1:]], Settings(**options), folder))
    except (SettingsError, FixtureError, ScenarioError) as error:
        refuse(str(error))
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


async def _around(command: list[str], settings: "Settings", folder: Path) -> int:
    """The exit status of a command, while a server runs. Keeps the worlds if it failed.

    Raises SettingsError, FixtureError or ScenarioError, before the command starts.
    """
    from sandbox.app import build
    from sandbox.server.run import bound, serving_sandbox

    settings, sockets = bound(settings)
    sandbox = build(settings)
    server = Remote(url=f"http://{settings.host}:{settings.port}", token=sandbox.token)
    async with serving_sandbox(sandbox, settings, sockets):
        world = await asyncio.to_thread(server.read, "GET", world_path(WORLD))
        status = await _ended(command, _environment(server, world))
        if status:
            await asyncio.to_thread(_keep, server, folder, f"the command ended with {status}")
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


def _keep(server: Remote, folder: Path, ended: str) -> None:
    """Write the worlds that were used, and their journals, into a folder; says which."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = [one for one in _worlds(server) if _keep_world(server, one, folder)]
    except (OSError, Unanswered) as error:
        why = error.strerror if isinstance(error, OSError) else error
        say(f"sandbox: {ended}; {folder}: the worlds cannot be kept there: {why}", err=True)
        return
    say(
        f"sandbox: {ended}; {folder} has {counted(len(kept), 'world')}, each as NAME.world.json "
        f"with NAME.journal.json: {', '.join(kept)}",
        err=True,
    )


def _worlds(server: Remote) -> list[str]:
    """The ids of all worlds."""
    listed = server.answer("GET", "/worlds").json()["worlds"]
    return [str(one["id"]) for one in listed]


def _keep_world(server: Remote, world_id: str, folder: Path) -> bool:
    """Whether a world was kept: `default` is, and each that got a request. Raises OSError."""
    path = world_path(world_id, "requests")
    journal = server.answer("GET", f"{path}?limit={_JOURNAL_MAX}")
    if world_id != WORLD and not journal.json()["requests"]:
        return False
    snapshot = server.answer("GET", world_path(world_id, "snapshot"))
    name = quote(world_id, safe="")
    (folder / f"{name}.journal.json").write_bytes(journal.content)
    (folder / f"{name}.world.json").write_bytes(snapshot.content)
    return True
