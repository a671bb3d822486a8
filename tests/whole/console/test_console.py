"""The console in a real browser: every room, in both themes, with friends and with enemies."""

import pytest
from playwright.sync_api import expect

from tests.driving import NOW, serving, until
from tests.webhooks.receiving import receiving
from tests.whole.console.consoles import ROOMS
from tests.whole.console.watching import faults

ATTACK = '"><img src=x onerror="document.title=\'pwned\'"><script>alert(1)</script>{{7*7}}'


# --- stories ---------------------------------------------------------------------------------


def test_requests_of_a_client_appear_by_themselves_with_the_reason(page, desk):
    desk.open("overview")

    desk.pay(-1)

    refused = page.locator(".feed a.ln").first
    expect(refused).to_contain_text("400")
    expect(refused).to_contain_text("amount")
    refused.click()
    expect(page.get_by_role("region", name="Request")).to_contain_text("authenticate")


def test_paused_updates_appear_once_they_are_resumed(page, desk):
    desk.pay(3120)
    desk.open("overview")
    page.get_by_role("button", name="Pause updates").click()
    before = page.locator(".feed a.ln").first.inner_text()

    desk.pay(777)

    page.get_by_role("button", name="1 new").click()
    assert page.locator(".feed a.ln").first.inner_text() != before
    expect(page.locator(".feed a.ln").first).to_contain_text("$7.77")


def test_a_payment_that_waits_is_tapped_with_a_key_of_the_keyboard(page, desk):
    desk.open("terminal")
    page.get_by_role("button", name="Have payments wait for a card").click()
    page.get_by_role("button", name="Start on the phone").click()
    expect(page.get_by_text("Waits for a card")).to_be_visible()

    desk.keys("1")

    expect(page.locator(".phone")).to_contain_text("Approved")
    expect(page.get_by_text("Waits for a card")).to_have_count(0)
    desk.ask("DELETE", "scenario")
    desk.keys("1")
    expect(page.get_by_role("status").filter(has_text="Approved: $56.00")).to_be_visible()
    desk.ask("POST", "reset")
    expect(page.locator(".phone")).to_contain_text("Start a payment")


def test_a_message_shows_what_was_sent_and_that_it_verifies(page, desk):
    with receiving() as receiver:
        desk.open("webhooks")
        page.get_by_role("button", name="Endpoint").click()
        page.get_by_label("Address").fill(receiver.url)
        page.get_by_role("button", name="Add it").click()
        expect(page.locator(".ep")).to_contain_text(receiver.url)

        page.get_by_role("button", name="Send a sample").click()
        page.get_by_role("link", name="transaction.sale").click()

        detail = page.get_by_role("region", name="Message")
        expect(detail.locator(".sg")).to_contain_text("genuine")
        expect(detail).to_contain_text("without a request")
        expect(detail.get_by_role("table")).to_contain_text("200")
        (endpoint,) = desk.ask("GET", "endpoints")["endpoints"]
        assert endpoint["secret"] not in page.locator("body").inner_text()


def test_a_world_that_is_gone_offers_the_nearest(page, desk):
    desk.open("journal")
    desk.ask("DELETE", "")
    page.reload()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("There is no world shop")
    desk.world()
    desk.ready("journal")
    desk.ask("DELETE", "")
    expect(heading).to_have_text("There is no world shop")
    assert faults(page) == []

    page.get_by_role("main").get_by_role("link", name="default", exact=True).click()

    desk.ready("journal")
    assert page.url.endswith("#/default/journal")


# --- every room -------------------------------------------------------------------------------


def test_every_room_is_accessible_and_fits_every_width(page, desk):
    desk.ask("POST", "endpoints", {"url": "http://127.0.0.1:9/x"})
    desk.pay(3120, "tok_declined")
    desk.pay(-1)
    hold = desk.pay(44406, hold=True)["transaction_id"]
    wrong: list[str] = []
    places = {"payments": f"payments/{hold}", "access": "access/merchant"}
    for room in ROOMS:
        desk.open(places.get(room, room))
        wrong += [f"{room}: {fault}" for fault in faults(page)]

    assert wrong == []


def test_long_names_and_amounts_leave_room_for_the_rest(page, desk):
    name = "Restaurant für Liebhaber der Küche مطعم 料理店 ".ljust(100, "x")
    world = desk.world(name=name)
    desk.send("PUT", f"/v1/locations/{world['locations']['merchant']}", json={"currency": "CAD"})
    rule = '[[rule]]\nwhen = { operation = "refund" }\nthen = { outcome = "lost_card" }'
    desk.ask("PUT", "scenario", {"toml": f'name = "{name}"\n{rule}\n'})
    desk.ask("POST", "endpoints", {"url": "http://127.0.0.1:9/hooks", "description": name})
    terminal = f"/v2/terminals/{world['terminals']['merchant']}"
    assert desk.send("PUT", terminal, json={"name": name}).is_success
    desk.pay(99_999_999)
    message = until(lambda: desk.ask("GET", "messages?delivery=pending&limit=1")["messages"])[0]

    for place, within in (("worlds", "tr:has-text('xxx')"), (f"webhooks/{message['id']}", "table")):
        desk.open(place)
        box = page.locator(within).first.bounding_box()
        assert box["height"] < 200, place
    for place in ("overview", "journal", "terminal"):
        desk.open(place)
        for width in (1440, 1024, 390):
            page.set_viewport_size({"width": width, "height": 900})
            amount = page.get_by_role("main").get_by_text("CA$999,999.99").first
            assert amount.evaluate("(one) => one.scrollWidth <= one.parentElement.clientWidth")
    desk.open("batches")
    page.set_viewport_size({"width": 1440, "height": 900})
    batch = page.get_by_role("list", name="Batches").get_by_role("link")
    assert batch.get_by_text("Barton Springs Bistro").bounding_box()["width"] > 60
    assert batch.bounding_box()["height"] < 60


def test_a_world_whose_texts_are_attacks_shows_them_as_text(page, desk):
    made = desk.world(name=ATTACK[:60])
    hook = {"url": "http://127.0.0.1:9/x", "description": ATTACK[:100]}
    desk.ask("POST", "endpoints", hook)
    rule = {"name": ATTACK, "when": {"operation": "sale"}, "then": {"outcome": "lost_card"}}
    desk.ask("PUT", "scenario", {"name": ATTACK, "about": ATTACK, "rule": [rule]})
    sale = {"amount": 100, "terminal_id": made["terminals"]["merchant"]}
    for method, path, key, body in (
        ("POST", "/v3/payment?x=<img src=x onerror=alert(1)>", "merchant", sale | {ATTACK: ATTACK}),
        ("POST", "/v3/payment", "merchant", sale | {"order_id": ATTACK}),
        ("PUT", f"/v2/accounts/{made['accounts']['merchant']}", "admin", {"name": ATTACK}),
        ("GET", "/nowhere/<script>alert(1)</script>", "merchant", None),
    ):
        desk.send(method, path, key=key, json=body)
    sent = {"method": "POST", "path": "/v3/payment", "key": "merchant", "body": sale}
    desk.ask("POST", "send", sent)
    rooms = {"payments": "payments", "webhooks": "messages", "journal": "requests"}
    listed = {room: desk.ask("GET", name)[name] for room, name in rooms.items()}
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    places = [f"{room}/{one['id']}" for room, all in listed.items() for one in all[:5]]
    for place in [*ROOMS, *places]:
        desk.open(place)
        expect(page.locator("main img[src=x], main script")).to_have_count(0)
        assert "pwned" not in page.title()

    assert dialogs == []
    assert [] not in listed.values()


@pytest.mark.proves("assumed D25-teams")
def test_a_team_signs_in_and_sees_its_own_worlds(page):
    with serving("--clock", NOW, "--token", "open-sesame-open-sesame") as server:
        by = {"authorization": "Bearer open-sesame-open-sesame"}
        issued = server.control("POST", "/tokens", json={"team": "mobile"}, headers=by).json()
        server.control("POST", "/worlds", json={"id": "plans@web"}, headers=by)
        page.goto(f"{server.facts['control_url']}/#token={issued['token']}")
        expect(page.get_by_role("heading", level=1)).to_have_text("There is no world default")

        page.get_by_role("link", name="All worlds, and new ones").click()
        page.get_by_label("Id (optional)").fill("checkout")
        page.get_by_role("button", name="Create it").click()
        expect(page.locator(".live")).to_have_text("live")
        page.get_by_role("link", name="Worlds", exact=True).click()

        expect(page.get_by_role("heading", name="All worlds of the team mobile")).to_be_visible()
        listed = page.locator("table").first
        expect(listed).to_contain_text("checkout@mobile")
        expect(listed.get_by_role("row")).to_have_count(2)
        expect(page.locator("body")).not_to_contain_text("plans")
        page.get_by_role("link", name="Coverage", exact=True).click()
        page.get_by_role("button", name="Show me accounts.list", exact=True).click()
        expect(page.get_by_role("heading", name="List accounts")).to_be_visible()
