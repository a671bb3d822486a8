"""The test kit where its server is not: beside old packages, and names that projects have."""

import sys
from pathlib import Path

import pytest

from tests.whole.installing import FIRST_TEST, install, once, run, uv

OWN = """\
import sandbox as own


def test_the_module_of_the_project_is_the_one_that_is_imported(sandbox):
    assert own.PAYS
"""


@pytest.fixture(scope="module")
def alone(packages, shared) -> Path:
    """The commands of an environment with the kit, older packages than a server needs, and none."""
    older = ("fastapi==0.115.*", "click==8.1.*", "pydantic==2.8.*")
    wanted = ("--resolution", "lowest-direct", packages.kit, *older)
    made = once(shared / "kit", lambda folder: install(folder / "venv", *wanted))
    return made / "venv" / "bin"


def project(folder: Path) -> Path:
    """A folder with a module `sandbox` of its own, the test of five lines, and one that uses it."""
    folder.mkdir()
    (folder / "sandbox.py").write_text("PAYS = True\n", encoding="utf-8")
    (folder / "test_first.py").write_text(FIRST_TEST, encoding="utf-8")
    (folder / "test_own.py").write_text(OWN, encoding="utf-8")
    return folder


def passes(python: Path, folder: Path, count: int, *options: str) -> str:
    said = run(python, "-W", "error", "-m", "pytest", "-W", "error", *options, cwd=folder)
    assert f" {count} passed" in said
    return said


def test_five_lines_pass_beside_older_packages_and_a_module_sandbox(alone, installed, tmp_path):
    command = f"--sandbox-command={installed / 'sandbox'}"

    said = passes(alone / "python", project(tmp_path / "project"), 2, command)

    assert f"sandbox: {installed / 'sandbox'} serve (from --sandbox-command)" in said
    uv("pip", "check", "--python", alone / "python", cwd=tmp_path)


def test_the_server_beside_the_kit_serves_a_project_with_a_module_of_that_name(tester, tmp_path):
    said = passes(tester / "python", project(tmp_path / "project"), 2)

    assert "because the project also has a module 'sandbox'" in said


def test_a_run_without_any_server_says_what_is_possible_and_harms_no_other_test(alone, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")

    said = passes(alone / "python", folder, 1)

    assert "there is no sandbox: install uat-sandbox into this environment" in said


def test_types_of_both_packages_reach_those_who_use_them(tester, tmp_path):
    (tmp_path / "uses.py").write_text(
        "from sandbox.settings import Settings\n"
        "from uat_sandbox import World\n\n\n"
        "def test_it(sandbox: World) -> None:\n"
        "    reveal_type((Settings().port, sandbox.webhooks.wait_for().attempt))\n"
    )

    said = run(
        *(sys.executable, "-m", "mypy", "--python-executable", tester / "python", "uses.py"),
        cwd=tmp_path,
    )

    assert 'Revealed type is "tuple[int, int]"' in said
