"""The console by keyboard alone."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.whole.console.consoles import ROOMS, heading_of
from tests.whole.console.watching import Desk

STEPS_MAX = 1000
WHERE = """
() => {
  const at = document.activeElement;
  if (!at || at === document.body) return "the end";
  const box = at.getBoundingClientRect();
  const marked = (one) => getComputedStyle(one).outlineStyle !== "none";
  const seen = marked(at) || marked(at.parentElement);
  return seen || box.width === 0 ? "on" : `no mark on ${at.outerHTML.slice(0, 120)}`;
}
"""


@pytest.fixture(autouse=True)
def overview(desk: Desk) -> None:
    """Open the overview of a world with a few payments."""
    for amount in (1000, 2000, 3000):
        desk.pay(amount)
    desk.open("overview")


def test_g_and_a_letter_go_to_each_room(page):
    for room, letter in ROOMS.items():
        if letter:
            page.keyboard.press("g")
            page.keyboard.press(letter)
            expect(page.get_by_role("heading", level=1)).to_contain_text(heading_of(room))
    page.keyboard.press("t")
    expect(page.get_by_role("complementary", name="Time")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Time")).to_have_count(0)


@pytest.mark.parametrize(("room", "detail"), [("payments", "Payment"), ("journal", "Request")])
def test_a_list_can_be_used_by_keyboard_alone(page, desk, room, detail):
    desk.open(room)
    links = page.locator("main a.row, main a.ln")
    expect(links).not_to_have_count(0)

    page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    opened = page.get_by_role("region", name=detail, exact=True).locator("h2").first
    expect(opened).to_be_visible()
    page.keyboard.press("Escape")

    expect(opened).to_have_count(0)
    expect(links.nth(1)).to_be_focused()


def toggle(page: Page) -> None:
    """Tab to the box that switches single keys on and off, press it, and leave the finder."""
    box = page.get_by_role("checkbox", name="Single-key shortcuts are on")
    expect(page.get_by_role("searchbox", name="Find")).to_be_focused()
    page.keyboard.press("Tab")
    expect(box).to_be_focused()
    was_on = box.is_checked()
    page.keyboard.press("Space")
    expect(box).to_be_checked(checked=not was_on)
    page.keyboard.press("Escape")
    # It is closed at once, and a moment later it has left the page.
    expect(page.locator("dialog.finder")).to_have_count(0)


def test_single_keys_can_be_switched_off_for_good(page, desk):
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Find")).to_contain_text("go to a room")
    toggle(page)
    for key in ("g", "p", "t", "?"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Overview")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("complementary", name="Time")).to_have_count(0)

    page.reload()
    desk.ready("overview")
    page.keyboard.press("t")
    expect(page.get_by_role("complementary", name="Time")).to_have_count(0)
    page.keyboard.press("Control+k")
    toggle(page)
    page.keyboard.press("t")
    expect(page.get_by_role("complementary", name="Time")).to_be_visible()


def test_typing_in_a_field_triggers_no_shortcut(page):
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.keyboard.press("/")
    page.keyboard.type("gt ?")

    expect(page.get_by_role("searchbox", name="Filter payments")).to_have_value("gt ?")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Payments")


def test_tab_comes_to_everything_in_each_room_and_out_of_it(page, desk):
    wrong: list[str] = []
    for room in ROOMS:
        desk.open(room)
        page.evaluate("document.activeElement?.blur()")
        said = ""
        for _ in range(STEPS_MAX):
            page.keyboard.press("Tab")
            said = page.evaluate(WHERE)
            if said.startswith("no mark"):
                wrong.append(f"{room}: {said}")
            if said == "the end":
                break
        if said != "the end":
            wrong.append(f"{room}: Tab does not come out of it")

    assert wrong == []


def test_a_key_that_is_held_down_taps_once_for_the_presenter_too(page, desk):
    desk.open("terminal")
    expect(page.get_by_role("button", name="Visa").first).to_be_visible()
    desk.keys("p")

    for _ in range(3):
        page.keyboard.down("1")

    expect(page.locator(".plain")).to_have_text("$56.00 was approved.")
    assert desk.ask("GET", "payments")["total"] == 4


def test_a_key_taps_the_card_for_what_was_typed_a_moment_before(page, desk):
    desk.open("terminal")
    expect(page.get_by_role("button", name="Visa").first).to_be_visible()

    # One after the other, before the browser has painted.
    page.evaluate("""() => {
      [...document.querySelectorAll("button")].find((one) => one.textContent === "Hold").click();
      const field = document.querySelector(".amt input");
      field.value = "444.06";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      const one = new KeyboardEvent("keydown", { key: "1" });
      return Promise.resolve().then(() => dispatchEvent(one));
    }""")

    expect(page.locator(".phone")).to_contain_text("444.06")
    expect(page.locator(".phone")).to_contain_text("Approved")
    (newest, *_) = desk.ask("GET", "payments")["payments"]
    assert (newest["status"], newest["total"]) == ("authorized", 44406)


def test_a_card_key_that_is_pressed_again_before_the_answer_pays_once(page, desk):
    held: list[Route] = []
    page.route("**/send", lambda route: held.append(route))
    desk.open("terminal")
    expect(page.get_by_role("button", name="Visa").first).to_be_visible()

    desk.keys("11")
    expect(page.get_by_role("button", name="Visa").first).to_be_visible()
    for one in held:
        one.continue_()

    expect(page.locator(".phone")).to_contain_text("Approved")
    assert desk.ask("GET", "payments")["total"] == 4


def test_a_card_key_says_why_nothing_was_paid(page, desk):
    page.route("**/send", lambda route: route.fulfill(status=502, body="a proxy without a server"))
    desk.open("terminal")
    expect(page.get_by_role("button", name="Visa").first).to_be_visible()

    desk.keys("1")

    expect(page.get_by_role("alert")).to_contain_text("the server answered 502")


def test_the_focus_stays_or_returns_or_goes_to_the_heading_of_another_room(page, desk):
    minute = page.get_by_role("button", name="+1 min")
    minute.focus()
    for now in ("12:01:00", "12:02:00"):
        page.keyboard.press("Enter")
        expect(page.get_by_role("banner")).to_contain_text(now)
        expect(minute).to_be_enabled()
    for opens, focused in (("t", ".pane h2.clockh"), ("Control+k", "dialog input[type=search]")):
        page.keyboard.press(opens)
        expect(page.locator(focused)).to_be_focused()
        page.keyboard.press("Escape")
        expect(minute).to_be_focused()

    page.get_by_role("main").get_by_role("link", name="All").focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_contain_text("Time")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    desk.open("worlds")
    reset = page.get_by_role("button", name="Reset", exact=True)
    reset.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Reset it")).to_be_focused()
    for answer in (("Tab", "Enter"), ("Enter", "Enter")):
        for key in answer:
            page.keyboard.press(key)
        expect(reset).to_be_focused()
    page.get_by_role("button", name="Mark this moment").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    page.keyboard.press("Enter")
    expect(page.get_by_text("No marks yet.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_escape_closes_the_finder_with_a_question_in_it(page):
    page.keyboard.press("Control+k")
    page.keyboard.type("nothing has this id")
    expect(page.get_by_text("Press Escape to close")).to_be_visible()

    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Find").click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
