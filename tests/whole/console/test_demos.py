"""Stories that need no system beside the sandbox: what a customer sees, and a first payment."""

from playwright.sync_api import expect

from tests.control.exports import GIVES_UP
from tests.whole.console.watching import faults


def test_a_customer_with_only_fifty_dollars_on_the_card(page, desk):
    desk.world(fixture="busy")
    desk.ask("DELETE", "requests")
    desk.open("terminal")
    phone, amount = page.locator(".phone"), page.get_by_role("textbox", name="Amount")
    page.get_by_role("combobox", name="Terminal").select_option("taqueria")
    desk.clicks += 1
    expect(page.get_by_role("combobox", name="Sent with key")).to_have_value("taqueria")

    amount.fill("80.00")
    desk.click("button", "only $50.00 on it")
    expect(phone).to_contain_text("Approved")
    expect(phone).to_contain_text("$50.00")
    expect(phone).to_contain_text("$30.00 is still to be paid")
    expect(page.locator(".rt").first).to_contain_text("50.00")
    amount.fill("30.00")
    page.get_by_role("combobox", name="Or any outcome").select_option("insufficient_funds")
    desk.clicks += 1
    desk.click("button", "Force this outcome")
    expect(phone).to_contain_text("Declined")
    expect(page.locator(".rt").first).to_contain_text("INSUFFICIENT FUNDS")
    expect(page.locator(".rt").nth(1)).to_contain_text("50.00")
    desk.keys("p")

    expect(page.locator(".present")).to_contain_text("$30.00 was not paid")
    expect(page.get_by_role("textbox")).to_have_count(0)
    expect(page.get_by_role("combobox")).to_have_count(0)
    expect(page.get_by_role("navigation").or_(page.get_by_role("banner"))).to_have_count(0)
    assert desk.clicks <= 6
    assert faults(page) == []


def test_a_late_webhook_that_contradicts_the_answer_becomes_a_test(page, desk):
    desk.ask("POST", "receivers", {})
    desk.open("webhooks")

    desk.click("button", "Inject a fault")
    form = page.get_by_role("form", name="Inject a fault")
    form.get_by_label("Of event").select_option("transaction.refund")
    form.get_by_label("Delay in ms").fill("100")
    form.get_by_label("with the value").fill("declined")
    expect(form).to_contain_text("100 ms late, contradicted: status = declined")
    desk.click("button", "Inject it")
    expect(form.locator(".waits")).to_contain_text("transaction.refund")
    desk.keys("gt")
    expect(page.get_by_role("button", name="1 Visa")).to_be_visible()
    desk.keys("1")
    expect(page.locator(".phone")).to_contain_text("Approved")
    desk.keys("gp")
    desk.click("link", "captured", within="main")
    desk.click("button", "Refund…")
    page.get_by_role("textbox", name="Amount: Refund").fill("12.00")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Payment")).to_contain_text("$12.00")
    desk.keys("gw")
    messages = page.get_by_role("list", name="Messages, newest first").get_by_role("link")
    expect(messages.filter(has_text="transaction.refund")).to_have_count(2)
    desk.click("link", "transaction.refund")
    table = page.get_by_role("region", name="Message").locator(".contra table")
    expect(table).to_contain_text("declined")
    cells = [cell.split()[0] for cell in table.get_by_role("cell").all_inner_texts()]
    assert cells == ["status", "captured", "captured", "declined", "captured"]
    table.get_by_role("link", name="record now").click()
    desk.clicks += 1
    page.get_by_role("combobox", name="Save as").select_option("a test for pytest")
    with page.expect_download() as saved:
        desk.click("button", "Save", exact=True)

    # test_exporting_pytest.py runs such tests.
    assert "'contradict': {'status': 'declined'}" in saved.value.path().read_text("utf-8")
    assert desk.clicks <= 8
    assert faults(page) == []


def test_a_maintenance_during_a_batch_close_becomes_a_test(page, desk):
    desk.pay(4800)
    desk.open("time")

    desk.click("button", "Maintenance for 10 minutes")
    expect(page.get_by_text("Under maintenance until")).to_be_visible()
    desk.keys("gb")
    desk.click("link", "open", within="main")
    desk.click("button", "Close it")
    expect(page.get_by_role("region", name="Batch")).to_contain_text("The platform answered 503")
    desk.keys("t")
    for minute in ("12:05:00", "12:10:00"):
        desk.click("button", "+5 min")
        expect(page.get_by_role("complementary", name="Time")).to_contain_text(minute)
    desk.click("button", "Close it")
    expect(page.get_by_role("region", name="Batch")).to_contain_text("accepted")
    page.get_by_role("combobox", name="Save as").select_option("a test for pytest")
    with page.expect_download() as saved:
        desk.click("button", "Save", exact=True)

    assert GIVES_UP in saved.value.path().read_text("utf-8")
    assert desk.clicks <= 8
    assert faults(page) == []


def test_a_newcomer_takes_a_payment_and_gets_its_curl_command(page, desk):
    world = desk.world()
    desk.open("overview")

    desk.click("button", "Tap a first payment")
    expect(page.locator(".feed ol")).to_contain_text("captured")
    desk.click("link", "Take a payment $10.00", within=".feed")

    request = page.get_by_role("region", name="Request")
    expect(request.locator(".st").first).to_have_text("captured")
    for event in ("transaction.create", "batch.opened", "transaction.sale"):
        expect(request.get_by_role("link", name=event)).to_be_visible()
    command = request.locator("pre").filter(has_text="curl -s").inner_text()
    assert command.startswith("curl -s -X POST ")
    assert "/v3/payment" in command
    # The key is for the shell to fill in: what is shown may be pasted anywhere.
    assert '-H "x-service-apikey: $API_KEY"' in command
    assert world["keys"]["merchant"]["key"] not in page.content()
    assert desk.clicks <= 2
    assert faults(page) == []


def test_amounts_are_typed_and_shown_in_the_currency_of_the_terminal(page, desk):
    location = desk.world()["locations"]["merchant"]
    assert desk.send("PUT", f"/v1/locations/{location}", json={"currency": "JPY"}).is_success
    desk.open("terminal")
    amount = page.get_by_role("textbox", name="Amount")
    expect(page.locator(".form")).to_contain_text("¥")
    expect(amount).to_have_value("5600")

    amount.fill("56.00")
    expect(page.locator(".form")).to_contain_text("no amount")
    amount.fill("5600")
    desk.keys("1")

    expect(page.locator(".phone")).to_contain_text("¥5,600")
    (one,) = desk.ask("GET", "payments")["payments"]
    assert (one["total"], one["currency"]) == (5600, "JPY")
    desk.open(f"payments/{one['id']}")
    desk.click("button", "Refund")
    expect(page.get_by_role("textbox", name="Amount: Refund")).to_have_value("5600")
