"""Worlds and requests in files: `sandbox world save`, `load` and others, `sandbox export`."""

import json
import os
import re
import sys
import webbrowser
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from sandbox import __version__
from sandbox.app import build
from sandbox.cli import output
from sandbox.cli.arguments import FILE, INSTANT, profile_option
from sandbox.cli.control_client import RemoteWorld, Unanswered, WorldCommand, drop_none
from sandbox.cli.main import Group
from sandbox.control.captures import NamedCapture, NotACapture, free_id, read_capture, with_captures
from sandbox.domain.profile import Profile
from sandbox.domain.text import strip_mark
from sandbox.platform.openapi.examples import collection
from sandbox.settings import Settings, is_database, problem_with_store
from sandbox.startup import name_store, open_store
from sandbox.store.files.disk import replace_file
from sandbox.store.files.file_kinds import copy
from sandbox.store.files.port import StoreError

_FILE_OR_DASH: Final = click.Path(path_type=Path, allow_dash=True)
_STANDARD: Final = Path("-")


def _keep(world: RemoteWorld, file: Path, content: bytes) -> dict[str, Any]:
    """Write a saved or captured world to a file, and return the result."""
    _write(file, content)
    return {"world": world.id, "file": str(file), "bytes": len(content)}


def _write(file: Path, content: bytes) -> None:
    """Replace a file, and let only its owner read it."""
    with output.using(file, "written"):
        replace_file(file, [content], keeps_mode=False)


@click.command(cls=WorldCommand)
@click.argument("file", type=_FILE_OR_DASH, default=_STANDARD)
def save(file: Path, *, world: RemoteWorld) -> output.Result:
    """Write a world of a running server to FILE, or to standard output.

    You can load the file again, or use it as a fixture.

    \b
    Examples:
      sandbox world save friday.json
      sandbox serve --fixture ./friday.json
      sandbox world save --world uat-7 --url http://127.0.0.1:9000 > uat-7.json
    """
    if file == _STANDARD and output.is_json():
        output.refuse("--json: the world itself goes to standard output; name a FILE")
    with output.working(f"saving {world.id}"):
        content = world.server.ask("GET", world.path("snapshot")).content
    if file == _STANDARD:
        return output.Result(None, lambda _: print_bytes(content))
    done = _keep(world, file, content)
    return output.Result(done, _at_terminal(f"saved {world.id} to {file}, {len(content):,} bytes"))


@click.command(cls=WorldCommand)
@click.argument("file", type=_FILE_OR_DASH)
@click.option("--new", metavar="ID", help="Load it into a new world with this id.")
def load(file: Path, *, new: str | None, world: RemoteWorld) -> output.Result:
    """Replace a world on a running server with a saved one. FILE may be `-`.

    The world keeps its id and the keys of its cast. Everything else is restored as it was saved. A
    file that cannot be used changes nothing, and --new makes no world then.

    \b
    Examples:
      sandbox world load friday.json
      sandbox world load friday.json --new friday
      sandbox world save --world uat-7 | sandbox world load - --new uat-8
    """
    with output.using(file):
        content = sys.stdin.buffer.read() if file == _STANDARD else file.read_bytes()
        content = strip_mark(content)
    if new is not None:
        world = replace(world, id=world.server.read("POST", "/worlds", {"id": new})["id"])
    with output.working(f"loading {world.id}"):
        try:
            loaded = world.read("PUT", "snapshot", body=content)
        except Unanswered:
            if new is not None:
                with suppress(Unanswered):
                    world.read("DELETE")
            raise
    return output.Result(loaded, _at_terminal(f"loaded {world.id} from {file}"))


@click.command(cls=output.ResultCommand)
@click.argument("source", type=click.Path())
@click.argument("target", type=click.Path())
def convert(source: str, target: str) -> output.Result:
    """Convert a state file to the kind that the name of TARGET selects.

    Either may be a URL like postgresql://user@host/name. No server may be using SOURCE or TARGET,
    and TARGET must not hold worlds.

    \b
    Examples:
      sandbox world convert state.json state.db
      sandbox world convert state.db postgresql://sandbox@db.internal/sandbox
    """
    for store in (source, target):
        if not is_database(store) and (problem := problem_with_store(store)):
            output.refuse(problem)
    # Unlike `Path.exists`, this takes any text, such as a name that is too long.
    if not is_database(source) and not os.path.exists(source):  # noqa: PTH110
        output.refuse(f"{source}: there is no such file")
    is_new = not is_database(target) and not os.path.exists(target)  # noqa: PTH110
    if not (is_new or is_database(source) or is_database(target)) and Path(target).samefile(source):
        output.refuse(f"{target}: is the file to convert; name another")
    names = {"source": name_store(source), "target": name_store(target)}
    with (
        output.refusing(StoreError),
        output.working(f"converting {names['source']}"),
        closing(open_store(source)) as before,
    ):
        try:
            with closing(open_store(target)) as after:
                copy(before, after)
                worlds = sorted(after.load())
        except StoreError:
            if is_new:
                # Opening it may have created it. Closing it removed the files that SQLite adds.
                with suppress(OSError):
                    Path(target).unlink()
            raise
    said = f"{names['target']} has {', '.join(worlds) or 'no world'}"
    return output.Result(names | {"worlds": worlds}, _at_terminal(said))


def print_bytes(content: bytes) -> None:
    """Print bytes that a server may have sent. On a terminal, control characters are escaped."""
    if sys.stdout.isatty():
        output.say(content.decode("utf-8", "replace"))
    else:
        click.echo(content, nl=False)


def _at_terminal(line: str) -> Callable[[Any], None]:
    """Return a function that prints the line, only at a terminal."""
    return lambda _: output.say(line, err=True) if sys.stderr.isatty() else None


@click.command(cls=WorldCommand)
@click.argument("file", type=FILE)
def capture(file: Path, *, world: RemoteWorld) -> output.Result:
    """Write everything visible in a world to FILE, without its keys.

    `sandbox world open` shows it without a server. To keep a world and use it again, save it.

    \b
    Examples:
      sandbox world capture friday.capture.json.gz
      sandbox world capture uat-7.capture.json.gz --world uat-7
    """
    with output.working(f"capturing {world.id}"):
        content = world.server.ask("GET", world.path("capture")).content
    done = _keep(world, file, content)
    return output.Result(done, f"captured {world.id} in {file}, {len(content):,} bytes")


@click.command("open", cls=output.ResultCommand)
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--to", type=FILE, help="File for the page. Default: beside the first FILE.")
@click.option("--no-browser", is_flag=True, help="Write the page; open no browser.")
def open_captures(files: tuple[Path, ...], *, to: Path | None, no_browser: bool) -> output.Result:
    """Open captured worlds in a browser, to read them. No server is needed.

    It writes the console with the captures into one HTML file, and opens that.

    \b
    Examples:
      sandbox world open friday.capture.json.gz
      sandbox world open *.capture.json.gz --to week.html --no-browser
    """
    captures: list[NamedCapture] = []
    for file in files:
        captures.append(_read(file, captures))
    page = to or files[0].with_name(f"{_stem(files[0])}.capture.html")
    if page in files:
        output.refuse(f"--to: {page} is one of the captures; name another file")
    _write(page, with_captures(captures))
    done = {"page": str(page), "worlds": [one.content["world"]["id"] for one in captures]}
    if no_browser or webbrowser.open(page.absolute().as_uri()):
        return output.Result(done, f"wrote {page}")
    why = f"no browser could be opened here; open {page} yourself"
    return output.Result(done, f"wrote {page}", output.EXIT_UNUSABLE, [why])


def _read(file: Path, others: list[NamedCapture]) -> NamedCapture:
    """Return the capture in a file, with an id that these do not have, and its name."""
    with output.using(file), output.refusing(NotACapture, before=f"{file}: "):
        content = read_capture(file.read_bytes())
    id = re.sub(r"[^A-Za-z0-9_.-]+", "-", _stem(file))
    wanted = f"{id}-{len(others) + 1}" if others else id
    return NamedCapture(free_id(wanted, others), file.name, content)


def _stem(file: Path) -> str:
    return re.sub(r"(\.capture)?(\.json)?(\.gz)?$", "", file.name, count=1) or "world"


# --- export -------------------------------------------------------------------------------------

_out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to this file. Default: standard output.",
)


@click.group(cls=Group)
def export() -> None:
    """Export the platform's operations, or requests to it, in formats of other tools."""


@export.command()
@_out_option
@click.option(
    "--server",
    default="http://127.0.0.1:8080",
    metavar="URL",
    help="Address of the server that the requests go to.",
)
@profile_option(help="TOML file with the real platform's names, as for `serve`.")
def postman(out: Path | None, *, server: str, profile: Profile) -> None:
    """Write a Postman collection of all operations, with chained ids.

    Writing it needs no server. Bruno and Insomnia import it too. Run as a whole, it creates
    its own world, sends every request, and deletes the world.

    \b
    Examples:
      sandbox export postman --out sandbox.postman_collection.json
      sandbox export postman --server http://127.0.0.1:9000 > collection.json
    """
    cast = build(Settings(profile=profile)).worlds.default.cast
    shown = collection(
        profile,
        version=__version__,
        url=server.rstrip("/"),
        keys=cast.plaintexts,
        cast={kind: getattr(cast, kind) for kind in ("accounts", "terminals", "locations")},
    )
    if out is None:
        output.show_json(shown)
        return
    output.write_file(out, (json.dumps(shown, indent=2) + "\n").encode(), option="--out ")
    output.say(f"wrote {out}: import it, or run it with `npx newman run {out}`")


@export.command(cls=WorldCommand)
@click.argument("ids", nargs=-1)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["curl", "har", "markdown", "pytest", "scenario"]),
    default="curl",
    help="Format of the file.",
)
@click.option("--subject", help="Only requests about the payment, batch or key with this id.")
@click.option("--since", type=INSTANT, help="Only requests from this instant on.")
@_out_option
def requests(
    ids: tuple[str, ...], *, kind: str, out: Path | None, world: RemoteWorld, **about: str | None
) -> output.Result:
    """Write requests of the journal as curl, HAR, Markdown, a test or a scenario.

    IDS are the ids of requests, like req_0000000001. Without them, all requests that match. Keys
    are never written: the commands take them from shell variables. A scenario has rules for the
    outcomes, and examples that passed in a demo world; reads and other requests are left out.

    \b
    Examples:
      sandbox export requests req_0000000001
      sandbox export requests --as har --out requests.har
      sandbox export requests --as markdown --subject 3fa85f64-5717-4562-b3fc-2c963f66afa6
      sandbox export requests --as pytest --out test_what_was_seen.py
      sandbox export requests --as scenario --out what-was-seen.toml
    """
    chosen = {"as": kind, "requests": list(ids) or None, **about}
    shown = world.read("POST", "export", body=drop_none(chosen))

    if out is None:
        return output.Result(shown, lambda _: output.say_lines(shown["content"].splitlines()))
    output.write_file(out, shown["content"].encode())
    written = output.count_things(shown["requests"], "request")
    return output.Result(shown, f"wrote {written} to {out}")
