"""The console's room of the API, in a browser: it reads, sends, and explains."""

from playwright.sync_api import Page, Route, expect

from tests.cli.proxying import PREFIX, proxying
from tests.driving import NOW, Served, serving


def _open(page: Page, server: Served, operation: str = "") -> None:
    page.goto(f"{server.facts['control_url']}/docs{operation and f'#{operation}'}")


def _send(page: Page) -> None:
    page.get_by_role("button", name="Send", exact=True).click()


def _panel(page: Page, title: str) -> Page:
    return page.locator("section.panel").filter(
        has=page.get_by_role("heading", name=title, exact=True)
    )


def test_a_payment_is_chosen_sent_and_explained(page, server):
    _open(page, server)
    page.get_by_role("link", name="Take a payment").click()
    expect(page.get_by_label("API key")).to_have_value("merchant")

    _send(page)

    answer = _panel(page, "Answer")
    expect(answer.first).to_contain_text("200")
    expect(answer.first).to_contain_text('"status": "captured"')
    expect(answer.first).to_contain_text("approved; source=default")
    expect(_panel(page, "Why")).to_contain_text("payments.create")
    expect(_panel(page, "Why")).to_contain_text("spec 5.1")


def test_a_form_is_filled_in_for_the_world_that_is_shown(page, desk):
    desk.world(seed=7)
    for operation, first in (("payments.create", ""), ("payments.capture", "payments.preauth")):
        desk.open(f"api/{operation}")
        if first:
            page.get_by_role("button", name=f"First: {first}").click()
            expect(page.get_by_label("id path")).not_to_have_value("")
        _send(page)

        expect(_panel(page, "Answer").first).to_contain_text('"status": "captured"')


def test_behind_a_proxy_its_requests_go_through_the_proxy(page, server):
    with proxying(server.url) as proxy:
        page.goto(f"{proxy.url}/_sandbox/docs#payments.capture")
        page.get_by_role("button", name="First: payments.preauth").click()
        expect(page.get_by_label("id path")).not_to_have_value("")
        _send(page)

        expect(_panel(page, "Answer")).to_contain_text('"transaction_type": "capture"')
        expect(_panel(page, "As a command")).to_contain_text(f"{PREFIX}/v3/payments/")
        assert f"{PREFIX}/_sandbox/worlds/default/send" in [one.path for one in proxy.requests]
        page.goto("about:blank")


def test_a_refusal_is_explained_and_a_key_outside_the_cast_works_too(page, server):
    body = {"name": "a key of its own", "permissions": ["accounts:read"]}
    made = server.ask("POST", "/v5/apikeys", key="merchant", json=body).json()
    _open(page, server, "accounts.list")
    for key, answered, why in (
        ("no key", "401", "no API key was sent"),
        (made["id"], "200", made["id"]),
    ):
        page.get_by_label("API key").select_option(key)
        _send(page)

        expect(_panel(page, "Answer")).to_contain_text(answered)
        expect(_panel(page, "Why")).to_contain_text(why)


def test_an_operation_has_an_address_of_its_own_and_says_what_it_needs(page, server):
    _open(page, server, "batches.open")

    expect(page.locator(".det h2").first).to_have_text("Open a batch of a terminal")
    expect(page.locator("dl.facts")).to_contain_text("batches:open")
    expect(_panel(page, "As a command")).to_contain_text("/v1/batches/open")
    expect(_panel(page, "As a command")).to_contain_text(server.key("merchant"))
    page.get_by_role("link", name="batch.opened", exact=True).click()
    expect(page.locator("main")).to_contain_text("webhook-signature")
    expect(page.locator("dl.facts")).to_contain_text("payments.create")


def test_operations_are_found_by_a_word_and_by_keyboard_alone(page, server):
    _open(page, server)
    page.get_by_label("Filter operations").fill("transaction.refund")
    expect(page.locator(".lh .qq")).to_have_text("5")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator(".det h2").first).to_have_text("Refund a payment")


def test_the_control_api_is_tried_there_as_well(page, server):
    server.control("POST", "/worlds/default/reset")
    _open(page, server)
    page.get_by_role("button", name="Control").click()
    page.get_by_role("link", name="Advance a world's clock").click()
    expect(page.get_by_label("w The id of a world.")).to_have_value("default")

    _send(page)

    expect(_panel(page, "Answer")).to_contain_text('"now": "2026-03-04T12:00:00.000Z"')


def test_a_surface_that_is_chosen_early_is_shown_once_the_documents_are_read(page, server):
    held: list[Route] = []
    page.route("**/platform/openapi.json*", lambda route: held.append(route))
    _open(page, server)
    page.get_by_role("button", name="Control").click()

    held[0].continue_()

    expect(page.locator(".det h2").first).to_contain_text("Control API")
    expect(page.get_by_role("link", name="Create a world")).to_be_visible()


def test_a_stream_is_followed_until_it_is_stopped(page, server):
    _open(page, server, "stream.read")
    _send(page)
    answer = _panel(page, "Answer")
    expect(answer).to_contain_text(": here")

    server.ask("GET", "/v5/apikeys", key="merchant")
    expect(answer).to_contain_text("apikeys.list")
    page.get_by_role("button", name="Stop").click()

    expect(page.get_by_role("alert")).to_contain_text("Stopped.")


def test_the_api_room_works_with_a_token_and_a_separate_port(page):
    options = ("--token", "a-token-of-the-test", "--control-port", "0")
    with serving("--clock", NOW, *options) as server:
        _open(page, server, "payments.create")
        page.get_by_label("Token").fill("a-token-of-the-test")
        page.get_by_role("button", name="Sign in").click()

        expect(page.get_by_label("API key")).to_have_value("merchant")
        _send(page)
        expect(_panel(page, "Why")).to_contain_text("payments.create")
        expect(_panel(page, "As a command")).to_contain_text(f"{server.url}/v3/payment")
        page.goto("about:blank")
