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


def main() -> None:
    """Install what the lock says, copy the files, and write down what they are."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed here, and make vendor needs it")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(LOCKED / name, folder)
        subprocess.run([npm, "ci", "--ignore-scripts", "--silent"], cwd=folder, check=True)  # noqa: S603
        _write(Path(folder) / "node_modules")


def _write(modules: Path) -> None:
    packages = json.loads((LOCKED / "package-lock.json").read_text("utf-8"))["packages"]
    VENDOR.mkdir(parents=True, exist_ok=True)
    lock: dict[str, Any] = {}
    licences: dict[str, str] = {}
    for name, (package, path, licence) in FILES.items():
        content = (modules / package / path).read_bytes()
        (VENDOR / name).write_bytes(content)
        locked = packages[f"node_modules/{package}"]
        lock[name] = {
            "package": package,
            "version": locked["version"],
            "path": path,
            "integrity": locked["integrity"],
            "sha256": hashlib.sha256(content).hexdigest(),
            "licence": licence,
        }
        text = (modules / package / "LICENSE").read_text("utf-8").strip()
        licences[f"{package} {locked['version']} ({licence})"] = text
    (VENDOR / "LOCK.json").write_text(json.dumps(lock, indent=2) + "\n", "utf-8")
    parts = [f"{title}\n{'=' * len(title)}\n\n{text}\n" for title, text in licences.items()]
    (VENDOR / "LICENSES.txt").write_text("\n\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()
