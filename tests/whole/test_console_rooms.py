"""Rooms of the console in a real browser: time, worlds, batches, coverage, access."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import sandbox
from sandbox.domain.currencies import CURRENCIES, in_units
from tests.conftest import NOW
from tests.driving import Served, serving
from tests.whole.browsing import chromium, needs_chromium
from tests.whole.watching import Desk, watched

pytestmark = needs_chromium

FROZEN = {"now": NOW, "mode": "frozen"}
HOME = Path(sandbox.__file__).parent / "control" / "console"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving("--clock", NOW) as found:
        yield found


@pytest.fixture
def desk(browser, server) -> Iterator[Desk]:
    with watched(browser) as page:
        yield Desk(page, server)


# --- money ------------------------------------------------------------------------------------


def test_what_falls_due_is_told_in_the_currency_of_the_payment(desk):
    made = desk.world("yen", clock=FROZEN)
    shop = f"{desk.server.url}/v1/locations/{made['locations']['merchant']}"
    owner = {"x-service-apikey": made["keys"]["partner"]["key"]}
    for currency in ("USD", "JPY"):
        desk.server.client.put(shop, json={"currency": currency}, headers=owner)
        assert desk.pay("yen", 7942, hold=True)["currency"] == currency

    desk.open("time", at="yen")
    expect(desk.page.get_by_role("button", name="Hold of $79.42")).to_be_visible()
    expect(desk.page.get_by_role("button", name="Hold of ¥7,942")).to_be_visible()
    desk.open("overview", at="yen")
    expect(desk.page.locator(".due")).to_contain_text("Hold of $79.42")
    expect(desk.page.locator("main")).not_to_contain_text("minor units")


def test_the_page_writes_and_reads_amounts_of_every_currency_as_the_server_does(desk):
    desk.open("overview")
    asset = desk.page.evaluate("document.querySelector('script[src]').src").replace("main", "words")

    written = desk.page.evaluate(
        """async ([asset, codes]) => {
          const { units, minor } = await import(asset);
          return codes.map((code) =>
            [code, units(1234567, code), minor("1234", code), minor("1.2345", code)]);
        }""",
        [asset, list(CURRENCIES)],
    )

    for code, text, minor, too_fine in written:
        assert text == in_units(1234567, code)
        assert minor == 1234 * 10 ** CURRENCIES[code].exponent
        assert too_fine is None
