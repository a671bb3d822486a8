"""The wheel and the source distribution, installed where no checkout is."""

import json
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.parser import Parser
from pathlib import Path
from typing import Any

import httpx2

from sandbox import __version__
from tests.whole.installing import ROOT, clean_environment, run, uv


@contextmanager
def serving(bin: Path, folder: Path, *options: str) -> Iterator[dict[str, Any]]:
    """The installed command, serving from that folder; what it said at its start."""
    command = [bin / "sandbox", "serve", "--port", "0", "--log-format", "json", *options]
    process = subprocess.Popen(
        command, cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, f"{command} did not start"
        yield json.loads(line)
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


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


def test_the_wheel_has_nothing_beside_the_package(packages):
    folders = {name.split("/")[0] for name in names_in(packages.wheel)}

    assert folders == {"sandbox", f"uat_sandbox-{__version__}.dist-info"}
    assert [name for name in names_in(packages.wheel) if "__pycache__" in name] == []


def test_the_source_has_what_builds_and_tests_it_and_no_leftovers(packages):
    with tarfile.open(packages.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "Makefile", "README.md", "Dockerfile", "compose.yaml"} <= names
    assert {"fixtures/demo.json", "scenarios/approve_all.toml", "tests/conftest.py"} <= names
    assert "pytest-uat-sandbox/pyproject.toml" in names
    leftovers = (".venv", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", "dist")
    assert [name for name in names if name.startswith(leftovers) or "__pycache__" in name] == []


def test_the_wheel_says_what_it_is(packages):
    with zipfile.ZipFile(packages.wheel) as archive:
        folder = f"uat_sandbox-{__version__}.dist-info"
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
        entry_points = archive.read(f"{folder}/entry_points.txt").decode()

    assert (metadata["Name"], metadata["Version"]) == ("uat-sandbox", __version__)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).startswith("# uat-sandbox\n")
    assert metadata["Requires-Python"] == ">=3.11"
    assert "sandbox = sandbox.cli.main:main" in entry_points
    assert "pytest11" not in entry_points


# --- how it works where nothing else is -------------------------------------------------------


def test_the_installed_command_tells_its_version_and_proves_a_scenario_of_its_library(
    installed, tmp_path
):
    said = run(installed / "sandbox", "--version", cwd=tmp_path)
    name = "insufficient_funds_then_success"
    story = run(installed / "sandbox", "scenario", "show", name, cwd=tmp_path)
    (tmp_path / "story.toml").write_text(story, encoding="utf-8")

    run(installed / "sandbox", "scenario", "check", "story.toml", cwd=tmp_path)

    assert said == f"uat-sandbox {__version__}\n"


def test_the_installed_server_takes_a_payment_in_the_demo_world(installed, tmp_path):
    with serving(installed, tmp_path) as facts, httpx2.Client(timeout=10) as client:
        health = client.get(f"{facts['control_url']}/health").json()
        scenarios = client.get(f"{facts['control_url']}/scenarios").json()
        answer = client.post(
            f"{facts['url']}/v3/payment",
            headers={"x-service-apikey": facts["keys"]["merchant"]},
            json={"amount": 1000, "terminal_id": facts["terminals"]["merchant"]},
        )

    assert (health["status"], health["version"]) == ("ok", __version__)
    assert scenarios["total"] == len(shipped("scenarios", "*.toml"))
    assert (answer.status_code, answer.json()["status"]) == (200, "captured")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_asked_for_that_clashes(tester, tmp_path):
    uv("pip", "check", "--python", tester / "python", cwd=tmp_path)
