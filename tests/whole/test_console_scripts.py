"""The console's scripts have the types of the control API, and the linter finds nothing in them."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.whole.installing import ROOT, npm_packages

SCRIPTS = Path("sandbox", "control", "console")
CHECKS = Path("tools", "console")

MISTAKES = {
    "field": ("(await act('GET', ['taps'])).tasps;", "Property 'tasps' does not exist"),
    "path": ("await act('GET', ['tasps']);", "is not assignable"),
    "body": ("await act('POST', ['clock', 'advance'], { buy: '1h' });", "'buy' does not exist"),
    "fixed": ("(await ask('GET', '/worlds')).world;", "Property 'world' does not exist"),
    "signal": ("clock.value.mod;", "Property 'mod' does not exist"),
    "unused": ("const unused = act;", "noUnusedVariables"),
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what `make console` looks at, with what it installs."""
    wanted = json.loads((ROOT / CHECKS / "package.json").read_text("utf-8"))
    packages = wanted["dependencies"] | wanted["devDependencies"]
    modules = npm_packages(*(f"{name}@{version}" for name, version in packages.items()))
    for folder in (SCRIPTS, CHECKS, Path("docs", "reference", "openapi")):
        left_out = shutil.ignore_patterns("node_modules")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=left_out)
    (tmp_path / CHECKS / "node_modules").symlink_to(modules)
    return tmp_path


def problems(checkout: Path) -> str:
    """What the two checks say when they find something."""
    found = ""
    for check in ("types", "lint"):
        command = ["npm", "run", "--silent", check]
        done = subprocess.run(
            command, cwd=checkout / CHECKS, capture_output=True, text=True, check=False
        )
        found += done.stdout + done.stderr if done.returncode else ""
    return found


def test_types_and_linter_find_what_is_wrong_and_nothing_else(checkout):
    imports = 'import { ask } from "./api.js";\nimport { act, clock } from "./state.js";\n'
    right = "await ask('GET', '/worlds');\nawait act('GET', ['taps']);\nclock.value.mode;\n"
    for name, (line, _) in MISTAKES.items():
        script = checkout / SCRIPTS / f"mistake_{name}.js"
        script.write_text(imports + right + line + "\n", "utf-8")

    found = problems(checkout)

    named = re.findall(r"(\w+)\.js[:(]\d", found)
    assert set(named) == {f"mistake_{name}" for name in MISTAKES}, found
    for name, (_, said) in MISTAKES.items():
        assert found.count(f"mistake_{name}.js") == 1, found
        assert said in found.partition(f"mistake_{name}.js")[2].partition("mistake_")[0], name
