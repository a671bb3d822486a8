"""`sandbox world capture` and `open`: a world to look at elsewhere, without a server."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from sandbox.cli.control import Remote, server_options, world_path
from sandbox.cli.exit_status import refuse
from sandbox.cli.progress import working
from sandbox.cli.tables import say, show_json

_File = click.Path(path_type=Path)
_ENDING = re.compile(r"(\.capture)?(\.json)?(\.gz)?$")
_NOT_IN_LINKS = re.compile(r"[^A-Za-z0-9_.-]+")


@click.command()
@click.argument("file", type=_File)
@server_options
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def capture(file: Path, *, world_id: str, url: str, token: str | None, as_json: bool) -> None:
    """Write all that can be seen of a world to FILE, without its keys.

    `sandbox world open` shows it without a server. To keep a world and go on with it, save it.

    \b
    Examples:
      sandbox world capture friday.capture.json.gz
      sandbox world capture uat-7.capture.json.gz --world uat-7
    """
    with working(f"capturing {world_id}"):
        content = Remote(url=url, token=token).ask("GET", world_path(world_id, "capture")).content
    _write(file, content)
    if as_json:
        show_json({"world": world_id, "file": str(file), "bytes": len(content)})
    else:
        say(f"captured {world_id} in {file}, {len(content):,} bytes")


@click.command("open")
@click.argument("files", type=_File, nargs=-1, required=True, metavar="FILE...")
@click.option("--to", type=_File, help="File for the page. Default: beside the first FILE.")
@click.option("--no-browser", is_flag=True, help="Write the page; open no browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def open_captures(
    files: tuple[Path, ...], *, to: Path | None, no_browser: bool, as_json: bool
) -> None:
    """Open captured worlds in a browser, to be read. No server is needed.

    It writes the console with the captures into one HTML file, and opens that.

    \b
    Examples:
      sandbox world open friday.capture.json.gz
      sandbox world open *.capture.json.gz --to week.html --no-browser
    """
    from sandbox.control.captures import NamedCapture, with_captures

    captures = [NamedCapture(*one) for one in _read(files)]
    page = to or files[0].with_name(f"{_stem(files[0])}.capture.html")
    if page in files:
        refuse(f"--to: {page} is one of the captures; name another file")
    _write(page, with_captures(captures))
    if as_json:
        show_json({"page": str(page), "worlds": [one.content["world"]["id"] for one in captures]})
    else:
        say(f"wrote {page}")
    if not no_browser:
        import webbrowser

        if not webbrowser.open(page.absolute().as_uri()):
            refuse(f"no browser could be opened here; open {page} yourself")


def _read(files: tuple[Path, ...]) -> Iterator[tuple[str, str, dict[str, object]]]:
    """The captures of the files, each with an id of its own and its name."""
    from sandbox.control.captures import NotACapture, read_capture

    for number, file in enumerate(files, start=1):
        try:
            content = read_capture(file.read_bytes())
        except (OSError, ValueError) as error:
            why = str(error) if isinstance(error, NotACapture) else _why(error)
            refuse(f"{file}: {why if isinstance(error, NotACapture) else f'cannot be read: {why}'}")
        id = _NOT_IN_LINKS.sub("-", _stem(file))
        yield f"{id}-{number}" if number > 1 else id, file.name, content


def _stem(file: Path) -> str:
    return _ENDING.sub("", file.name, count=1) or "world"


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _write(file: Path, content: bytes) -> None:
    from sandbox.store.files.disk import replace_file

    try:
        replace_file(file, [content], keeps_mode=False)
    except (OSError, ValueError) as error:
        refuse(f"{file}: cannot be written: {_why(error)}")
