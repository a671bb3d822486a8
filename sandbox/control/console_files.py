"""The console: its page, and the files that the page loads."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from sandbox.control.rows import ControlFault, ControlRequest, Written

FOLDER: Final = Path(__file__).parent / "console"
VENDOR: Final = "vendor"
"""The folder of modules of others, and the version under which the page asks for them: the page
names it in its import map, whose hash stands in the policy, so that it has to be a constant."""

_LATER: Final = "editor.mjs"
"""The one file that the page does not load before it is needed."""

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
    version, name = request.params["v"], request.params["name"]
    found = _assets().get(name)
    if found is None:
        raise ControlFault(404, "not_found", f"the console has no file {name[:80]!r}")
    home, content = found
    if version != home:
        raise ControlFault(
            404,
            "not_found",
            f"the console has no version {version[:80]!r} of this file any more; reload the page",
        )
    return Written(content, media_type=_TYPES[Path(name).suffix])


@cache
def _page() -> bytes:
    text = (FOLDER / "index.html").read_text("utf-8")
    modules = "\n".join(
        f'<link rel="modulepreload" href="./assets/{home}/{name}">'
        for name, (home, _) in _assets().items()
        if name != _LATER and not name.endswith(".css")
    )
    return text.replace("{version}", version()).replace("{modules}", modules).encode()


@cache
def _assets() -> dict[str, tuple[str, bytes]]:
    """Every file by its name, with the version under which it is asked for."""
    own = {path.name: (version(), path.read_bytes()) for path in _own_files()}
    vendored = {
        path.name: (_vendor_version(), path.read_bytes())
        for path in sorted((FOLDER / VENDOR).glob("*.mjs"))
    }
    return own | vendored


@cache
def version() -> str:
    """It changes with each of our files, so that a browser may keep them for ever."""
    seen = hashlib.sha256()
    for path in _own_files():
        seen.update(path.read_bytes())
    return seen.hexdigest()[:12]


@cache
def _vendor_version() -> str:
    return hashlib.sha256((FOLDER / VENDOR / "LOCK.json").read_bytes()).hexdigest()[:12]


def _own_files() -> list[Path]:
    return sorted(path for path in FOLDER.iterdir() if path.suffix in _TYPES)
