"""What is built once for all tests, and the PostgreSQL of a worker."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.driving import serving
from tests.servers.postgres import Postgres, serving_postgres
from tests.state.saved_worlds import SavedWorld
from tests.whole.installing import Packages, build, install, npm_packages, once, packages_in

TESTER = (
    "pytest>=9,<10",
    "pytest-xdist>=3.8,<4",
    "freezegun>=1.5,<2",
    "flask>=3,<4",
    "django>=5,<7",
    "fastapi>=0.115,<1",
)
"""What guides about tests say that one installs beside the sandbox."""


LONGEST = ("test_what_was_acknowledged_is_there_once_whatever", "test_schemathesis", "command-line")
"""What names the tests that take a minute."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest, so that no worker has one left when the others are done."""
    items.sort(key=lambda item: not any(name in item.nodeid for name in LONGEST))


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all workers of this run."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def packages(shared: Path) -> Packages:
    """The wheel and the source distribution of this checkout."""
    return packages_in(once(shared / "dist", build))


@pytest.fixture(scope="session")
def installed(packages: Packages, shared: Path) -> Path:
    """The commands of an environment that has the wheel, and nothing that it does not ask for."""
    made = once(shared / "installed", lambda folder: install(folder / "venv", packages.wheel))
    return made / "venv" / "bin"


@pytest.fixture(scope="session")
def tester(packages: Packages, shared: Path) -> Path:
    """The commands of an environment as a reader of the guides has it, with the test kit."""
    wanted = (packages.wheel, packages.kit, *TESTER)
    made = once(shared / "tester", lambda folder: install(folder / "venv", *wanted))
    return made / "venv" / "bin"


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The packages that the guide for Node asks for."""
    return npm_packages("standardwebhooks")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL for all tests of a worker, which some of them restart."""
    with serving_postgres() as postgres:
        yield postgres


@pytest.fixture
def url(postgres: Postgres) -> str:
    """The URL of a database that is empty."""
    return postgres.new_database()


@pytest.fixture
def two(url: str, tmp_path: Path) -> Iterator[tuple[SavedWorld, SavedWorld]]:
    """Two servers for this test alone; the first has the world `default`."""
    with serving(url, tmp_path, "one") as one, serving(url, tmp_path, "two") as other:
        yield one, other
