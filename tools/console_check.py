"""`make console` checks the console's scripts: types with TypeScript, style with Biome.

It needs npm, which installs both, and the types of the vendored modules, into `build/`.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tools import console_types
from tools.vendor import LOCKED, PROJECT, VENDOR

SCRIPTS: Final = VENDOR.parent
_INSTALLED: Final = PROJECT / "build" / "console"
_TYPES: Final = {
    "preact": "preact/src/index.d.ts",
    "preact/hooks": "preact/hooks/src/index.d.ts",
    "htm": "htm/dist/htm.d.ts",
    "@preact/signals": "@preact/signals/dist/signals.d.ts",
}
"""Where the modules that the scripts import have their types."""
_CHECKERS: Final = ("typescript@7.0.2", "@biomejs/biome@2.6.8")


def packages() -> tuple[str, ...]:
    """List what npm has to install: the checkers, and the vendored modules at their versions."""
    vendored = json.loads((VENDOR / "LOCK.json").read_text("utf-8")).values()
    return (*_CHECKERS, *sorted({f"{one['package']}@{one['version']}" for one in vendored}))


def main() -> None:
    """Print what is wrong; the exit status says whether something is."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed here, and make console needs it")
    _INSTALLED.mkdir(parents=True, exist_ok=True)
    (_INSTALLED / "package.json").write_text('{"private": true}', "utf-8")
    quietly = ("--silent", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts")
    subprocess.run([npm, "install", *quietly, *packages()], cwd=_INSTALLED, check=True)  # noqa: S603
    found = problems(_INSTALLED / "node_modules", _INSTALLED)
    if found:
        print(found)
        sys.exit(1)


def problems(modules: Path, folder: Path, scripts: Path = SCRIPTS) -> str:
    """List what TypeScript and Biome find in the scripts.

    "" if nothing. `folder` keeps a file.
    """
    settings = folder / "tsconfig.json"
    settings.write_text(json.dumps(_settings(modules, scripts)), "utf-8")
    commands: list[list[str | Path]] = [
        [modules / ".bin" / "tsc", "--project", settings, "--pretty", "false"],
        [
            *(modules / ".bin" / "biome", "lint", "--error-on-warnings", "--colors=off"),
            *(f"--config-path={LOCKED}", "--max-diagnostics=50"),
            *sorted([*scripts.glob("*.js"), *scripts.glob("*.css")]),
        ],
    ]
    said = ""
    for command in commands:
        done = subprocess.run(  # noqa: S603
            command,
            cwd=PROJECT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        said += done.stdout if done.returncode else ""
    return said


def _settings(modules: Path, scripts: Path) -> dict[str, Any]:
    """TypeScript's settings. Values may be null: the answers say so of too many."""
    options = {
        "target": "es2023",
        "lib": ["es2023", "dom", "dom.iterable"],
        "module": "esnext",
        "moduleResolution": "bundler",
        "allowJs": True,
        "checkJs": True,
        "noEmit": True,
        "strict": False,
        "types": [],
        "paths": {name: [str(modules / path)] for name, path in _TYPES.items()},
    }
    included = [scripts / "*.js", console_types.FILE, console_types.PATHS]
    return {"compilerOptions": options, "include": [os.fspath(path) for path in included]}


if __name__ == "__main__":
    main()
