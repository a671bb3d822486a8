"""The wheel and the source distribution, installed where no checkout is."""

import json
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

from sandbox import __version__
from tests.whole.installing import ROOT, run, uv


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def package_data() -> list[str]:
    """The files inside the package that are no code, as the wheel names them."""
    files = (path for path in (ROOT / "sandbox").rglob("*") if path.is_file())
    return [
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.suffix not in (".py", ".pyc") and "__pycache__" not in path.parts
    ]


def shipped(folder: str, pattern: str) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern)]


# --- what is in them --------------------------------------------------------------------------


def test_the_wheel_has_every_fixture_scenario_and_data_file(packages):
    library = [*shipped("fixtures", "*.json"), *shipped("scenarios", "*.*")]

    names = names_in(packages.wheel)

    expected = [*package_data(), *(f"sandbox/_library/{name}" for name in library)]
    assert sorted(set(expected) - set(names)) == []
    assert "sandbox/py.typed" in names


def test_the_console_adds_little_to_the_wheel(packages):
    with zipfile.ZipFile(packages.wheel) as archive:
        console = [one for one in archive.infolist() if "/control/console/" in one.filename]

    assert len(console) > 20
    assert sum(one.compress_size for one in console) < 250_000


def test_a_wheel_has_nothing_beside_its_package(packages):
    for wheel, package in ((packages.wheel, "sandbox"), (packages.kit, "uat_sandbox")):
        names = names_in(wheel)

        folders = {name.split("/")[0] for name in names}
        assert {one for one in folders if not one.endswith(".dist-info")} == {package}
        assert [name for name in names if "__pycache__" in name] == []


def test_the_source_has_what_builds_and_tests_it_and_no_leftovers(packages):
    with tarfile.open(packages.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "Makefile", "README.md", "Dockerfile", "compose.yaml"} <= names
    assert {"fixtures/demo.json", "scenarios/approve_all.toml", "tests/conftest.py"} <= names
    assert "pytest-uat-sandbox/pyproject.toml" in names
    leftovers = (".venv", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", "dist")
    assert [name for name in names if name.startswith(leftovers) or "__pycache__" in name] == []


def test_the_wheel_has_complete_metadata(packages):
    with zipfile.ZipFile(packages.wheel) as archive:
        folder = f"uat_sandbox-{__version__}.dist-info"
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
        entry_points = archive.read(f"{folder}/entry_points.txt").decode()

    assert (metadata["Name"], metadata["Version"]) == ("uat-sandbox", __version__)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).startswith("# uat-sandbox\n")
    assert metadata["Requires-Python"] == ">=3.11"
    commands = {f"{name} = sandbox.cli.main:main" for name in ("sandbox", "uat-sandbox")}
    assert commands <= set(entry_points.splitlines())
    assert "pytest11" not in entry_points


# --- how it works where nothing else is -------------------------------------------------------


def test_the_installed_command_takes_a_payment_and_proves_a_scenario(installed, tmp_path):
    sandbox, story = installed / "sandbox", tmp_path / "story.toml"
    listed = json.loads(run(sandbox, "scenario", "list", "--json", cwd=tmp_path))
    shown = run(sandbox, "scenario", "show", "insufficient_funds_then_success", cwd=tmp_path)
    story.write_text(shown, encoding="utf-8")

    run(sandbox, "scenario", "check", story, cwd=tmp_path)
    said = run(sandbox, "--version", cwd=tmp_path)
    paid = run(sandbox, "run", "--", sandbox, "pay", "10", cwd=tmp_path)

    assert said == f"uat-sandbox {__version__}\n"
    assert len(listed) == len(shipped("scenarios", "*.toml"))
    assert "captured: approved" in paid
    assert list(tmp_path.iterdir()) == [story]


def test_nothing_is_asked_for_that_clashes(tester, tmp_path):
    uv("pip", "check", "--python", tester / "python", cwd=tmp_path)
