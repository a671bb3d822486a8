"""The receiver inside the server, used at the console."""

from playwright.sync_api import expect

from tests.whole.console.watching import faults


def test_a_message_without_an_endpoint_is_not_called_sent(page, desk):
    desk.open("webhooks")
    said = page.locator("p.said")
    for takes, sample, again in (
        ("nothing", "No endpoint takes it: nothing was sent", "No endpoint takes it"),
        ("all", "A sample was sent", "Sent again"),
    ):
        if takes == "all":
            page.get_by_role("button", name="Use the built-in receiver").click()
        page.get_by_role("button", name="Send a sample").click()
        expect(said).to_have_text(sample)
        page.get_by_role("list", name="Messages").get_by_role("link").first.click()
        page.get_by_role("button", name="Send again").click()
        expect(said).to_contain_text(again)


def test_retries_are_seen_with_the_built_in_receiver(page, desk):
    desk.open("webhooks")

    desk.click("button", "Use the built-in receiver")
    expect(page.locator(".eplist")).to_contain_text("Built-in receiver")
    desk.pay(1000)
    desk.click("link", "transaction.sale")
    message = page.get_by_role("region", name="Message")
    expect(message).to_contain_text("500")
    for _ in range(2):
        desk.click("button", "To the next try")
    expect(message.locator(".code2").first).to_have_text("200")

    desk.click("link", "What it received")
    got = page.get_by_role("region", name="Message").get_by_role("table")
    sale = got.get_by_role("row").filter(has_text="transaction.sale")
    expect(sale).to_have_count(3)
    for place, answered in enumerate(("200", "500", "500")):
        expect(sale.nth(place)).to_contain_text("genuine")
        expect(sale.nth(place)).to_contain_text(answered)
    assert desk.clicks == 5
    assert faults(page) == []


def test_a_receiver_answers_what_was_typed(page, desk):
    desk.open("webhooks")
    desk.click("button", "Endpoint", exact=True)
    answers = page.get_by_role("textbox", name="Its answers to each message, in turn")

    answers.fill("503, soon")
    expect(
        page.locator(".eplist").get_by_role("button", name="Use the built-in").first
    ).to_be_disabled()
    answers.fill("503 204")
    desk.click("button", "Use the built-in receiver", within=".eplist .line")

    expect(page.locator(".eplist")).to_contain_text("Built-in receiver")
    (one,) = desk.ask("GET", "receivers")["receivers"]
    assert one["answers"] == [503, 204]
