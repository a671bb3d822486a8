"""`make console` checks the console's scripts: types with TypeScript, style with Biome.

It needs npm, which installs both, and the types of the vendored modules, into `build/`.
openapi-typescript makes types of the control API from its OpenAPI document.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tools.openapi import FOLDER
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
_CHECKERS: Final = ("typescript@5.9.3", "openapi-typescript@7.13.0", "@biomejs/biome@2.6.8")


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
    """List what TypeScript and Biome find in the scripts; "" if nothing. `folder` keeps files."""
    settings, api = folder / "tsconfig.json", folder / "control.d.ts"
    settings.write_text(json.dumps(_settings(modules, scripts, api)), "utf-8")
    generator = modules / ".bin" / "openapi-typescript"
    _run(generator, FOLDER / "control.json", "--output", api, "--default-non-nullable=false")
    # Scripts may look into values of any type.
    api.write_text(re.sub(r"\bunknown\b", "any", api.read_text("utf-8")), "utf-8")
    files = sorted([*scripts.glob("*.js"), *scripts.glob("*.css")])
    biome = [modules / ".bin" / "biome", "lint", "--error-on-warnings", "--colors=off"]
    return _run(modules / ".bin" / "tsc", "--project", settings, "--pretty", "false") + _run(
        *biome, f"--config-path={LOCKED}", "--max-diagnostics=50", *files
    )


def _run(*command: str | Path) -> str:
    """Return what a command says when it fails, and else ""."""
    done = subprocess.run(  # noqa: S603
        command,
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode else ""


def _settings(modules: Path, scripts: Path, api: Path) -> dict[str, Any]:
    """TypeScript's settings. Values may be null: the answers say so of too many."""
    types = {name: modules / path for name, path in _TYPES.items()} | {"control-api": api}
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
        "paths": {name: [str(path)] for name, path in types.items()},
    }
    return {"compilerOptions": options, "include": [f"{scripts}/*.js", f"{LOCKED}/paths.d.ts"]}


if __name__ == "__main__":
    main()
