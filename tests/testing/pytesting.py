"""pytest itself, run on files that are written for it, in processes that begin warm."""

import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.processes import _FORKS  # the fork server of all tests


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
    return _forked(_pytest, folder, [*plain, *arguments], env)


def run_script(folder: Path, program: str) -> Run:
    """A program in that folder, where pytest is not installed."""
    return _forked(_script, folder, [program], {})


def _forked(
    what: Callable[[list[str]], int], folder: Path, arguments: list[str], env: dict[str, str]
) -> Run:
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
        process = _FORKS.Process(
            target=_in_child, args=(what, str(folder), arguments, output.name, env)
        )
        process.start()
        process.join(60)
        assert process.exitcode is not None, output.read()
        code = process.exitcode
        process.close()
        return Run(code, output.read())


def _in_child(
    what: Callable[[list[str]], int],
    folder: str,
    arguments: list[str],
    output: str,
    env: dict[str, str],
) -> None:
    file = os.open(output, os.O_WRONLY)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    os.chdir(folder)
    os.environ.update(env)
    code = what(arguments)
    sys.stdout.flush()
    sys.exit(code)


def _pytest(arguments: list[str]) -> int:
    import pytest

    return pytest.main(arguments)


def _script(arguments: list[str]) -> int:
    sys.modules["pytest"] = None  # type: ignore[assignment]
    warnings.simplefilter("error")
    exec(compile(arguments[0], "script.py", "exec"), {"__name__": "__main__"})
    return 0
