"""What is built once for all tests of a worker."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.whole.installing import Packages, build, clean_environment, install


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """The wheel and the source distribution of this checkout."""
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment that has the wheel, and nothing that it does not ask for."""
    return install(tmp_path_factory.mktemp("installed") / "venv", packages.wheel)


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path | str:
    """The packages that the guide for Node asks for; or why they cannot be had here."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node and npm are not installed here"
    folder = tmp_path_factory.mktemp("node")
    done = subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "standardwebhooks"],
        cwd=folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        return f"npm cannot install standardwebhooks here: {done.stderr[-300:]}"
    return folder / "node_modules"
