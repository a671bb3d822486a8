"""`sandbox world`: saves, loads and converts worlds."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from sandbox.cli.captures import capture, open_captures
from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.exit_status import refuse
from sandbox.cli.group import Group
from sandbox.cli.progress import working
from sandbox.cli.tables import say, show_json
from sandbox.cli.worlds import delete, list_all, new, reset, show
from sandbox.domain.text import NotUtf8, strip_mark

_File = click.Path(path_type=Path, allow_dash=True)
_STANDARD = Path("-")


@click.group(cls=Group)
def world() -> None:
    """Create, list, reset, delete, save, load and capture worlds."""


@world.command()
@click.argument("file", type=_File, default=_STANDARD)
@server_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def save(file: Path, *, world_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Write a world of a running server to FILE, or to standard output.

    You can load the file again, or use it as a fixture.

    \b
    Examples:
      sandbox world save friday.json
      sandbox serve --fixture ./friday.json
      sandbox world save --world uat-7 --url http://127.0.0.1:9000 > uat-7.json
    """
    if as_json and file == _STANDARD:
        refuse("--json: what goes to standard output is the world itself; name a FILE")
    with working(f"saving {world_id}"):
        content = Remote(url=url, token=token).ask("GET", world_path(world_id, "snapshot")).content
    if file == _STANDARD:
        # Programs get the raw bytes; a terminal must not obey control characters from a server.
        if sys.stdout.isatty():
            say(content.decode("utf-8", "replace"))
        else:
            click.echo(content, nl=False)
        return
    from sandbox.store.files.disk import replace_file

    try:
        replace_file(file, [content], keeps_mode=False)
    except (OSError, ValueError) as error:
        refuse(f"{file}: cannot be written: {_why(error)}")
    _tell(
        {"world": world_id, "file": str(file), "bytes": len(content)},
        f"saved {world_id} to {file}, {len(content):,} bytes",
        as_json=as_json,
    )


@world.command()
@click.argument("file", type=_File)
@server_options
@click.option("--json", "as_json", is_flag=True, help="Print the world as JSON.")
def load(file: Path, *, world_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Replace a world on a running server with a saved one. FILE may be `-`.

    The world keeps its id and the keys of its cast. Everything else becomes as it was saved. A
    file that cannot be used changes nothing.

    \b
    Examples:
      sandbox world load friday.json
      sandbox world save --world uat-7 | sandbox world load - --world uat-8
    """
    try:
        content = sys.stdin.buffer.read() if file == _STANDARD else file.read_bytes()
        content = strip_mark(content)
    except NotUtf8 as error:
        refuse(f"{file}: {error}")
    except (OSError, ValueError) as error:
        refuse(f"{file}: cannot be read: {_why(error)}")
    with working(f"loading {world_id}"):
        answer = Remote(url=url, token=token).ask("PUT", world_path(world_id, "snapshot"), content)
    _tell(answer.json(), f"{world_id} is as {file} has it", as_json=as_json)


@world.command()
@click.argument("source")
@click.argument("target")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def convert(source: str, target: str, *, as_json: bool) -> None:
    """Convert a state file to another kind, which the name of TARGET selects.

    Either may be a URL like postgresql://user@host/name. No server may be using SOURCE or TARGET,
    and TARGET must not hold worlds.

    \b
    Examples:
      sandbox world convert state.json state.db
      sandbox world convert state.db postgresql://sandbox@db.internal/sandbox
    """
    from sandbox.persistence import shown_name
    from sandbox.settings import is_database
    from sandbox.store.files.port import StoreError

    if not is_database(source) and not Path(source).exists():
        refuse(f"{source}: there is no such file")
    is_file = not is_database(target)
    if is_file and Path(target).exists() and _is_same(target, source):
        refuse(f"{target}: is the file that is to be converted; name another")
    is_new = is_file and not Path(target).exists()
    try:
        with working(f"converting {shown_name(source)}"):
            worlds = _converted(source, target, is_new=is_new)
    except StoreError as error:
        refuse(str(error))
    _tell(
        {"source": shown_name(source), "target": shown_name(target), "worlds": worlds},
        f"{shown_name(target)} has {', '.join(worlds) or 'no world'}",
        as_json=as_json,
    )


def _is_same(target: str, source: str) -> bool:
    return Path(target) == Path(source) or Path(target).samefile(source)


def _converted(source: str, target: str, *, is_new: bool) -> list[str]:
    """Copy all worlds; returns their ids. Raises StoreError."""
    from sandbox.persistence import opened
    from sandbox.store.files.file_kinds import copy
    from sandbox.store.files.port import StoreError

    with closing(opened(source)) as before, closing(opened(target)) as after:
        try:
            copy(before, after)
        except StoreError:
            if is_new:
                # Opening it may have created it.
                Path(target).unlink(missing_ok=True)
            raise
        return sorted(after.load())


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _tell(done: dict[str, Any], line: str, *, as_json: bool) -> None:
    """Print the result: JSON for programs, a line on a terminal."""
    if as_json:
        show_json(done)
    elif sys.stderr.isatty():
        say(line, err=True)


world.add_command(capture)
world.add_command(open_captures)
world.add_command(new)
world.add_command(list_all)
world.add_command(show)
world.add_command(reset)
world.add_command(delete)
