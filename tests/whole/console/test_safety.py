"""The console with strangers about: guesses, neighbours, secrets, a server that goes."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.driving import NOW, Served, serving
from tests.webhooks.receiving import receiving
from tests.whole.console.consoles import ROOMS
from tests.whole.console.watching import Desk
from tests.whole.installing import free_port


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a browser without cookies and storage."""
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        yield context.new_page()


def signed_in(page: Page, server: Served) -> Desk:
    desk = Desk(page, server)
    page.goto(f"{desk.control}/#token={server.facts['token']}/default/coverage")
    desk.ready("coverage")
    return desk


def test_two_servers_of_one_host_are_signed_in_to_apart(page):
    with serving("--shared") as one, serving("--shared") as other:
        desks = [signed_in(page, one), Desk(page, other)]
        page.goto(f"{desks[1].control}/#/default/journal")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Sign in")
        token = page.get_by_label("Token")
        token.fill("a-guess-of-some-length")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("not the token")
        expect(token).to_have_value("")
        expect(token).to_be_focused()
        token.fill(other.facts["token"])
        page.get_by_role("button", name="Sign in").click()
        desks[1].ready("journal")

        for desk in desks:
            desk.open("journal")
        cookies = page.context.cookies()
        assert len({cookie["name"] for cookie in cookies}) == 2
        assert {cookie["httpOnly"] for cookie in cookies} == {True}


def test_no_secret_is_in_a_link_in_storage_or_shown_before_it_is_asked_for(page):
    options = ("--shared", "--clock", NOW, "--webhooks-to", "127.0.0.0/8")
    with serving(*options) as server, receiving() as receiver:
        desk, token = signed_in(page, server), server.facts["token"]
        server.client.headers["authorization"] = f"Bearer {token}"
        made = desk.ask("POST", "endpoints", {"url": receiver.url})
        payment = desk.pay(1000)["transaction_id"]
        cast = desk.ask("GET", "")["keys"]
        secrets = {token, made["secret"], *(one["key"] for one in cast.values())}
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))

        for place in [*ROOMS, f"payments/{payment}", "access/merchant", "journal/req_1"]:
            desk.open(place)
            seen = page.evaluate(
                "() => document.documentElement.outerHTML + location.href + document.cookie"
                " + JSON.stringify({ ...localStorage, ...sessionStorage })"
            )
            assert [one[:12] for one in secrets if one in seen] == [], place
        assert [url for url in asked if any(one in url for one in secrets)] == []

        desk.open("webhooks")
        page.locator(".ep summary").first.click()
        page.get_by_role("button", name="Show the secret").click()
        expect(page.locator(".ep").first).to_contain_text(made["secret"])


def test_a_server_that_ends_is_shown_with_its_age_until_it_is_back(page):
    port = str(free_port())
    with serving("--clock", NOW, "--port", port) as server:
        Desk(page, server).open("overview")
    expect(page.get_by_text("The server has not answered since")).to_contain_text("s ago")
    expect(page.locator(".live")).to_have_text("not live")
    expect(page.locator(".stack.old main")).to_be_visible()

    with serving("--clock", NOW, "--port", port) as server:
        expect(page.locator(".live")).to_have_text("live", timeout=15_000)
        expect(page.get_by_text("The server has not answered")).to_have_count(0)
        Desk(page, server).pay(4321)
        expect(page.locator(".feed a.ln").first).to_contain_text("$43.21")


def test_a_lost_request_is_shown_until_the_server_answers_again(page, desk):
    desk = Desk(page, desk.server, desk.id)
    desk.open("overview")
    page.route("**/clock/advance", lambda route: route.abort(), times=1)
    page.get_by_role("button", name="+1 min").click()
    expect(page.get_by_text("The server has not answered since")).to_be_visible()

    expect(page.get_by_text("The server has not answered since")).to_have_count(0)


READ_LATE = {
    "scenarios": "Approve all",
    "clauses": "spec 1-scope",
    "api": "Take a payment",
    "terminal": "Mastercard",
    "journal/req_0000000001": "no longer has it",
}
"""Rooms that read something once, and a part of it."""


def test_a_room_that_was_opened_without_an_answer_is_read_once_the_server_is_back(page):
    port = str(free_port())
    tabs = {place: page.context.new_page() for place in READ_LATE}
    with serving("--clock", NOW, "--port", port) as server:
        for tab in tabs.values():
            Desk(tab, server).open("overview")
    for place, tab in tabs.items():
        expect(tab.get_by_text("The server has not answered since")).to_be_visible()
        tab.evaluate(f"location.hash = '#/default/{place}'")

    with serving("--clock", NOW, "--port", port):
        for place, tab in tabs.items():
            expect(tab.get_by_role("main")).to_contain_text(READ_LATE[place])


def test_tabs_opened_in_the_background_follow_the_world_once_they_are_shown(page, desk):
    page.context.add_init_script(
        """Object.defineProperty(document, "hidden",
          { configurable: true, get: () => !window.isShown });"""
    )
    tabs = [page.context.new_page() for _ in range(8)]
    for tab in tabs:
        tab.goto(f"{desk.control}/#/{desk.id}/journal")
        expect(tab.get_by_role("heading", level=1)).to_contain_text("Journal")

    expect(tab.locator("main")).to_contain_text("No requests yet")
    expect(tab.locator(".live")).to_have_text("not live")
    tab.get_by_role("searchbox").focus()
    tab.evaluate("window.isShown = true; document.dispatchEvent(new Event('visibilitychange'))")
    expect(tab.locator(".live")).to_have_text("live")
    expect(tab.get_by_role("searchbox")).to_be_focused()
    for tab in tabs:
        tab.close()
