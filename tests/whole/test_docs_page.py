"""The page that shows both surfaces, in a browser: it reads, sends, and explains."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.cli.proxying import proxying
from tests.conftest import NOW
from tests.driving import Served, serving
from tests.whole.browsing import needs_chromium

pytestmark = needs_chromium


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that asks nobody but this machine, and has nothing to complain about."""
    opened = browser.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    yield opened
    opened.close()
    hosts = {urlsplit(url).hostname for url in asked if not url.startswith("data:")}
    assert hosts == {"127.0.0.1"}
    # That an answer is a refusal, browsers complain about; these are wanted here.
    assert [one for one in complaints if "the server responded with a status" not in one] == []


def _open(page: Page, server: Served, operation: str = "") -> None:
    page.goto(f"{server.facts['control_url']}/docs{operation and f'#{operation}'}")


def test_a_payment_is_chosen_sent_and_explained(page, server):
    _open(page, server)
    page.get_by_role("link", name="Take a payment").click()
    expect(page.get_by_label("API key", exact=True)).to_have_value("merchant")

    page.get_by_role("button", name="Send").click()

    expect(page.locator("#status")).to_have_text("200")
    expect(page.locator("#answered")).to_contain_text('"status": "captured"')
    expect(page.locator("#answer")).to_contain_text("approved; source=default")
    why = page.locator("#why")
    expect(why).to_contain_text("payments.create")
    expect(why).to_contain_text("spec 5.1")


def test_what_has_to_be_there_first_is_made_on_the_page(page, server):
    _open(page, server, "payments.capture")

    page.get_by_role("button", name="First: payments.preauth").click()
    expect(page.get_by_label("id", exact=True)).not_to_have_value("")
    page.get_by_role("button", name="Send").click()

    expect(page.locator("#answered")).to_contain_text('"transaction_type": "capture"')


def test_behind_a_proxy_its_requests_go_through_the_proxy(page, server):
    with proxying(server.url, prefix="/tools/pay") as proxy:
        page.goto(f"{proxy.url.replace('localhost', '127.0.0.1')}/_sandbox/docs#payments.capture")
        page.get_by_role("button", name="First: payments.preauth").click()
        expect(page.get_by_label("id", exact=True)).not_to_have_value("")
        page.get_by_role("button", name="Send").click()

        expect(page.locator("#answered")).to_contain_text('"transaction_type": "capture"')
        expect(page.locator("#curl")).to_contain_text("/tools/pay/v3/payments/")
        assert "/tools/pay/v3/preauth" in proxy.asked


def test_a_refusal_is_explained_too(page, server):
    _open(page, server, "accounts.list")
    page.get_by_label("API key", exact=True).select_option("no key")

    page.get_by_role("button", name="Send").click()

    expect(page.locator("#status")).to_have_text("401")
    expect(page.locator("#why")).to_contain_text("no API key was sent")


def test_an_operation_has_an_address_of_its_own_and_says_what_it_needs(page, server):
    _open(page, server, "batches.open")

    expect(page.get_by_role("heading", level=1)).to_have_text("Open a batch of a terminal")
    expect(page.locator("dl.facts")).to_contain_text("batches:open")
    expect(page.locator("#curl")).to_contain_text("/v1/batches/open")
    expect(page.locator("#curl")).to_contain_text(server.key("merchant"))
    page.get_by_role("link", name="batch.opened", exact=True).click()
    expect(page.locator("main")).to_contain_text("webhook-signature")


def test_operations_are_found_by_a_word_and_by_hand_alone(page, server):
    _open(page, server)
    page.get_by_label("Search operations").fill("transaction.refund")
    expect(page.locator("#found")).to_have_text("5 of this surface fit")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Refund a payment")


def test_the_control_surface_is_tried_there_as_well(page, server):
    _open(page, server)
    page.get_by_role("button", name="Control").click()
    page.get_by_role("link", name="Advance a world's clock").click()

    page.get_by_role("button", name="Send").click()

    expect(page.locator("#answered")).to_contain_text('"now": "2026-03-04T12:00:00.000Z"')


def test_what_is_chosen_before_the_documents_are_there_is_shown_once_they_are(page, server):
    held: list[Route] = []
    page.route("**/platform/openapi.json*", lambda route: held.append(route))
    _open(page, server)
    page.get_by_role("button", name="Control").click()

    held[0].continue_()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Control")
    expect(page.get_by_role("link", name="Create a world")).to_be_visible()


def test_a_stream_is_read_along_until_it_is_stopped(page, server):
    _open(page, server, "stream.read")
    page.get_by_label("w", exact=True).fill("default")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#answered")).to_contain_text(": here")

    server.ask("GET", "/v5/apikeys", key="merchant")
    expect(page.locator("#answered")).to_contain_text("apikeys.list")
    page.get_by_role("button", name="Stop").click()

    expect(page.locator("#answer")).to_contain_text("Stopped.")


def test_where_a_token_is_needed_the_page_asks_for_it(page):
    with serving("--clock", NOW, "--token", "a-token-of-the-test") as server:
        _open(page, server, "payments.create")
        token = page.get_by_label("Control token")
        expect(token).to_be_visible()

        token.fill("a-token-of-the-test")
        token.press("Tab")

        expect(page.get_by_label("API key", exact=True)).to_have_value("merchant")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#why")).to_contain_text("payments.create")


def test_where_the_platform_has_a_port_of_its_own_the_page_says_so(page):
    with serving("--clock", NOW, "--control-port", "0") as server:
        _open(page, server, "payments.create")

        expect(page.get_by_role("button", name="Send")).to_be_disabled()
        expect(page.locator(".note")).to_contain_text(server.url)
        expect(page.locator("#curl")).to_contain_text(f"{server.url}/v3/payment")
