"""`make vendor` copies the console's modules, as npm publishes them, into the package.

It needs npm and the registry. A test without either recomputes the hashes that it writes.
"""

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

PROJECT: Final = Path(__file__).parents[1]
LOCKED: Final = PROJECT / "tools" / "console"
VENDOR: Final = PROJECT / "sandbox" / "control" / "console" / "vendor"

FILES: Final = {
    "preact.mjs": ("preact", "dist/preact.mjs"),
    "hooks.mjs": ("preact", "hooks/dist/hooks.mjs"),
    "htm.mjs": ("htm", "dist/htm.mjs"),
    "signals.mjs": ("@preact/signals", "dist/signals.mjs"),
    "signals-core.mjs": ("@preact/signals-core", "dist/signals-core.mjs"),
}
"""Our name of a file, its package, and its path in the package."""

BUNDLE: Final = "editor.mjs"
"""The packages of the editor, which esbuild bundles into one file, as `editor.js` imports them."""

DRAWN: Final = ("lucide-static",)
"""Packages from which `icons.js` copies outlines. None of their files are served."""


def main(into: Path = VENDOR) -> None:
    """Install the locked packages, copy the files, and write down their versions and licenses."""
    for command in (("ci", "--ignore-scripts"), ("run", "bundle")):
        subprocess.run(["npm", *command, "--silent"], cwd=LOCKED, check=True)  # noqa: S603, S607
    modules = LOCKED / "node_modules"
    locked = json.loads((LOCKED / "package-lock.json").read_text("utf-8"))["packages"]
    packages = {name.removeprefix("node_modules/"): one for name, one in locked.items()}
    into.mkdir(parents=True, exist_ok=True)
    lock: dict[str, Any] = {}
    for name, (package, path) in FILES.items():
        content = (modules / package / path).read_bytes()
        (into / name).write_bytes(content)
        lock[name] = {
            "package": package,
            "version": packages[package]["version"],
            "path": path,
            "integrity": packages[package]["integrity"],
            "sha256": hashlib.sha256(content).hexdigest(),
            "licence": packages[package]["license"],
        }
    bundle = (modules / BUNDLE).read_bytes()
    (into / BUNDLE).write_bytes(bundle)
    package = re.compile(r"node_modules/((?:@[^/]+/)?[^/]+)/")
    inputs = json.loads((modules / "bundle.json").read_text("utf-8"))["inputs"]
    inside = sorted({found[1] for name in inputs if (found := package.match(name))})
    lock[BUNDLE] = {
        "package": "@codemirror/view",
        "version": packages["@codemirror/view"]["version"],
        "path": "tools/console/editor.js",
        "esbuild": packages["esbuild"]["version"],
        "sha256": hashlib.sha256(bundle).hexdigest(),
        "inside": {
            one: {field: packages[one][field] for field in ("version", "integrity", "license")}
            for one in inside
        },
    }
    (into / "LOCK.json").write_text(json.dumps(lock, indent=2) + "\n", "utf-8")
    parts = []
    for package in dict.fromkeys((*(package for package, _ in FILES.values()), *DRAWN, *inside)):
        title = f"{package} {packages[package]['version']} ({packages[package]['license']})"
        text = (modules / package / "LICENSE").read_text("utf-8").strip()
        parts.append(f"{title}\n{'=' * len(title)}\n\n{text}\n")
    (into / "LICENSES.txt").write_text("\n\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()
