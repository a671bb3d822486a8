"""Acting in the console, in a real browser: webhooks, payments, scenarios, the terminal."""

import pytest
from playwright.sync_api import expect

from tests.webhooks.receiving import receiving
from tests.whole.console.consoles import SCENARIO, retype
from tests.whole.console.watching import faults

# --- webhooks ---------------------------------------------------------------------------------


def test_a_mistake_in_a_fault_is_reported_and_injects_nothing(page, desk):
    desk.open("webhooks")
    page.get_by_role("button", name="Inject a fault").click()
    form = page.get_by_role("form", name="Inject a fault")
    form.get_by_label("Delay in ms").fill("soon")
    form.get_by_role("button", name="Inject it").click()

    expect(form.get_by_role("alert")).to_contain_text("delay_ms")
    assert desk.ask("GET", "webhooks/next")["total"] == 0


def test_enter_adds_an_endpoint_or_a_receiver(page, desk):
    desk.open("webhooks")
    for field, text in (("Address", "http://127.0.0.1:9/hooks"), ("Its answers", "200")):
        page.get_by_role("button", name="Endpoint", exact=True).click()
        page.get_by_role("textbox", name=field).fill(text)
        page.keyboard.press("Enter")
        expect(page.get_by_role("textbox", name=field)).to_have_count(0)

    urls = [one["url"] for one in desk.ask("GET", "endpoints")["endpoints"]]
    assert urls[0] == "http://127.0.0.1:9/hooks"
    assert urls[1].startswith("http://receiver.invalid/")


def test_an_endpoint_is_recovered_rotated_and_says_when_failures_disable_it(page, desk):
    desk.pay(1200)
    with receiving(500) as receiver:
        made = desk.ask("POST", "endpoints", {"url": receiver.url})
        desk.open("webhooks")
        endpoint = page.locator(".ep")
        endpoint.get_by_text("More").click()
        endpoint.get_by_role("button", name="Recover").click()

        expect(page.get_by_role("status").filter(has_text="3 messages are sent")).to_be_visible()
        receiver.wait_for(3)
        expect(endpoint).to_contain_text("failure from Fri 6 Mar 2026 on, in 5 d")
        endpoint.get_by_role("button", name="Rotate").click()
        expect(endpoint.locator("dd")).to_have_count(2)
        assert made["secret"] not in endpoint.inner_text()
        endpoint.get_by_role("button", name="Show the secrets").click()
        expect(endpoint).to_contain_text(made["secret"])
        now = desk.ask("GET", f"endpoints/{made['id']}")
        expect(endpoint).to_contain_text(now["secret"])
        assert faults(page) == []


# --- payments ---------------------------------------------------------------------------------


def test_a_refund_that_timed_out_is_answered_late(page, desk):
    id = desk.pay(5000)["transaction_id"]
    desk.ask("POST", "scenario/next", {"outcome": "timed_out", "operation": "refund"})
    desk.send("POST", f"/v3/payments/{id}/refund", json={"amount": 2000})
    desk.open(f"payments/{id}")
    payment = page.get_by_role("region", name="Payment")
    expect(payment).to_contain_text("refund of $20.00")
    assert faults(page) == []

    payment.get_by_role("button", name="Approve it late").click()

    expect(payment.get_by_role("button", name="Approve it late")).to_have_count(0)
    expect(payment).to_contain_text("refund: captured (approved)")
    assert desk.ask("GET", f"payments/{id}")["ledger"]["refunded"] == 2000


def test_a_long_list_has_few_rows_in_the_page_and_reads_what_is_looked_at(page, desk):
    desk.world(fixture="busy")
    total = desk.ask("GET", "payments?limit=1")["total"]
    assert total > 400
    oldest = desk.ask("GET", "payments?order=oldest&limit=1&shape=row")
    desk.open("payments")
    rows = page.get_by_role("list", name="Payments").locator("a.row")
    expect(rows.first).to_be_visible()
    assert 10 < rows.count() < 60

    page.get_by_role("list", name="Payments").evaluate(
        "(list) => list.parentElement.scrollTo(0, 1e9)"
    )

    last = page.locator(f"a.row[href*='{oldest['payments'][0]['id']}']")
    expect(last).to_be_visible()
    assert 10 < rows.count() < 60
    place = last.bounding_box()
    desk.pay(1000)
    expect(page.get_by_text(f"{total + 1}", exact=True)).to_be_visible()
    assert last.bounding_box() == place
    assert faults(page) == []


def test_a_refusal_is_found_behind_the_newest_requests(page, desk):
    missing = desk.send("GET", "/v3/nothing").headers["x-sandbox-request-id"]
    for _ in range(101):
        desk.pay(1000)
    desk.open("journal?q=status:404")
    found = page.get_by_role("list", name="Requests, newest first").get_by_role("link")
    expect(found).to_have_count(1)
    assert missing in found.get_attribute("href")


@pytest.mark.parametrize(("room", "label"), [("journal", "requests"), ("webhooks", "messages")])
def test_older_lines_than_the_newest_hundred_are_shown_and_found(page, desk, room, label):
    first = desk.pay(1000)["transaction_id"]
    for _ in range(104):
        desk.pay(1000)
    total = desk.ask("GET", f"{label}?limit=1")["total"]
    desk.open(room)
    lines = page.get_by_role("list", name=f"{label}, newest first").get_by_role("link")
    expect(lines).to_have_count(100)
    expect(page.get_by_text("the last 100")).to_be_visible()

    page.get_by_role("button", name="Show older").click()

    expect(lines).to_have_count(total)
    expect(page.get_by_role("button", name="Show older")).to_have_count(0)
    page.get_by_role("searchbox", name=f"Filter {label}").fill(first)
    expect(lines).to_have_count({"journal": 1, "webhooks": 2}[room])
    assert faults(page) == []


def test_a_long_batch_shows_its_first_records_and_those_that_were_refused(page, desk):
    paid = [desk.pay(1000 + number)["transaction_id"] for number in range(104)]
    desk.ask("PUT", "switches", {"batch.settlement": "manual"})
    (batch,) = desk.ask("GET", "batches")["batches"]
    desk.send("POST", f"/v1/batches/{batch['id']}/close", json={})
    answer = {"answer": "partially_accepted", "rejected": [paid[102]]}
    desk.ask("POST", f"batches/{batch['id']}/answer", answer)
    desk.open(f"batches/{batch['id']}")
    records = page.get_by_role("row").filter(has_text="capture of")
    expect(records).to_have_count(101)
    expect(records.last).to_contain_text("refused")

    page.get_by_role("button", name="Show all 104").click()

    expect(records).to_have_count(104)


def test_marked_payments_are_saved_as_a_file_with_what_was_sent(page, desk):
    ids = [desk.pay(amount)["transaction_id"] for amount in (1000, 2000, 3000)]
    desk.open("payments")
    rows = page.get_by_role("list", name="Payments").locator("a.row")
    rows.first.focus()
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    marked = page.get_by_role("group", name="Marked payments")
    expect(marked).to_contain_text("2 marked")
    marked.get_by_label("Save as").select_option("markdown")

    with page.expect_download() as download:
        marked.get_by_role("button", name="Save", exact=True).click()

    text = download.value.path().read_text("utf-8")
    assert download.value.suggested_filename == "requests.md"
    assert [one in text for one in ids] == [False, True, True]
    assert faults(page) == []


def test_a_payment_shows_its_receipt_and_copies_its_curl(page, desk):
    id = desk.pay(1234)["transaction_id"]
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.open(f"payments/{id}")

    page.get_by_role("button", name="Receipt").click()
    page.get_by_role("button", name="Copy as curl").click()

    expect(page.locator(".slip")).to_contain_text("TOTAL12.34")
    expect(page.get_by_role("status").filter(has_text="Copied the curl")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "/v3/payment" in copied
    assert "svc_" not in copied
    assert faults(page) == []
    page.emulate_media(media="print")
    expect(page.locator(".slip")).to_be_visible()
    assert not any(page.locator(other).is_visible() for other in ("nav", ".bar", ".list"))


# --- scenarios --------------------------------------------------------------------------------


def test_a_scenario_is_edited_with_its_mistakes_under_their_lines(page, desk):
    desk.ask("PUT", "scenario", {"name": "approve_all"})
    runs = desk.ask("GET", "scenario")["name"]
    desk.open("scenarios")
    page.get_by_role("button", name="New").click()
    expect(page.get_by_role("heading", name="New scenario")).to_be_visible()
    retype(page, SCENARIO.replace("outcome", "outcme"))

    mistake = page.locator(".mistake")
    expect(mistake).to_contain_text("did you mean 'outcome'?")
    assert mistake.evaluate("(one) => one.previousElementSibling.textContent").startswith("then")
    run = page.get_by_role("button", name="Run this file")
    expect(run).to_be_disabled()
    expect(page.get_by_text(f"1 mistake; {runs} keeps running until it is fixed")).to_be_visible()
    assert faults(page) == []
    page.reload()
    expect(page.locator(".mistake")).to_be_visible()

    color = "(one) => getComputedStyle(one).backgroundColor"
    disabled = run.evaluate(color)
    retype(page, SCENARIO)
    expect(run).to_be_enabled()
    assert run.evaluate(color) != disabled
    run.click()

    running = page.locator(".panel").filter(has_text="Mine runs")
    expect(running).to_contain_text('when = { operation = ["sale"] }')
    assert desk.pay(1000)["status"] == "declined"
    page.get_by_role("button", name="Stop").click()
    expect(running).to_have_count(0)


def test_a_draft_with_a_secret_is_not_kept(page, desk):
    desk.open("scenarios?edit=new")
    retype(page, 'name = "Mine"\n')
    expect(page.get_by_role("status").filter(has_text="No mistake")).to_be_visible()
    assert "Mine" in page.evaluate("JSON.stringify(localStorage)")

    page.keyboard.type('[[endpoint]]\nname = "e"\nurl = "http://127.0.0.1:9/"\nsecret = "whsec_x"')

    expect(page.locator(".mistake").filter(has_text="secret")).to_be_visible()
    assert "Mine" not in page.evaluate("JSON.stringify(localStorage)")


# --- terminal ---------------------------------------------------------------------------------


def test_enter_starts_a_payment_on_the_phone_and_changes_nothing_else(page, desk):
    desk.ask("PUT", "scenario", {"name": "slow_tap"})
    desk.open("terminal")
    page.get_by_role("button", name="Hold", exact=True).click()
    page.get_by_role("textbox", name="Amount").fill("12.00")

    page.keyboard.press("Enter")

    receipt = page.locator(".rcs li").first
    expect(receipt).to_contain_text("authorized")
    expect(receipt).to_contain_text("TOTAL12.00")
    expect(page.get_by_role("button", name="Hold", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
