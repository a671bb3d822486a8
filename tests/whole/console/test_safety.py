"""The console with strangers about: guesses, neighbours, secrets, a server that goes."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.conftest import NOW
from tests.driving import Served, serving
from tests.webhooks.receiving import receiving
from tests.whole.console.consoles import ROOMS, go, pay, ready
from tests.whole.installing import free_port


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser without cookies and storage."""
    opened = browser.new_context(viewport={"width": 1440, "height": 900})
    yield opened
    opened.close()


def sign_in(page: Page, server: Served) -> None:
    page.goto(f"{server.facts['control_url']}/#token={server.facts['token']}/default/coverage")
    ready(page, "coverage")


def test_two_servers_of_one_host_are_signed_in_to_apart(context):
    with serving("--shared") as one, serving("--shared") as other:
        page = context.new_page()
        sign_in(page, one)
        go(page, other, "journal")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Sign in")
        token = page.get_by_label("Token")
        token.fill("a-guess-of-some-length")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("not the token")
        expect(token).to_have_value("")
        token.fill(other.facts["token"])
        page.get_by_role("button", name="Sign in").click()
        ready(page, "journal")

        for server in (one, other):
            go(page, server, "journal")
            ready(page, "journal")
        assert len({cookie["name"] for cookie in context.cookies()}) == 2
        assert {cookie["httpOnly"] for cookie in context.cookies()} == {True}


def test_no_secret_is_in_a_link_in_storage_or_shown_before_it_is_asked_for(context):
    options = ("--shared", "--clock", NOW, "--webhooks-to", "127.0.0.0/8")
    with serving(*options) as server, receiving() as receiver:
        control, token = server.facts["control_url"], server.facts["token"]
        bearer = {"authorization": f"Bearer {token}"}
        world = f"{control}/worlds/default"
        made = server.client.post(
            f"{world}/endpoints", json={"url": receiver.url}, headers=bearer
        ).json()
        payment = pay(server, 1000)
        cast = server.client.get(world, headers=bearer).json()["keys"]
        secrets = {token, made["secret"], *(one["key"] for one in cast.values())}
        page = context.new_page()
        sign_in(page, server)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))

        for place in [*ROOMS, f"payments/{payment}", "access/merchant", "journal/req_1"]:
            go(page, server, place)
            ready(page, place.partition("/")[0])
            seen = page.evaluate(
                "() => document.documentElement.outerHTML + location.href + document.cookie"
                " + JSON.stringify({ ...localStorage, ...sessionStorage })"
            )
            assert [one[:12] for one in secrets if one in seen] == [], place
        assert [url for url in asked if any(one in url for one in secrets)] == []

        go(page, server, "webhooks")
        page.locator(".ep summary").first.click()
        page.get_by_role("button", name="Show the secret").click()
        expect(page.locator(".ep").first).to_contain_text(made["secret"])


def test_a_server_that_ends_is_told_with_its_age_and_comes_back_by_itself(context):
    port = str(free_port())
    page = context.new_page()
    with serving("--clock", NOW, "--port", port) as server:
        go(page, server, "overview")
        ready(page, "overview")
    expect(page.get_by_text("The server has not answered since")).to_contain_text("s ago")
    expect(page.locator(".live")).to_have_text("not live")
    expect(page.locator(".stack.old main")).to_be_visible()

    with serving("--clock", NOW, "--port", port) as server:
        expect(page.locator(".live")).to_have_text("live", timeout=15_000)
        expect(page.get_by_text("The server has not answered")).to_have_count(0)
        pay(server, 4321)
        expect(page.locator(".feed a.ln").first).to_contain_text("$43.21")
