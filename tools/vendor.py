"""`make vendor` copies the console's modules, as npm publishes them, into the package.

It needs npm and the registry. A test without either recomputes the hashes that it writes.
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

PROJECT: Final = Path(__file__).parents[1]
LOCKED: Final = PROJECT / "tools" / "console"
VENDOR: Final = PROJECT / "sandbox" / "control" / "console" / "vendor"

FILES: Final = {
    "preact.mjs": ("preact", "dist/preact.mjs", "MIT"),
    "hooks.mjs": ("preact", "hooks/dist/hooks.mjs", "MIT"),
    "htm.mjs": ("htm", "dist/htm.mjs", "Apache-2.0"),
    "signals.mjs": ("@preact/signals", "dist/signals.mjs", "MIT"),
    "signals-core.mjs": ("@preact/signals-core", "dist/signals-core.mjs", "MIT"),
}
"""Our name of a file, its package, where it is in there, and the licence of the package."""

BUNDLE: Final = "editor.mjs"
"""The editor, which is many small packages: esbuild makes one file of what `editor.js` takes."""

DRAWN: Final = {"lucide-static": "ISC"}
"""Packages from which `icons.js` has outlines, with their licences. No file of theirs is served."""


def main(into: Path = VENDOR) -> None:
    """Install what the lock says, copy the files, and write down what they are."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed here, and make vendor needs it")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json", "editor.js"):
            shutil.copy(LOCKED / name, folder)
        subprocess.run([npm, "ci", "--ignore-scripts", "--silent"], cwd=folder, check=True)  # noqa: S603
        _write(Path(folder) / "node_modules", into)


def _write(modules: Path, into: Path) -> None:
    packages = json.loads((LOCKED / "package-lock.json").read_text("utf-8"))["packages"]
    into.mkdir(parents=True, exist_ok=True)
    lock: dict[str, Any] = {}
    licences: dict[str, str] = {}
    for name, (package, path, licence) in FILES.items():
        content = (modules / package / path).read_bytes()
        (into / name).write_bytes(content)
        locked = packages[f"node_modules/{package}"]
        lock[name] = {
            "package": package,
            "version": locked["version"],
            "path": path,
            "integrity": locked["integrity"],
            "sha256": hashlib.sha256(content).hexdigest(),
            "licence": licence,
        }
        licences |= _licence(modules, packages, package, licence)
    for package, licence in DRAWN.items():
        licences |= _licence(modules, packages, package, licence)
    lock[BUNDLE], more = _bundled(modules, packages, into / BUNDLE)
    licences |= more
    (into / "LOCK.json").write_text(json.dumps(lock, indent=2) + "\n", "utf-8")
    parts = [f"{title}\n{'=' * len(title)}\n\n{text}\n" for title, text in licences.items()]
    (into / "LICENSES.txt").write_text("\n\n".join(parts), "utf-8")


def _licence(modules: Path, packages: Any, package: str, licence: str) -> dict[str, str]:
    """Return the title and the text of a package's licence."""
    text = (modules / package / "LICENSE").read_text("utf-8").strip()
    return {f"{package} {packages[f'node_modules/{package}']['version']} ({licence})": text}


def _bundled(modules: Path, packages: Any, into: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Bundle the editor. Gives its entry of the lock, and the licences of what is in it."""
    told = modules.parent / "told.json"
    command = [str(modules / "esbuild" / "bin" / "esbuild"), "editor.js", "--bundle"]
    command += ["--format=esm", "--minify", "--legal-comments=none", "--log-level=warning"]
    command += [f"--outfile={into.resolve()}", f"--metafile={told}"]
    subprocess.run(command, cwd=modules.parent, check=True)  # noqa: S603
    files = [name for name in json.loads(told.read_text("utf-8"))["inputs"] if "/" in name]
    used = set()
    for _, *parts in (Path(name).parts for name in files):
        used.add("/".join(parts[: 2 if parts[0].startswith("@") else 1]))
    inside: dict[str, Any] = {}
    licences: dict[str, str] = {}
    for package in sorted(used):
        locked = packages[f"node_modules/{package}"]
        inside[package] = {name: locked[name] for name in ("version", "integrity", "license")}
        licences |= _licence(modules, packages, package, locked["license"])
    entry = {
        "package": "@codemirror/view",
        "version": inside["@codemirror/view"]["version"],
        "path": "tools/console/editor.js",
        "esbuild": packages["node_modules/esbuild"]["version"],
        "sha256": hashlib.sha256(into.read_bytes()).hexdigest(),
        "inside": inside,
    }
    return entry, licences


if __name__ == "__main__":
    main()
