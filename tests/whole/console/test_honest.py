"""The console does what its buttons say, and shows what happened and nothing else."""

import re

from playwright.sync_api import expect

from tests.whole.console.consoles import SCENARIO, retype
from tests.whole.console.watching import faults

# --- amounts ----------------------------------------------------------------------------------


def surcharged(desk):
    """A payment of $79.42 and a fee that waits for its cardholder's answer."""
    paid = desk.pay(7942, at="surcharge_merchant", key="partner")
    assert paid["status"] == "surcharge_pending"
    return paid


def record(desk, id):
    return desk.ask("GET", f"payments/{id}")["payment"]


def test_a_confirmed_surcharge_is_charged_as_proposed(page, desk):
    paid = surcharged(desk)
    desk.open(f"payments/{paid['transaction_id']}?as=partner")
    page.get_by_role("button", name="Accept the surcharge").click()
    amount = page.get_by_role("textbox", name="Amount: Accept the surcharge")
    expect(amount).to_have_value(f"{paid['total_amount'] / 100:.2f}")
    expect(amount).to_be_focused()

    page.keyboard.press("Enter")

    expect(page.locator(".hd .st")).to_have_text("captured")
    now = record(desk, paid["transaction_id"])
    assert now["total_amount"] == paid["total_amount"]
    assert now["additional_details"]["captured_amount"] == paid["total_amount"]


def test_a_surcharge_is_declined_and_the_diagram_has_what_can_come(page, desk):
    paid = surcharged(desk)
    desk.open(f"payments/{paid['transaction_id']}?as=partner")
    diagram = page.get_by_role("img", name="The payment is surcharge_pending.")
    expect(diagram).to_have_attribute("aria-label", re.compile(r"become captured, canceled\.$"))

    page.get_by_role("button", name="Decline the surcharge").click()

    expect(page.locator(".hd .st")).to_have_text("canceled")


def test_the_phone_has_the_fee_that_waits_and_what_became_of_the_payment(page, desk):
    paid = surcharged(desk)
    desk.open("terminal")
    expect(page.locator(".phone")).to_contain_text("$81.80")
    desk.keys("p")
    sentence = page.locator(".plain")
    expect(sentence).to_have_text("$81.80, with a fee of $2.38, waits for the cardholder's answer.")

    for action, body, says in (
        ("confirm", {"confirm": True, "amount": 8180}, "$81.80 was approved."),
        ("refund", {"amount": 8180}, "$81.80 was approved, and is refunded by now."),
    ):
        path = f"/v3/payments/{paid['transaction_id']}/{action}"
        assert desk.send("POST", path, key="partner", json=body).is_success
        expect(sentence).to_have_text(says)


def test_an_action_begins_with_the_amount_due_now_and_takes_the_keys(page, desk):
    desk.open(f"payments/{desk.pay(5600, hold=True)['transaction_id']}")
    can = page.locator("ul.mv").get_by_role("listitem")
    expect(can.filter(has_text="Capture")).to_contain_text("up to $56.00")
    expect(can.filter(has_text="Increment")).not_to_contain_text("up to")
    for action, default, amount in (
        ("Increment", "", "4.00"),
        ("Capture", "60.00", "60.00"),
        ("Refund", "60.00", "12.00"),
        ("Refund", "48.00", "48.00"),
    ):
        page.get_by_role("button", name=f"{action}…").click()
        field = page.get_by_role("textbox", name=f"Amount: {action}")
        expect(field).to_be_focused()
        expect(field).to_have_value(default)
        if not default:
            expect(page.get_by_role("button", name=action, exact=True)).to_be_disabled()
            page.keyboard.press("Enter")
        page.keyboard.type(amount)
        page.keyboard.press("Enter")
        expect(field).to_have_count(0)
        if action == "Increment":
            expect(page.get_by_role("button", name="Increment…")).to_be_focused()

    expect(page.locator(".hd .st")).to_have_text("refunded")
    assert faults(page) == []


def test_a_payment_shows_its_own_amounts_after_another_one(page, desk):
    first, second = (desk.pay(amount)["transaction_id"] for amount in (1000, 2500))
    desk.open(f"payments/{first}?q=amount<10.01")
    refund = page.get_by_role("button", name="Refund…")
    expect(refund).to_be_visible()
    page.get_by_role("searchbox").fill("amount>10")
    rows = page.get_by_role("list", name="Payments").locator("a.row")
    expect(rows).to_contain_text(["$25.00"])

    rows.click()

    expect(page.locator(".hd h2")).to_contain_text("$25.00")
    refund.click()
    expect(page.get_by_role("textbox", name="Amount: Refund")).to_have_value("25.00")
    assert second in page.url


def test_a_link_with_a_key_that_is_gone_shows_the_payment(page, desk):
    desk.open(f"payments/{desk.pay(1000)['transaction_id']}?as=gone")

    expect(page.locator(".hd h2")).to_contain_text("$10.00")
    expect(page.get_by_role("alert")).to_contain_text("no key with the id or cast name 'gone'")
    page.get_by_role("combobox", name="as", exact=True).select_option("merchant")
    expect(page.get_by_role("button", name="Refund…")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_tip_is_paid_or_refused(page, desk):
    desk.open("terminal")
    for tip, says in (("3.00", "$59.00"), ("3,0,0", "Not accepted")):
        page.get_by_role("textbox", name="Tip").fill(tip)
        page.get_by_role("button", name="1 Visa").click()
        expect(page.locator(".phone")).to_contain_text(says)
    (payment,) = desk.ask("GET", "payments")["payments"]
    assert record(desk, payment["id"])["tip_amount"] == 300


def test_a_comma_stands_before_thousands_or_before_the_decimals(page, desk):
    desk.open("terminal")
    for typed, minor in (
        ("12,50", "1250"),
        ("12,5", "1250"),
        ("1,250", "125000"),
        ("1,250.50", "125050"),
        ("12,3456", "no amount"),
        ("1,2,3", "no amount"),
        ("1.250,00", "no amount"),
        ("12,50.00", "no amount"),
    ):
        page.get_by_role("textbox", name="Amount").fill(typed)
        expect(page.locator(".form .amt code").first).to_have_text(minor)


# --- time -------------------------------------------------------------------------------------


def test_the_next_event_is_not_in_another_century(page, desk):
    desk.world(clock={"now": "2026-11-25T12:00:00Z", "mode": "frozen"})
    assert desk.ask("GET", "agenda")["total"] > 0
    desk.open("overview")
    due = page.locator(".panel").filter(has_text="Coming up")
    expect(due).to_contain_text("Nothing falls due within a year.")
    expect(due.get_by_role("button", name="To the next")).to_be_disabled()
    navigation = page.get_by_role("navigation").get_by_role("link", name="Time")
    expect(navigation).to_have_text("Time")
    desk.open("time")
    expect(page.get_by_role("button", name="To the next")).to_be_disabled()

    desk.pay(5600, hold=True)

    expect(page.get_by_role("button", name="To the next")).to_be_enabled()
    desk.open("overview")
    expect(due.locator(".due li")).to_have_count(1)
    expect(due).to_contain_text("Hold of $56.00")


# --- the terminal -----------------------------------------------------------------------------


def test_a_refusal_replaces_the_earlier_payment(page, desk):
    desk.open("terminal")
    phone, announced = page.locator(".phone"), page.locator("[role=status]")
    page.get_by_role("button", name="1 Visa").click()
    expect(phone).to_contain_text("Approved")
    expect(announced.filter(has_text="Approved: $56.00")).to_be_visible()

    page.get_by_role("combobox", name="Sent with key").select_option("other_merchant")
    note = page.get_by_role("note")
    expect(note).to_contain_text(re.compile("Terminal merchant: .* can: psp, partner, merchant"))
    page.get_by_role("button", name="1 Visa").click()

    expect(phone).to_contain_text("Not accepted")
    expect(phone).not_to_contain_text("Approved")
    expect(phone).not_to_contain_text("$56.00")
    expect(page.get_by_role("alert")).to_contain_text("The platform answered 404")
    expect(announced.filter(has_text="The platform answered 404")).to_be_visible()
    expect(announced.filter(has_text="Approved")).to_have_count(0)
    desk.keys("p")
    expect(page.locator(".plain")).to_contain_text("was not accepted")
    assert faults(page) == []


def test_a_decline_counts_as_one_whatever_its_http_status(page, desk):
    desk.ask("PUT", "readings", {"decline_status": "http_402"})
    desk.open("terminal")
    page.get_by_role("button", name="lost").click()

    expect(page.locator(".phone")).to_contain_text("Declined")
    expect(page.get_by_role("alert")).to_have_count(0)
    assert faults(page) == []


def test_each_terminal_comes_with_a_key_that_may_use_it(page, desk):
    view = desk.world(invent={"merchants": 600})
    held = []
    page.route("**/directory?kind=account*", lambda route: held.append(route))
    with page.expect_request("**/directory?kind=account*"):
        desk.open("terminal")
    terminal = page.get_by_role("combobox", name="Terminal")
    # Which key and which currency go with a terminal is not known yet.
    expect(terminal).to_be_disabled()
    held.pop().continue_()
    expected = {name: name if name in view["keys"] else "partner" for name in view["terminals"]}
    expect(page.get_by_role("button", name="1 Visa")).to_be_visible()
    for name, key in expected.items():
        terminal.select_option(name)
        expect(page.get_by_role("combobox", name="Sent with key")).to_have_value(key)
    terminal.select_option("tax_merchant")
    expect(page.get_by_role("note")).to_have_count(0)
    page.get_by_role("button", name="1 Visa").click()

    expect(page.locator(".phone")).to_contain_text("Approved")
    desk.world(fixture="empty")
    desk.open("terminal")
    expect(page.get_by_role("combobox", name="Sent with key")).to_have_value("admin")


def test_a_lost_or_unreadable_answer_is_reported(page, desk):
    phone, alert = page.locator(".phone"), page.get_by_role("alert")
    desk.open("terminal")
    desk.ask("POST", "scenario/next", {"fault": "malformed_json"})
    page.get_by_role("button", name="1 Visa").click()
    expect(phone).to_contain_text("Not accepted")
    expect(alert).to_have_text("The platform answered 200, and the answer is not JSON.")

    (batch,) = desk.ask("GET", "batches")["batches"]
    for place, button in (
        (f"batches/{batch['id']}", "Close it"),
        ("api/payments.capture", "First: payments.preauth"),
    ):
        desk.ask("POST", "scenario/next", {"fault": "drop_before"})
        desk.open(place)
        page.get_by_role("button", name=button).click()
        expect(alert).to_have_text("The connection closed without an answer: drop_before.")


def test_a_forced_outcome_goes_with_its_own_request_alone(page, desk):
    desk.open("terminal")
    page.get_by_role("combobox", name="Sent with key").select_option("other_merchant")
    page.get_by_role("combobox", name="Or any outcome").select_option("lost_card")

    page.get_by_role("button", name="Force this outcome").click()

    expect(page.locator(".phone")).to_contain_text("Not accepted")
    assert desk.ask("GET", "scenario/next")["total"] == 0
    page.get_by_role("combobox", name="Sent with key").select_option("merchant")
    page.get_by_role("button", name="Force this outcome").click()
    expect(page.locator(".phone")).to_contain_text("Declined")
    page.get_by_role("button", name="1 Visa").click()
    expect(page.locator(".phone")).to_contain_text("Approved")


def test_an_unanswered_payment_says_so_and_shows_no_refusal(page, desk):
    desk.open("terminal")
    page.get_by_role("combobox", name="Or any outcome").select_option("pending_forever")
    page.get_by_role("button", name="Force this outcome").click()

    expect(page.locator(".phone")).to_contain_text("No answer yet")
    page.get_by_role("link", name="Story").click()
    expect(page.get_by_role("button", name="Approve it late")).to_be_visible()
    desk.open("journal")
    page.get_by_role("list", name="Requests, newest first").get_by_role("link").click()
    expect(page.locator(".steps")).to_contain_text("pending_forever · header")
    expect(page.locator(".steps li.no")).to_have_count(0)


def test_queued_outcomes_are_shown_and_can_be_forgotten(page, desk):
    for queued in ({"outcome": "lost_card"}, {"outcome": "stolen_card", "operation": "auth"}):
        desk.ask("POST", "scenario/next", queued)
    desk.open("terminal")
    decides = page.locator(".dec")
    expect(decides).to_contain_text("lost card, stolen card (auth)")

    decides.get_by_role("button", name="Empty the queue").click()

    expect(decides).to_contain_text("no outcome waits")
    assert desk.ask("GET", "scenario/next")["total"] == 0


def test_a_first_payment_that_is_refused_is_not_called_approved(page, desk):
    path = f"/v5/apikeys/{desk.world()['keys']['merchant']['id']}"
    revoked = desk.send("PUT", path, key="partner", json={"status": "revoked"})
    assert revoked.is_success, revoked.text
    desk.ask("DELETE", "requests")
    desk.open("overview")

    page.get_by_role("button", name="Tap a first payment").click()

    expect(page.locator(".feed").get_by_text("401").first).to_be_visible()
    expect(page.get_by_text("Approved")).to_have_count(0)


# --- files ------------------------------------------------------------------------------------


def test_each_file_has_a_draft_of_its_own_and_is_saved_as_a_file(page, desk):
    desk.open("scenarios/approve_all?edit=new")
    retype(page, SCENARIO)
    page.get_by_role("link", name="Slow tap").click()
    page.get_by_role("button", name="Edit its file").click()
    retype(page, 'name = "Other"\n')
    page.get_by_role("button", name="New", exact=True).click()
    editor = page.get_by_role("textbox", name="Scenario file")
    expect(editor).to_contain_text("lost_card")

    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the file").click()

    assert saved.value.suggested_filename == "mine.toml"
    text = saved.value.path().read_text("utf-8")
    assert "lost_card" in text
    desk.open("scenarios/slow_tap?edit=slow_tap")
    expect(editor).to_contain_text("Other")
    desk.open("scenarios/slow_tap?edit=slow_tap", at="default")
    expect(editor).to_contain_text("Slow tap")


# --- names and complaints ---------------------------------------------------------------------


def test_requests_are_named_by_what_their_operation_does(page, desk):
    paid = desk.pay(1000, hold=True)
    for path in ("v1", "v3"):
        capture = f"/{path}/payments/{paid['transaction_id']}/capture"
        sent = {"method": "POST", "path": capture, "key": "merchant", "body": {}}
        desk.ask("POST", "send", sent)
    desk.open("journal")
    lines = page.get_by_role("list", name="Requests, newest first").get_by_role("link")
    expect(lines.nth(0)).to_contain_text("Capture an authorization")
    expect(lines.nth(1)).to_contain_text("Capture an authorization")
    expect(lines.nth(2)).to_contain_text("Authorize a payment")

    lines.nth(1).click()

    heading = page.get_by_role("region", name="Request").get_by_role("heading").first
    expect(heading).to_contain_text("Capture an authorization")


def test_a_browser_logs_no_error_without_a_scenario(page, desk):
    said = []
    page.on("console", lambda one: said.append(one.text))
    page.on("response", lambda one: said.append(one.url) if one.status >= 400 else None)
    desk.open("overview")
    desk.pay(1000)
    expect(page.locator(".feed ol")).to_contain_text("captured")
    desk.open("scenarios?edit=new")
    expect(page.get_by_role("textbox", name="Scenario file")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="No mistake")).to_be_visible()
    assert said == []


def test_a_room_says_nothing_of_a_world_that_was_not_read_yet(page, desk):
    held = []
    page.route("**/requests?*", lambda one: held.append(one))
    with page.expect_request("**/requests?*"):
        page.goto(f"{desk.control}/#/{desk.id}/journal")
    expect(page.get_by_text("Reading the world shop")).to_be_visible()
    expect(page.get_by_text("No requests yet.")).to_have_count(0)

    held[0].continue_()

    expect(page.get_by_text("No requests yet.")).to_be_visible()


def test_a_list_has_no_number_before_it_was_read(page, desk):
    held = []
    page.route("**/ledger", lambda one: held.append(one))
    desk.open("clauses")
    expect(page.get_by_text("Reading the clauses")).to_be_visible()
    expect(page.locator("h1 + .qq")).to_have_count(0)

    held[0].continue_()

    expect(page.locator("h1 + .qq")).not_to_have_text("0")
