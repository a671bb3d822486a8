"""Rooms of the console in a real browser: time, worlds, batches, coverage, access."""

import json
import re

from playwright.sync_api import expect

from sandbox.domain.batches import REASONS
from sandbox.domain.currencies import CURRENCIES, in_units
from tests.cli.asking import add_world
from tests.whole.console.watching import faults

# --- money ------------------------------------------------------------------------------------


def test_the_agenda_shows_amounts_in_the_currency_of_the_payment(desk):
    shop = f"/v1/locations/{desk.world()['locations']['merchant']}"
    for currency in ("USD", "JPY"):
        desk.send("PUT", shop, json={"currency": currency})
        assert desk.pay(7942, hold=True)["currency"] == currency

    desk.open("time")
    expect(desk.page.get_by_role("button", name="Hold of $79.42")).to_be_visible()
    expect(desk.page.get_by_role("button", name="Hold of ¥7,942")).to_be_visible()
    desk.open("overview")
    expect(desk.page.locator(".due")).to_contain_text("Hold of $79.42")
    expect(desk.page.locator("main")).not_to_contain_text("minor units")


def test_a_key_that_can_no_longer_be_used_needs_attention(desk):
    desk.pay(1200)
    assert desk.send("GET", "/v1/accounts", key="revoked").is_error

    desk.open("overview")

    needs = desk.page.get_by_role("list", name="Needs you")
    expect(needs).to_contain_text("it is revoked (spec 3.1-revoke)")
    expect(desk.page.locator(".leg")).to_have_text(re.compile(r"captured\s*1"))
    needs.get_by_role("link", name="Look at it").click()
    expect(desk.page.get_by_role("region", name="Key")).to_contain_text("it is revoked")


def test_a_returned_record_that_needs_attention_is_shown_in_its_batch(desk):
    desk.world(fixture="busy")
    desk.open("overview")
    needs = desk.page.get_by_role("list", name="Needs you").get_by_role("listitem")

    needs.filter(has_text="1 returned record").get_by_role("link", name="Look at it").click()

    expect(desk.page.get_by_role("row").filter(has_text="in no batch")).to_contain_text("$17.40")


def test_a_world_loaded_with_payments_only_has_no_requests_yet(page, desk):
    desk.open("overview")
    expect(page.locator("main")).to_contain_text("Nothing has happened in this world.")

    desk.world(fixture="busy")
    desk.open("overview")

    expect(page.locator("main")).to_contain_text("The journal has no requests yet.")
    expect(page.locator("main")).not_to_contain_text("Nothing has happened")


def test_a_key_that_has_expired_is_listed_as_expired(page, desk):
    desk.open("access")

    keys = page.get_by_role("list", name="Keys")
    expect(keys.get_by_role("link")).to_contain_text(["admin", "psp", "partner"])
    expect(keys.get_by_role("link", name="expired expired since")).to_be_visible()
    expect(keys.get_by_role("link", name="legacy")).to_contain_text("until Fri 31 Jul 2026")
    desk.ask("PUT", "clock", {"now": "2026-07-31T00:00:00Z"})
    expect(keys.get_by_role("link", name="legacy")).to_contain_text("since Fri 31 Jul 2026")


def test_the_page_writes_and_reads_amounts_of_every_currency_as_the_server_does(desk):
    desk.open_with("words", "overview")

    written = desk.page.evaluate(
        """(codes) => {
          const { units, minor } = window.module;
          return codes.map((code) =>
            [code, units(1234567, code), minor("1234", code), minor("1.2345", code)]);
        }""",
        list(CURRENCIES),
    )

    for code, text, minor, too_fine in written:
        assert text == in_units(1234567, code)
        assert minor == 1234 * 10 ** CURRENCIES[code].exponent
        assert too_fine is None


# --- finding ----------------------------------------------------------------------------------


def test_every_record_is_found_by_its_id_in_every_world(page, own_desk):
    made = own_desk.world()
    paid = own_desk.pay(1234, "tok_amex")
    (entry,) = own_desk.ask("GET", "requests?limit=1")["requests"]
    asked = {
        paid["transaction_id"]: ("region", "Payment", paid["transaction_id"]),
        f"x-sandbox-request-id: {entry['id']}": ("region", "Request", "$12.34"),
        made["terminals"]["merchant"]: ("list", "Payments", "$12.34"),
        paid["event_id"]: ("region", "Payment", "$12.34"),
        "barton springs": ("list", "Payments", "$12.34"),
    }
    for question, (role, name, text) in asked.items():
        own_desk.open("overview")
        page.keyboard.press("Control+k")
        page.get_by_role("searchbox", name="Find").fill(question)
        page.keyboard.press("Enter")
        expect(page.get_by_role(role, name=name)).to_contain_text(text)
    own_desk.open("overview", at="default")
    page.keyboard.press("Control+k")
    find = page.get_by_role("searchbox", name="Find")
    find.fill("8431")
    expect(page.get_by_role("dialog")).to_contain_text("sale of 12.34 USD, captured")
    expect(page.get_by_role("dialog")).to_contain_text("(world shop)")
    find.fill("no-such-thing")
    expect(page.get_by_role("dialog")).to_contain_text("Nothing in any world")
    assert faults(page) == []


# --- worlds -----------------------------------------------------------------------------------


def test_a_world_is_marked_forked_renamed_saved_and_opened_again(page, desk, tmp_path):
    desk.pay(1000)
    desk.open("payments")
    page.get_by_role("link", name="shop", exact=True).click()

    page.get_by_label("Name of the mark").fill("one payment")
    desk.click("button", "Mark this moment")
    expect(page.locator(".marks")).to_contain_text("one payment")
    desk.pay(2000)
    desk.click("button", "Return to mark")
    desk.click("button", "Return", exact=True)
    row = page.get_by_role("row", name="shop", exact=False).first
    expect(row.get_by_role("cell").nth(4)).to_have_text("1")
    assert faults(page) == []

    page.get_by_label("Name", exact=True).first.fill("Friday demo")
    desk.click("button", "Rename")
    expect(page.locator(".bar")).to_contain_text("Friday demo")
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save it as a file").click()
    saved = tmp_path / "saved.json"
    saving.value.save_as(saved)

    page.get_by_label("Copy").fill("copy")
    desk.click("button", "Fork it")
    expect(page.get_by_role("heading", level=1)).to_have_text("Payments")
    expect(page.locator(".list")).to_contain_text("$10.00")
    assert page.url.endswith("#/copy/payments")

    page.goto(f"{desk.control}/#/copy/worlds")
    page.get_by_label("Open a saved file").set_input_files(saved)
    expect(page.get_by_role("heading", level=1)).to_have_text("Payments")
    expect(page.locator(".bar")).to_contain_text("Friday demo")
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    desk.open("worlds", at="copy")
    before = len(desk.ask("GET", "/worlds?shape=row")["worlds"])
    page.get_by_label("Open a saved file").set_input_files(broken)
    expect(page.get_by_role("alert")).to_contain_text("snapshot")
    assert len(desk.ask("GET", "/worlds?shape=row")["worlds"]) == before


def test_a_reset_and_a_deletion_ask_first(page, desk):
    desk.pay(1000)
    desk.open("worlds")

    desk.click("button", "Reset")
    desk.click("button", "Keep it")
    assert desk.ask("GET", "payments")["total"] == 1
    desk.click("button", "Reset")
    desk.click("button", "Reset it")
    expect(page.get_by_role("status").filter(has_text="Reset")).to_be_visible()
    assert desk.ask("GET", "payments")["total"] == 0

    row = page.get_by_role("row", name="shop")
    row.get_by_role("button", name="Delete").click()
    expect(row).to_contain_text("Delete shop and all that is in it?")
    row.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("row", name="shop")).to_have_count(0)
    assert page.url.endswith("#/default/worlds")


def test_a_new_world_begins_with_a_fixture_and_keeps_the_room(page, desk):
    desk.open("journal")
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.get_by_label("Id (optional)").fill("busy-month")
    page.get_by_label("Starts from").select_option("busy")

    page.get_by_label("Name").last.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Journal")
    assert page.url.endswith("#/busy-month/journal")
    assert desk.ask("GET", "/worlds/busy-month/payments")["total"] > 100
    desk.open("batches", at="busy-month")
    rows = page.get_by_role("list", name="Batches").locator("a.row")
    page.get_by_role("button", name="Show more").click()
    expect(rows.nth(100)).to_be_visible()
    with page.expect_response("**/batches?*") as read:
        desk.ask("POST", "/worlds/busy-month/clock/advance", {"by": "1s"})
    assert len(read.value.json()["batches"]) > 100


def test_a_reset_by_a_program_empties_the_journal_of_the_page(page, desk):
    desk.pay(1000)
    desk.open("journal")
    rows = page.get_by_role("list", name="Requests, newest first").get_by_role("link")
    expect(rows).to_have_count(1)

    desk.ask("POST", "reset")

    expect(rows).to_have_count(0)


# --- time -------------------------------------------------------------------------------------


def test_changes_of_a_program_without_a_request_are_shown(page, desk):
    desk.open("webhooks")
    desk.ask("PATCH", "", {"name": "Renamed meanwhile"})
    expect(page.get_by_role("banner")).to_contain_text("Renamed meanwhile")
    desk.ask("PUT", "scenario", {"name": "slow_tap"})
    expect(page.get_by_role("banner")).to_contain_text("Slow tap")
    desk.ask("POST", "endpoints", {"url": "http://127.0.0.1:9/hooks"})
    expect(page.locator(".ep")).to_contain_text("http://127.0.0.1:9/hooks")


def test_events_of_another_day_show_their_date(page, desk):
    desk.world(clock={"now": "2026-02-28T12:00:00Z", "mode": "frozen"})
    paid = desk.pay(5600)["transaction_id"]
    desk.ask("POST", "clock/advance", {"by": "1d"})
    desk.send("POST", f"/v3/payments/{paid}/refund", json={"amount": 100})
    for place, says in (
        (f"payments/{paid}", ["Visa 0011 · 28 Feb", "28 Feb 12:00:00", "12:00:00refund"]),
        ("overview", ["28 FebTake a payment", "12:00:00Refund a payment"]),
        ("journal", ["28 FebTake a payment", "12:00:00Refund a payment"]),
        ("webhooks", ["12:00:00transaction.refund", "28 Febtransaction.sale"]),
    ):
        desk.open(place)
        for text in says:
            expect(page.get_by_role("main")).to_contain_text(text)


def test_the_room_of_the_worlds_forgets_a_world_that_another_tab_deleted(page, desk):
    desk.open("worlds")
    table = page.get_by_role("table").first
    expect(table).to_contain_text("shop")

    desk.ask("DELETE", "")

    expect(table).not_to_contain_text("shop")
    expect(page.get_by_role("heading", name="This world, shop")).to_have_count(0)
    expect(page.get_by_role("heading", name="A new world")).to_be_visible()


def test_worlds_of_another_program_appear_on_return_to_the_list(page, desk):
    desk.open("worlds")
    expect(page.get_by_role("main")).to_contain_text("No marks yet.")
    add_world(desk.server, "elsewhere")
    desk.ask("POST", "marks", {"name": "of a program"})

    page.evaluate("dispatchEvent(new Event('focus'))")

    expect(page.get_by_role("table").first).to_contain_text("elsewhere")
    expect(page.locator(".marks")).to_contain_text("of a program")


def test_the_clock_opens_over_a_room_and_stops_just_before_what_falls_due(page, desk):
    hold = desk.pay(44406, hold=True)["transaction_id"]
    desk.open(f"payments/{hold}")
    desk.keys("t")
    clock = page.get_by_role("complementary", name="Time")
    expect(clock).to_contain_text("12:00:00")

    clock.get_by_role("button", name="Hold of $444.06").click()
    expect(clock).to_contain_text("and 1 event happens: 1 hold expires.")
    assert faults(page) == []
    status = page.get_by_role("region", name="Payment").locator(".st").first
    clock.get_by_role("button", name="Stop just before it").click()
    expect(clock).to_contain_text("11:59:59")
    expect(status).to_have_text("authorized")
    clock.get_by_role("button", name="To the next").click()
    expect(status).to_have_text("canceled")


def test_a_story_can_be_read_beside_the_clock_on_a_laptop(page, desk):
    paid = desk.pay(5600)["transaction_id"]
    desk.open(f"payments/{paid}")
    desk.keys("t")
    story = page.get_by_role("main").get_by_role("listitem").filter(has_text="sale: pending")

    for width in (1101, 1281, 1366, 1440, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        box = story.bounding_box()
        assert box is not None
        assert box["width"] > 350, width


def test_the_target_of_the_clock_can_be_typed_in_several_forms(page, desk):
    desk.open("journal")
    page.get_by_title("Move the clock").click()
    clock = page.get_by_role("complementary", name="Time")
    asked = clock.get_by_label("Advance by or to")
    for text, says in {
        "1h30m": "Advance to Sun 1 Mar 2026 13:30:00 and nothing falls due.",
        "23:30": "Advance to Sun 1 Mar 2026 23:30:00",
        "11:00": "Advance to Mon 2 Mar 2026 11:00:00",
        "28 Feb": "Advance to Sun 28 Feb 2027 00:00:00",
        "31 Jul 2026": "1 key expires.",
        "2026-01-01": "is in the past of this world",
        "30 Feb": "Write a duration like 3d",
        "soon": "Write a duration like 3d",
        "999999999d": "Write a duration like 3d",
    }.items():
        asked.fill(text)
        expect(clock).to_contain_text(says)
    expect(clock.get_by_role("button", name="Go there")).to_be_disabled()
    asked.fill("1 Aug")
    page.keyboard.press("Enter")
    expect(page.locator(".bar")).to_contain_text("Sat 1 Aug 2026")


def test_maintenance_ends_and_the_next_fault_begins_at_the_clock(page, desk):
    key = desk.world()["keys"]["merchant"]["key"]
    desk.open("time")

    desk.click("button", "Maintenance for 10 minutes")
    desk.click("button", "End the maintenance")
    expect(page.get_by_role("button", name="Maintenance for 1 minute")).to_be_visible()
    page.get_by_label("Fault of the next request").select_option("http_504")
    page.get_by_label("Operation of the next request").select_option("terminals.list")
    desk.click("button", "Queue the fault")
    expect(page.locator(".waits")).to_have_text("http 504 (terminals.list)")

    assert desk.server.ask("GET", "/v2/terminals", key=key).status_code == 504
    assert faults(page) == []


# --- coverage ---------------------------------------------------------------------------------

SHOWN = {
    "operations": ("batches.edit", "accounts.delete_v2", "refunds.create", "payments.confirm"),
    "statuses": ("settled", "refunded", "surcharge_pending"),
    "status_reasons": ("incremental_auth_declined",),
    "events": ("batch.partially_accepted", "api_key.reinstated", "terminal.unblocked"),
    "refusals": ("invalid_transaction_state", "account_blocked", "duplicate_event", "rate_limited"),
    "scenarios": ("declines_by_reason",),
    "outcomes": ("capture_declined", "http_503"),
}
NO_REQUEST_SHOWS = {"forbidden", "conflict", "body_too_large"}
CARRY_OUT = """async (shown) => {
  const { way, carryOut } = window.module;
  const get = (path) => fetch("." + path).then((one) => one.json());
  const catalogue = await get("/outcomes");
  const all = await get("/worlds/default/coverage");
  const without = Object.entries(all).flatMap(([section, { never }]) =>
    never.filter((name) => !way(section, name, catalogue)));
  const wrong = [];
  for (const [section, names] of Object.entries(shown)) for (const name of names) {
    await fetch("./worlds", { method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: "try" }) });
    const id = await carryOut(way(section, name, catalogue), "try");
    const entry = await get(`/worlds/try/requests/${id}`);
    const seen = await get("/worlds/try/coverage");
    const met = section === "operations" ? entry.route === name && entry.status < 400
      : section === "refusals" ? entry.response.error === name
      : section === "outcomes" ? entry.outcome.key === name : seen[section].exercised[name];
    if (!met) wrong.push([section, name, entry.status]);
    await fetch("./worlds/try", { method: "DELETE" });
  }
  return { without, wrong };
}"""


def test_every_uncovered_entry_can_be_made_to_happen(desk):
    desk.open_with("showing", "coverage")

    done = desk.page.evaluate(CARRY_OUT, {name: list(all) for name, all in SHOWN.items()})

    assert set(done["without"]) == NO_REQUEST_SHOWS
    assert done["wrong"] == []


def test_coverage_is_compared_with_a_file(page, own_desk, tmp_path):
    own_desk.pay(1000)
    theirs = own_desk.ask("GET", "/worlds/default/coverage")
    theirs["events"]["exercised"] = {"terminal.blocked": 3}
    file = tmp_path / "coverage.json"
    file.write_text(json.dumps(theirs))
    own_desk.open("coverage")

    page.get_by_label("choose one").set_input_files(file)

    expect(page.locator(".map .there")).to_contain_text("terminal.blocked 3")
    expect(page.locator(".map .met.only", has_text="transaction.sale")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("button", name="Stop comparing").click()
    file.write_text("[]")
    page.get_by_label("choose one").set_input_files(file)
    expect(page.get_by_role("alert")).to_contain_text("coverage.json is not a coverage file")


# --- access -----------------------------------------------------------------------------------


def test_an_operation_of_the_matrix_is_looked_at(page, desk):
    desk.open("access/merchant_read_only")

    page.get_by_role("link", name="batches.list", exact=True).click()

    key = page.get_by_role("region", name="Key")
    expect(key.get_by_label("Operation")).to_have_value("batches.list")
    expect(key).to_contain_text("It would be")


# --- batches ----------------------------------------------------------------------------------


def test_a_batch_is_closed_and_accepted_in_part_and_says_where_each_record_is(page, desk):
    first = desk.pay(13684)["transaction_id"]
    desk.pay(2000)
    desk.open("overview")
    desk.keys("gb")
    page.get_by_role("list", name="Batches").get_by_role("link", name="$156.84").click()
    detail = page.get_by_role("region", name="Batch")
    expect(detail.get_by_role("row", name="Captured")).to_contain_text("equal")

    expect(detail).to_contain_text("batch.settlement is auto")
    detail.get_by_role("button", name="Have batches wait for me").click()
    expect(detail).not_to_contain_text("batch.settlement is auto")
    detail.get_by_role("button", name="Close it").click()
    expect(detail).to_contain_text("it waits for you")
    expect(detail.get_by_role("button", name="Accept without the")).to_be_disabled()
    detail.get_by_label("Refuse $136.84").check()
    assert faults(page) == []
    detail.get_by_role("button", name="Accept without the 1 ticked").click()

    expect(detail.locator(".st").first).to_have_text("partially_accepted")
    refused = detail.get_by_role("row", name=first[:8])
    expect(refused).to_contain_text("refused")
    expect(refused).to_contain_text("in no batch")
    refused.get_by_role("button", name="Put into the open batch").click()
    refused.get_by_role("link", name="in another batch").click()
    expect(detail.locator(".st").first).to_have_text("open")
    detail.get_by_role("row", name=first[:8]).get_by_role("link").click()
    expect(page.get_by_role("region", name="Payment")).to_contain_text("$136.84")


def test_a_file_is_compared_with_the_payments_and_a_settlement_is_saved(page, desk, tmp_path):
    paid, other = desk.pay(2000), desk.pay(700)
    desk.open("batches")
    file = tmp_path / "ledger.csv"
    file.write_text(f"transaction_id,amount\n{paid['transaction_id']},1999\nelsewhere,5\n")

    page.get_by_label("Reconcile a file").set_input_files(file)

    detail = page.get_by_role("region", name="Batch")
    expect(detail).to_contain_text("0 of 2 rows match the sandbox")
    expect(detail.get_by_role("row", name="different amount")).to_contain_text("1999")
    expect(detail.get_by_role("row", name="missing here")).to_contain_text("elsewhere")
    lacks = detail.get_by_role("row", name="missing there")
    expect(lacks).to_contain_text(other["transaction_id"][:8])
    assert faults(page) == []
    file.write_text("transaction_id,amuont\nx,1\n")
    page.get_by_label("Reconcile a file").set_input_files(file)
    expect(page.get_by_role("alert")).to_contain_text("did you mean 'amount'?")
    detail.get_by_role("button", name="Close").click()
    page.get_by_role("list", name="Batches").get_by_role("link").first.click()
    with page.expect_download() as saved:
        detail.get_by_role("link", name="Settlement as CSV").click()
    assert saved.value.path().read_text().startswith("batch_id,batch_number,")


def test_a_batch_can_be_rejected_for_each_reason_of_the_processor(page, desk):
    desk.world(switches={"batch.settlement": "manual"})
    desk.pay(2000)
    desk.open("batches?terminal=merchant")
    page.get_by_role("list", name="Batches").get_by_role("link").first.click()
    page.get_by_role("button", name="Close it").click()
    because = page.get_by_label("because")
    expect(because).to_be_visible()
    values = because.get_by_role("option").evaluate_all("all => all.map((one) => one.value)")
    assert set(values) == set(REASONS)

    because.select_option("bad_mcc")
    desk.click("button", "Reject")

    detail = page.get_by_role("region", name="Batch")
    expect(detail).to_contain_text(REASONS["bad_mcc"])
    expect(detail.locator(".st").first).to_have_text("rejected")
    page.get_by_role("button", name="Submitted").click()
    expect(page.get_by_text("No batch matches this filter.")).to_be_visible()
