"""What is built once for all tests of a worker."""

from pathlib import Path

import pytest

from tests.whole.installing import Packages, build, install, npm_packages


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """The wheel and the source distribution of this checkout."""
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment that has the wheel, and nothing that it does not ask for."""
    return install(tmp_path_factory.mktemp("installed") / "venv", packages.wheel)


@pytest.fixture(scope="session")
def node_modules() -> Path | str:
    """The packages that the guide for Node asks for; or why they cannot be had here."""
    return npm_packages("standardwebhooks")
