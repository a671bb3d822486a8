"""Stories of people at the console, each told in the guide and done within its clicks."""

from playwright.sync_api import expect

from tests.whole.console.watching import Desk, faults


def find(desk: Desk, text: str) -> None:
    """Paste into Ctrl K."""
    desk.page.keyboard.press("Control+k")
    desk.page.get_by_role("searchbox", name="Find").fill(text)
    desk.page.keyboard.press("Enter")


def test_a_partially_accepted_batch_is_shown_to_the_product_owner(page, desk):
    desk.open("overview")
    desk.keys("gl")
    desk.click("button", "Load a busy month")
    expect(page.locator(".bar")).to_contain_text("A busy month")
    world = page.url.split("#/")[1].split("/")[0]
    ours = {"url": "http://127.0.0.1:9/hook", "description": "our system"}
    desk.ask("POST", f"/worlds/{world}/endpoints", ours)

    desk.keys("gs")
    desk.click("link", "Batch partially accepted")
    desk.click("button", "Run")
    desk.keys("gb")
    desk.click("link", "Live Oak Grill", within=".list")
    desk.click("button", "Close it")
    detail = page.get_by_role("region", name="Batch")
    expect(detail.locator(".st").first).to_have_text("submitted")
    desk.keys("t")
    desk.click("button", "the processor answers: partially accepted", within=".pane")
    desk.click("button", "Advance", exact=True)

    expect(detail.locator(".st").first).to_have_text("partially_accepted")
    refused = detail.locator("tr.bad")
    expect(refused).to_contain_text("in no batch")
    refused.get_by_role("link").click()
    desk.clicks += 1
    expect(page.get_by_role("region", name="Payment").locator(".st").first).to_have_text("captured")
    page.keyboard.press("Escape")
    desk.keys("gw")
    desk.click("link", "batch.partially_accepted")
    expect(page.get_by_role("region", name="Message")).to_contain_text("our system")
    assert desk.clicks <= 9


def test_a_developer_finds_out_why_ci_got_a_404_and_takes_it_along(page, desk):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    made = desk.world(fixture="busy", clock="2026-03-01T06:00:00Z")
    (stay,) = desk.ask("GET", "payments?account=hotel&status=authorized&limit=1")["payments"]
    capture = f"/v3/payments/{stay['id']}/capture"
    answer = desk.send("POST", capture, key="taqueria", json={})
    assert answer.status_code == 404

    desk.open("overview")
    find(desk, f"x-sandbox-request-id: {answer.headers['x-sandbox-request-id']}")
    expect(page.get_by_role("region", name="Request")).to_contain_text("hierarchy")
    desk.click("link", "Open in the lens")
    key = page.get_by_role("region", name="Key")
    expect(key).to_contain_text("It would be refused")
    expect(key.get_by_role("textbox", name="On")).to_have_value(stay["id"])
    expect(key.locator("tr.on")).to_have_count(1)
    assert faults(page) == []
    desk.click("link", "hotel", exact=True, within=".det")
    expect(key).to_contain_text("It would be carried out.")
    desk.click("button", "Copy as Markdown")

    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f"/v3/payments/{stay['id']}/capture** answered **404**" in copied
    assert "with the key `hotel` would get **200**" in copied
    assert made["keys"]["taqueria"]["key"] not in copied
    assert desk.clicks <= 4


def test_an_uncaptured_hold_and_legacy_keys_expire(page, desk):
    desk.open("terminal")
    desk.click("button", "Hold", exact=True)
    page.get_by_role("textbox", name="Amount").fill("444.06")
    desk.keys("1")
    expect(page.locator(".phone")).to_contain_text("Approved")

    desk.keys("t")
    clock = page.get_by_role("complementary", name="Time")
    desk.click("button", "Mark this moment")
    desk.click("button", "Hold of $444.06")
    expect(clock).to_contain_text("Then it is canceled / timed_out.")
    desk.click("button", "Advance", exact=True)
    expect(clock.get_by_role("status")).to_contain_text("1 hold expires.")
    desk.click("link", "Story of", within=".happened")
    payment = page.get_by_role("region", name="Payment")
    expect(payment.locator(".st").first).to_have_text("canceled")
    expect(payment.locator(".story")).to_contain_text("transaction.cancel")
    desk.click("button", "To the next")
    expect(page.locator(".bar")).to_contain_text("Fri 31 Jul 2026")
    find(desk, "legacy")
    expect(page.get_by_role("region", name="Key")).to_contain_text("401")
    expect(page.get_by_role("region", name="Key").locator(".oops").first).to_contain_text("expired")

    desk.click("button", "Return to mark")
    desk.click("button", "Return", exact=True)

    expect(page.locator(".bar")).to_contain_text("Sun 1 Mar 2026")
    expect(page.locator(".happened")).to_have_count(0)
    (one,) = desk.ask("GET", "payments")["payments"]
    assert one["status"] == "authorized"
    assert desk.clicks <= 8


def test_an_answer_that_never_came_up_is_shown_in_a_fork(page, own_desk):
    own_desk.pay(1000)
    own_desk.open("overview")

    own_desk.click("link", "Coverage", within="nav")
    own_desk.click("button", "All worlds")
    own_desk.click("button", "Show me terminal.blocked")

    expect(page.get_by_role("region", name="Request")).to_contain_text("/block")
    expect(page.locator(".bar")).to_contain_text("Shows terminal.blocked")
    assert "#/shop/" not in page.url
    assert len(own_desk.ask("GET", "requests")["requests"]) == 1
    assert own_desk.clicks <= 3
    assert faults(page) == []
