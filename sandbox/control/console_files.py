"""The console: its page, the files that the page loads, and the redirect to it.

The modules are joined into one script when the page is first requested, and so are the style
sheets: a browser loads one file sooner than fifty, and a page opened from a file cannot load
modules at all. There is no build step.
"""

import hashlib
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sandbox import __version__
from sandbox.control.context import ControlRequest, not_found
from sandbox.control.routing import CSS, HTML, JAVASCRIPT, PREFIX, Written, get
from sandbox.platform.routing import ROOT_PATH, path_of
from sandbox.platform.security import HEADERS_OF, AnswerKind

FOLDER: Final = Path(__file__).parent / "console"

VENDOR: Final = FOLDER / "vendor"
"""The folder of third-party modules, as published."""

_STYLES: Final = ("base.css", "rooms.css", "acting.css")
_IMPORT: Final = re.compile(r'\bimport\s*(?:\{([^}]*)\}|(\w+))\s*from\s*"([^"]+)";?')
_NAMED: Final = re.compile(r'\bexport\s*\{([^}]*)\}(?:\s*from\s*"([^"]+)")?;?')
_DEFAULT: Final = re.compile(r"\bexport default\b")
_DECLARED: Final = re.compile(
    r"^export ((?:async function|function|class|const|let) (\w+))", re.MULTILINE
)
_LOOSE: Final = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)


def join_scripts() -> str:
    """Return all modules as one script, each as a function that returns its exports."""
    written: dict[str, str] = {}
    _add_module("main.js", written)
    return "".join(written.values())


def fill_page(name: str, **parts: object) -> str:
    """Return an HTML file of the console with its parts filled in."""
    return (FOLDER / name).read_text("utf-8").format(**parts)


def join_styles() -> str:
    """Return all style sheets as one."""
    return "".join((FOLDER / name).read_text("utf-8") for name in _STYLES)


def _add_module(name: str, written: dict[str, str]) -> None:
    if name in written:
        return
    code = ((VENDOR if name.endswith(".mjs") else FOLDER) / name).read_text("utf-8")
    for _, _, source in _IMPORT.findall(code):
        _add_module(_file_of(source), written)
    written[name] = f"const {_variable(name)} = (() => {{\n{_as_function(code)}\n}})();\n"


def _file_of(source: str) -> str:
    """Return the file of a module: one of ours, or of a package by the end of its name."""
    own = source.removeprefix("./")
    return f"{source.rpartition('/')[2]}.mjs" if own == source else own


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name)


def _as_function(code: str) -> str:
    """Return the body of a function that runs the module and returns its exports."""
    exports: list[str] = []

    def imported(found: re.Match[str]) -> str:
        names, default, source = found.groups()
        # The names become a pattern: `a as b` becomes `a: b`.
        taken = f" default: {default} " if default else re.sub(r"\s+as\s+", ": ", names)
        return f"const {{{taken}}} = {_variable(_file_of(source))};"

    def name_of(found: re.Match[str]) -> str:
        names, source = found.groups()
        of = "" if source is None else f"{_variable(_file_of(source))}."
        for one in filter(None, map(str.strip, names.split(","))):
            inner, _, outer = one.partition(" as ")
            exports.append(f"{outer or inner}: {of}{inner}")
        return ""

    def declared(found: re.Match[str]) -> str:
        exports.append(found[2])
        return found[1]

    code = _IMPORT.sub(imported, code)
    code = _DECLARED.sub(declared, _NAMED.sub(name_of, code))
    code, count = _DEFAULT.subn("const exported =", code)
    exports += ["default: exported"] * count
    assert not _LOOSE.search(code), "a module imports or exports in another way"
    return f"{code};\nreturn {{ {', '.join(exports)} }};"


@get(f"{PREFIX}/docs", "docs.page", is_open=True, media_type=HTML, kind=AnswerKind.CONSOLE)
@get(f"{PREFIX}/", "console.page", is_open=True, media_type=HTML, kind=AnswerKind.CONSOLE)
def read_console_page(request: ControlRequest) -> Written[str]:
    """Return the web console, which opens at its room API under `docs`.

    The names of its files have their version, and it can be mounted anywhere.
    """
    return Written(fill_page("index.html", version=version()).encode())


@get(
    f"{PREFIX}/assets/{{v}}/{{name}}",
    "console.asset",
    is_open=True,
    media_type=JAVASCRIPT,
    kind=AnswerKind.ASSET,
    refuses=(404,),
)
def read_console_file(request: ControlRequest) -> Written[str]:
    """Return a script or style sheet of the console.

    Raises ControlFault for another version: its page has to be reloaded.
    """
    asked, name = request.params["v"][:80], request.params["name"]
    if (content := _assets().get(name)) is None:
        raise not_found(f"the console has no file {name[:80]!r}")
    if asked != version():
        raise not_found(f"the console has no version {asked!r} of this file now; reload the page")
    return Written(content, media_type=CSS if name.endswith(".css") else JAVASCRIPT)


@cache
def _assets() -> dict[str, bytes]:
    """Return every file by its name. The editor is loaded when a room needs it."""
    return {
        "console.js": join_scripts().encode(),
        "console.css": join_styles().encode(),
        "editor.mjs": (VENDOR / "editor.mjs").read_bytes(),
    }


@cache
def version() -> str:
    """Return the version of the files, which lets browsers cache them forever.

    It changes when any file does.
    """
    return hashlib.sha256(b"".join(_assets().values())).hexdigest()[:12]


WELCOME_PATHS: Final = frozenset({"/", PREFIX})


async def welcome(request: Request) -> Response:
    """Send a browser to the console; say where it is if it has a port of its own.

    Raises HTTPException with 404 for a client that is not a browser.
    """
    scope, state = request.scope, request.app.state
    accepts = request.headers.getlist("accept")
    if request.method != "GET" or not any("text/html" in one for one in accepts):
        raise HTTPException(404)
    headers = {name.decode(): value.decode() for name, value in HEADERS_OF[AnswerKind.OPEN]}
    server = scope.get("server")
    if state.control_port is None or (server is not None and server[1] == state.control_port):
        # The address of the console is permanent; the front page of the server is not.
        status = 308 if path_of(scope) == PREFIX else 307
        where = f"{scope[ROOT_PATH]}{PREFIX}/"
        return Response(status_code=status, headers={**headers, "location": where})
    about = {"version": escape(__version__), "port": state.control_port, "prefix": PREFIX}
    return HTMLResponse(fill_page("welcome.html", **about), headers=headers)
