"""pytest itself, run on files that are written for it, in processes that begin warm."""

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.processes import run

SETTINGS = """
import pytest
from sandbox.settings import Settings

@pytest.fixture(scope="session")
def sandbox_settings():
    return Settings(seed=42)
"""
"""A conftest.py with settings of its own."""


@dataclass(frozen=True)
class Run:
    """A run of pytest that has ended: its exit code and all that it printed."""

    code: int
    output: str

    def result(self, test: str) -> str:
        """How the test of that name ended, as `-rA` says it."""
        for line in self.output.splitlines():
            word, _, rest = line.partition(" ")
            if word in ("PASSED", "FAILED", "ERROR") and rest.split(" ")[0].endswith(f"::{test}"):
                return word
        raise AssertionError(f"no test {test} in\n{self.output}")


def run_pytest(folder: Path, *arguments: str, **env: str) -> Run:
    """pytest in that folder with the plugin and nothing else but what the arguments name."""
    plain = ["-p", "uat_sandbox.plugin", "-p", "no:cacheprovider", "-W", "error", "-rA"]
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "160", **env}
    done = run(before=partial(_pytest, folder, [*plain, *arguments]), **env)
    return Run(done.returncode, done.stdout + done.stderr)


def _pytest(folder: Path, arguments: list[str]) -> None:
    os.chdir(folder)
    sys.exit(pytest.main(arguments))
