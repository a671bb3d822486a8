"""What is built once for all tests of a worker, and what the tests of the console begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.conftest import NOW
from tests.driving import Served, serving
from tests.servers.postgres import Postgres, serving_postgres
from tests.whole.browsing import chromium
from tests.whole.installing import Packages, build, install, npm_packages
from tests.whole.watching import Desk, watched


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


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL for all tests of a worker, which some of them restart."""
    with serving_postgres() as postgres:
        yield postgres


@pytest.fixture
def url(postgres: Postgres) -> str:
    """The URL of a database that is empty."""
    return postgres.new_database()


# --- the console ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """A server of the demo world, for the tests of a module."""
    with serving("--clock", NOW) as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that asks nobody but this machine, and of which no browser complains."""
    with watched(browser) as opened:
        yield opened


@pytest.fixture
def desk(page: Page, server: Served) -> Desk:
    """That page, at the console of the server, with counted clicks."""
    return Desk(page, server)
