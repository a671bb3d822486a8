"""The modules of the console as one script, and its style sheets as one.

A browser loads one file sooner than fifty, and loads no modules at all for a page that is a file.
The modules are joined when the first page is asked for; nothing is built before.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "console"
VENDOR: Final = FOLDER / "vendor"
"""The folder of modules of others, as they publish them."""

_ENTRY: Final = "main.js"
_STYLES: Final = ("base.css", "rooms.css", "acting.css")
_VENDORED: Final = {
    "preact": "preact.mjs",
    "preact/hooks": "hooks.mjs",
    "htm": "htm.mjs",
    "@preact/signals": "signals.mjs",
    "@preact/signals-core": "signals-core.mjs",
}

_IMPORT: Final = re.compile(r'\bimport\s*(?:\{([^}]*)\}|(\w+))\s*from\s*"([^"]+)";?')
_NAMED: Final = re.compile(r'\bexport\s*\{([^}]*)\}(?:\s*from\s*"([^"]+)")?;?')
_DEFAULT: Final = re.compile(r"\bexport default\b")
_DECLARED: Final = re.compile(
    r"^export ((?:async function|function|class|const|let) (\w+))", re.MULTILINE
)
_LOOSE: Final = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)


@cache
def script() -> str:
    """All modules as one, each a function that gives what it exports, those it needs first."""
    written: dict[str, str] = {}
    _add(_ENTRY, written)
    return "".join(written.values())


@cache
def style_sheet() -> str:
    """All style sheets as one."""
    return "".join(_text(FOLDER / name) for name in _STYLES)


def _text(path: Path) -> str:
    return path.read_text("utf-8")


def _add(name: str, written: dict[str, str]) -> None:
    if name in written:
        return
    home = VENDOR if name.endswith(".mjs") else FOLDER
    code = _text(home / name)
    for _, _, source in _IMPORT.findall(code):
        _add(_file_of(source), written)
    written[name] = f"const {_variable(name)} = (() => {{\n{_as_function(code)}\n}})();\n"


def _file_of(source: str) -> str:
    return _VENDORED.get(source) or source.removeprefix("./")


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name)


def _as_function(code: str) -> str:
    """The body of a function that does what the module does, and returns its exports."""
    exports: list[str] = []

    def imported(found: re.Match[str]) -> str:
        names, default, source = found.groups()
        taken = default and f"{{ default: {default} }}"
        return f"const {taken or _renamed(names)} = {_variable(_file_of(source))};"

    def named(found: re.Match[str]) -> str:
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
    code = _DECLARED.sub(declared, _NAMED.sub(named, code))
    if _DEFAULT.search(code):
        exports.append("default: exported")
        code = _DEFAULT.sub("const exported =", code)
    assert not _LOOSE.search(code), "a module imports or exports in another way"
    return f"{code};\nreturn {{ {', '.join(exports)} }};"


def _renamed(names: str) -> str:
    """The names of an import as a pattern: `a as b` becomes `a: b`."""
    return "{" + re.sub(r"\s+as\s+", ": ", names) + "}"
