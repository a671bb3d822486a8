"""One browser and one server for all that is looked at in the console; each test has a page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.driving import NOW, Served, serving
from tests.whole.browsing import chromium
from tests.whole.console.watching import Desk, watched

# Longer than the five seconds that Playwright waits: other tests run beside these.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="package")
def server() -> Iterator[Served]:
    """A server of the demo world."""
    with serving("--clock", NOW) as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that asks nobody but this machine, and of which no browser complains."""
    with watched(browser) as opened:
        yield opened


@pytest.fixture
def desk(page: Page, server: Served) -> Desk:
    """That page, at the console of a new world of the server, with counted clicks."""
    desk = Desk(page, server, "shop")
    desk.world()
    return desk


@pytest.fixture
def own_desk(page: Page) -> Iterator[Desk]:
    """A page at the console of a server that no other test has used."""
    with serving("--clock", NOW) as found:
        desk = Desk(page, found, "shop")
        desk.world()
        yield desk
