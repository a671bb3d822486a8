"""The console's scripts have the types of the control API, and the linter finds nothing in them."""

import shutil
from pathlib import Path

import pytest

from tests.whole.installing import npm_packages
from tools import console_check


@pytest.fixture(scope="module")
def modules() -> Path:
    found = npm_packages(*console_check.packages())
    if isinstance(found, str):
        pytest.skip(found)
    return found


def test_types_and_linter_find_nothing(modules, tmp_path):
    assert console_check.problems(modules, tmp_path) == ""


MISTAKES = {
    "(await act('GET', ['taps'])).tasps;": "Property 'tasps' does not exist",
    "await act('GET', ['tasps']);": "is not assignable",
    "await act('POST', ['clock', 'advance'], { buy: '1h' });": "'buy' does not exist",
    "(await ask('GET', '/worlds')).world;": "Property 'world' does not exist",
    "clock.value.mod;": "Property 'mod' does not exist",
    "const unused = act;": "noUnusedVariables",
}


def test_each_mistake_is_noticed_and_nothing_else(modules, tmp_path):
    scripts = tmp_path / "console"
    shutil.copytree(console_check.SCRIPTS, scripts)
    imports = 'import { ask } from "./api.js";\nimport { act, clock } from "./state.js";\n'
    right = "await ask('GET', '/worlds');\nawait act('GET', ['taps']);\nclock.value.mode;\n"
    (scripts / "mistake.js").write_text(imports + right + "\n".join([*MISTAKES, ""]), "utf-8")

    problems = console_check.problems(modules, tmp_path, scripts)

    assert [said for said in MISTAKES.values() if said not in problems] == [], problems
    assert problems.count("mistake.js") == len(MISTAKES), problems
