"""Stories that need no system beside the sandbox: what a customer sees, and a first payment."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import NOW
from tests.driving import Served, serving
from tests.whole.browsing import chromium, needs_chromium
from tests.whole.watching import Desk, faults, watched

pytestmark = needs_chromium


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


def test_what_a_customer_sees_whose_card_has_only_fifty_dollars(desk):
    page = desk.page
    desk.world("demo", fixture="busy")
    desk.ask("DELETE", "/worlds/demo/requests")
    desk.open("terminal", at="demo")
    phone, amount = page.locator(".phone"), page.get_by_role("textbox", name="Amount")
    page.get_by_role("combobox", name="Terminal").select_option("taqueria")
    desk.clicks += 1
    expect(page.get_by_role("combobox", name="Sent with key")).to_have_value("taqueria")

    amount.fill("80.00")
    desk.click("button", "only $50.00 on it")
    expect(phone).to_contain_text("Approved")
    expect(phone).to_contain_text("$50.00")
    expect(phone).to_contain_text("$30.00 are still to be paid")
    expect(page.locator(".rt").first).to_contain_text("50.00")
    amount.fill("30.00")
    page.get_by_role("combobox", name="Or any outcome").select_option("insufficient_funds")
    desk.clicks += 1
    desk.click("button", "Have it end so")
    expect(phone).to_contain_text("Declined")
    expect(page.locator(".rt").first).to_contain_text("INSUFFICIENT FUNDS")
    expect(page.locator(".rt").nth(1)).to_contain_text("50.00")
    page.get_by_role("heading", level=1).focus()
    page.keyboard.press("p")

    expect(page.locator(".present")).to_contain_text("$30.00 were not paid")
    expect(page.get_by_role("textbox")).to_have_count(0)
    expect(page.get_by_role("combobox")).to_have_count(0)
    assert desk.clicks <= 6
    assert faults(page) == []


def test_a_newcomer_takes_a_first_payment_and_gets_the_command_that_does_the_same(desk):
    page = desk.page
    world = desk.world("new")
    desk.open("overview", at="new")

    desk.click("button", "Tap a first payment")
    expect(page.locator(".feed ol")).to_contain_text("captured")
    desk.click("link", "Sale $10.00", within=".feed")

    request = page.get_by_role("region", name="Request")
    expect(request.locator(".st").first).to_have_text("captured")
    for event in ("transaction.create", "batch.opened", "transaction.sale"):
        expect(request.get_by_role("link", name=event)).to_be_visible()
    command = request.locator("pre").last.inner_text()
    assert command.startswith("curl -s -X POST ")
    assert "/v3/payment" in command
    # The key is for the shell to fill in: what is shown may be pasted anywhere.
    assert '-H "x-service-apikey: $API_KEY"' in command
    assert world["keys"]["merchant"]["key"] not in page.content()
    assert desk.clicks <= 2
    assert faults(page) == []


def test_amounts_are_typed_and_shown_in_the_currency_of_the_terminal(desk):
    page = desk.page
    view = desk.world("tokyo")
    location = view["locations"]["merchant"]
    changed = desk.server.client.put(
        f"{desk.server.url}/v1/locations/{location}",
        json={"currency": "JPY"},
        headers={"x-service-apikey": view["keys"]["merchant"]["key"]},
    )
    assert changed.status_code == 200, changed.text
    desk.open("terminal", at="tokyo")
    amount = page.get_by_role("textbox", name="Amount")
    expect(page.locator(".form")).to_contain_text("¥")

    amount.fill("56.00")
    expect(page.locator(".form")).to_contain_text("no amount")
    amount.fill("5600")
    page.get_by_role("heading", level=1).focus()
    page.keyboard.press("1")

    expect(page.locator(".phone")).to_contain_text("¥5,600")
    (one,) = desk.ask("GET", "/worlds/tokyo/payments")["payments"]
    assert (one["total"], one["currency"]) == (5600, "JPY")
    desk.open(f"payments/{one['id']}", at="tokyo")
    desk.click("button", "Refund")
    expect(page.get_by_role("textbox", name="Amount: Refund")).to_have_value("5600")
