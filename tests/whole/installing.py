"""The product as users get it: built into packages, installed into an empty environment."""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FIRST_TEST = """\
def test_a_decline_with_its_webhook(sandbox):
    sandbox.next("insufficient_funds")
    payment = sandbox.client().post("/v3/payment", json={"amount": 1000, "terminal_id": sandbox.terminal()}).json()
    assert (payment["status"], payment["status_reason"]) == ("declined", "insufficient_funds")
    sandbox.webhooks.wait_for("transaction.sale", status="declined", subject=payment["transaction_id"])
"""  # noqa: E501


def run(*command: str | Path, cwd: Path, timeout: float = 300, **env: str) -> str:
    """What a command that succeeds prints. Fails with all that it said otherwise."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean_environment() | env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def clean_environment() -> dict[str, str]:
    """This environment without what pytest, a virtual environment or a server puts into it."""
    foreign = ("PYTEST_", "PYTHON", "VIRTUAL_ENV", "SANDBOX_", "COVERAGE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def uv(*arguments: str | Path, cwd: Path) -> str:
    return run(sys.executable, "-m", "uv", *arguments, cwd=cwd)


@dataclass(frozen=True)
class Packages:
    """A wheel and a source distribution of the server, and the wheel of the test kit."""

    wheel: Path
    sdist: Path
    kit: Path


def build(folder: Path, source: Path = ROOT) -> Packages:
    """All packages, each wheel from the source distribution, as `make dist` builds them."""
    for project in (source, source / "pytest-uat-sandbox"):
        uv("build", "--quiet", "--out-dir", folder, project, cwd=folder)
    return packages_in(folder)


def packages_in(folder: Path) -> Packages:
    (wheel,) = folder.glob("uat_sandbox-*.whl")
    (sdist,) = folder.glob("uat_sandbox-*.tar.gz")
    (kit,) = folder.glob("pytest_uat_sandbox-*.whl")
    return Packages(wheel, sdist, kit)


def install(folder: Path, *what: str | Path) -> Path:
    """A new environment in the folder, with pip and these packages; the folder of its commands."""
    uv("venv", "--quiet", "--seed", "--python", sys.executable, folder, cwd=folder.parent)
    bin = folder / "bin"
    uv("pip", "install", "--quiet", "--python", bin / "python", *what, cwd=folder.parent)
    return bin


def npm_packages(*packages: str) -> Path:
    """The `node_modules` with these packages, installed once. Skips where they cannot be had."""
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed here")
    return _cached("npm", packages, lambda folder: _npm_install(folder, packages)) / "node_modules"


def _npm_install(folder: Path, packages: tuple[str, ...]) -> None:
    run("npm", "init", "--yes", cwd=folder)
    run("npm", "install", "--silent", "--no-audit", "--no-fund", *packages, cwd=folder)


def python_packages(*packages: str) -> Path:
    """The commands of an environment with these packages, made once. Skips where it cannot be."""
    made = _cached("python", packages, lambda folder: install(folder / "venv", *packages))
    return made / "venv" / "bin"


def _cached(kind: str, packages: tuple[str, ...], make: Callable[[Path], object]) -> Path:
    """A folder below `build`, by what it holds. Skips, loudly, where it cannot be had."""
    digest = sha256("\n".join((sys.version, *packages)).encode()).hexdigest()[:16]
    try:
        return once(ROOT / "build" / f"{kind}-{digest}", make)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{', '.join(packages)} cannot be installed here: {str(error)[-300:]}")


def once(folder: Path, make: Callable[[Path], object]) -> Path:
    """A folder that the first who wants it makes. The file `complete` says that it is whole."""
    folder.parent.mkdir(exist_ok=True)
    # Another worker may want the same. Scripts of an environment name its folder, so it cannot be
    # made elsewhere and moved.
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_complete = folder / "complete"
        if not is_complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            is_complete.touch()
    return folder


def free_port() -> int:
    """A port that nobody listens on. Somebody else may take it before it is used, which is rare."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
