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
    "field": ("(await act('GET', ['taps'])).tasps;", "Property 'tasps' does not exist"),
    "path": ("await act('GET', ['tasps']);", "is not assignable"),
    "body": ("await act('POST', ['clock', 'advance'], { buy: '1h' });", "'buy' does not exist"),
    "fixed": ("(await ask('GET', '/worlds')).world;", "Property 'world' does not exist"),
    "signal": ("clock.value.mod;", "Property 'mod' does not exist"),
    "unused": ("const unused = act;", "noUnusedVariables"),
}


def test_a_mistake_is_noticed(modules, tmp_path):
    scripts = tmp_path / "console"
    shutil.copytree(console_check.SCRIPTS, scripts)
    imports = 'import { ask } from "./api.js";\nimport { act, clock } from "./state.js";\n'
    right = "await ask('GET', '/worlds');\nawait act('GET', ['taps']);\nclock.value.mode;\n"
    for name, (line, _) in MISTAKES.items():
        (scripts / f"mistake_{name}.js").write_text(imports + right + line + "\n", "utf-8")

    problems = console_check.problems(modules, tmp_path, scripts)

    for name, (_, said) in MISTAKES.items():
        assert problems.count(f"mistake_{name}.js") == 1, problems
        assert said in problems.partition(f"mistake_{name}.js")[2].partition("mistake_")[0], name
