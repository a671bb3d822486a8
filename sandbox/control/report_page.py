"""The console as one file, for the report of a test run: captures are put into it.

Browsers load no modules from files, so all modules become one script. Its policy names the hashes
of that script and of the style sheet; nothing else runs, and nothing is loaded.
"""

import gzip
import hashlib
import re
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Final

from pydantic_core import to_json

from sandbox.control.console_files import FOLDER, VENDOR
from sandbox.control.ledger import read_ledger
from sandbox.control.rows import ControlRequest, Written

CAPTURES_BELONG_HERE: Final = "<!-- captures -->"
"""The place of captures: scripts of the type application/gzip with gzipped JSON in base64."""

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

_PAGE: Final = """<!doctype html>
<html lang="en" class="report">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>uat-sandbox report</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="app"></div>
<noscript><h1>uat-sandbox report</h1><p>This report needs scripts, which this browser does not run.
The captures beside it can be opened with <code>sandbox world open</code>.</p></noscript>
<script type="application/gzip" data-ledger>{ledger}</script>
{captures}
<script type="module">{script}</script>
</body>
</html>
"""

_POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def page(request: ControlRequest) -> Written[str]:
    """The console as one file without a capture. Source: assumed D25-reports."""
    return Written(whole_page())


@cache
def whole_page() -> bytes:
    """The page in UTF-8, with CAPTURES_BELONG_HERE where captures go."""
    script, style = _bundle(), "".join(_text(FOLDER / name) for name in _STYLES)
    clauses = read_ledger()
    shown = [{**one, "tests": None} for one in clauses["clauses"]]
    ledger = gzip.compress(to_json({**clauses, "clauses": shown}), mtime=0)
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    text = _PAGE.format(
        policy=policy,
        style=style,
        ledger=b64encode(ledger).decode(),
        captures=CAPTURES_BELONG_HERE,
        script=script,
    )
    return text.encode()


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _text(path: Path) -> str:
    return path.read_text("utf-8")


# --- one script of many modules -----------------------------------------------------------------


def _bundle() -> str:
    """All modules as one, each a function that gives what it exports, those it needs first."""
    written: dict[str, str] = {}
    _add(_ENTRY, written)
    script = "".join(written.values())
    # Either would end the element that holds it.
    assert "</script" not in script
    assert "<!--" not in script
    return script


def _add(name: str, written: dict[str, str]) -> None:
    if name in written:
        return
    home = FOLDER / VENDOR if name.endswith(".mjs") else FOLDER
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
