"""The curl commands that the console shows and copies: a shell takes them as they are."""

import shlex

from playwright.sync_api import Page, expect

from tests.cli.proxying import proxying
from tests.driving import NOW, serving
from tests.whole.console.watching import Desk

TOKEN = "a-token-of-the-test"


def shown(desk: Desk) -> list[str]:
    """The words of the command beside a request of the journal."""
    return shlex.split(desk.page.locator("pre").filter(has_text="curl -s").inner_text())


def copied(page: Page, button: str) -> list[str]:
    """The words of the command that this button copies."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_text("Copied a curl command").wait_for()
    return shlex.split(page.evaluate("navigator.clipboard.readText()"))


def test_a_command_has_all_of_the_request_but_its_key(page, desk):
    made = desk.send("POST", "/v5/apikeys", json={"name": "new", "permissions": ["payments:read"]})
    path = "/v2/terminals/a%20b%3Fc?search=d%20e%26f%23g"
    desk.server.ask("PUT", path, key=made.json()["key"], content="@a-file-of-the-reader")
    says = {"accept": "application/json, */*", "x-sandbox-outcome": "approved"}
    desk.send("HEAD", "/v1/transactions", headers=dict(says))
    desk.open("journal")
    rows = page.get_by_role("list", name="Requests, newest first").get_by_role("link")

    rows.nth(0).click()
    read = shown(desk)
    rows.nth(1).click()
    expect(page.locator("pre").filter(has_text="curl -s")).to_contain_text("a%20b")
    odd = shown(desk)

    chosen = [part for name, text in says.items() for part in ("-H", f"{name}: {text}")]
    assert read == ["curl", "-s", "-I", f"{desk.server.url}/v1/transactions", *odd[5:7], *chosen]
    assert odd[4:7] == [desk.server.url + path, "-H", "x-service-apikey: $API_KEY"]
    assert odd[-2:] == ["--data-raw", "@a-file-of-the-reader"]


def test_a_command_names_the_host_at_which_the_console_was_opened(page):
    options = ("--host", "0.0.0.0", "--control-port", "0", "--token", TOKEN, "--clock", NOW)
    with serving(*options) as server:
        page.goto(f"{server.facts['control_url']}/#token={TOKEN}")
        page.get_by_role("button", name="Tap a first payment").click()
        paid = page.get_by_role("link", name="Take a payment $10.00")
        place = paid.get_attribute("href")

        for label, at in (
            ("Copy", place),
            ("as curl", "#/default/terminal"),
            ("Copy a curl command", "#/default/api/payments.create"),
        ):
            page.goto(f"{server.facts['control_url']}/{at}")
            assert f"{server.url}/v3/payment" in copied(page, label), at
            page.goto("about:blank")


def test_a_command_has_the_prefix_of_a_proxy(page, server):
    with proxying(server.url) as proxy:
        page.goto(f"{proxy.url}/_sandbox/#/default/terminal")

        assert f"{proxy.url}/v3/payment" in copied(page, "as curl")
        page.goto("about:blank")
