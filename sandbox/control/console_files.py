"""The console: its page, and the files that the page loads."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from sandbox.control import console_script
from sandbox.control.console_script import FOLDER, VENDOR
from sandbox.control.rows import ControlFault, ControlRequest, Written

_TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}


def page(request: ControlRequest) -> Written[str]:
    """The page itself. It names its files with their version, and can be mounted anywhere."""
    return Written(_page())


def asset(request: ControlRequest) -> Written[str]:
    """A file of the page. Raises ControlFault for another version: its page has to be reloaded."""
    asked, name = request.params["v"], request.params["name"]
    content = _assets().get(name)
    if content is None:
        raise ControlFault(404, "not_found", f"the console has no file {name[:80]!r}")
    if asked != version():
        raise ControlFault(
            404,
            "not_found",
            f"the console has no version {asked[:80]!r} of this file any more; reload the page",
        )
    return Written(content, media_type=_TYPES[Path(name).suffix])


@cache
def _page() -> bytes:
    text = (FOLDER / "index.html").read_text("utf-8")
    return text.replace("{version}", version()).encode()


@cache
def _assets() -> dict[str, bytes]:
    """Every file by its name. The editor is loaded when a room needs it."""
    return {
        "console.js": console_script.script().encode(),
        "console.css": console_script.style_sheet().encode(),
        "editor.mjs": (VENDOR / "editor.mjs").read_bytes(),
    }


@cache
def version() -> str:
    """It changes with each file, so that a browser may keep them for ever."""
    seen = hashlib.sha256()
    for content in _assets().values():
        seen.update(content)
    return seen.hexdigest()[:12]
