"""The console in a browser of a test: its rooms, and how one gets there."""

from typing import Final

from playwright.sync_api import Page, expect

from tests.driving import Served

ROOMS: Final = {
    "overview": "Overview",
    "terminal": "Terminal",
    "scenarios": "Scenarios",
    "time": "Time",
    "payments": "Payments",
    "batches": "Batches",
    "webhooks": "Webhooks",
    "journal": "Journal",
    "access": "Access",
    "coverage": "Coverage",
    "clauses": "Clauses",
    "api": "API",
    "worlds": "Worlds",
}
"""Rooms and their headings."""

LETTERS: Final = {
    "t": "terminal",
    "s": "scenarios",
    "p": "payments",
    "b": "batches",
    "w": "webhooks",
    "j": "journal",
    "a": "access",
    "v": "coverage",
    "c": "clauses",
    "i": "api",
    "l": "worlds",
    "o": "overview",
}
"""After `g`, the letter of a room."""


def go(page: Page, server: Served, place: str, *, at: str = "default") -> None:
    page.goto(f"{server.facts['control_url']}/#/{at}/{place}")


def ready(page: Page, room: str) -> None:
    """Wait until the room is there, filled, and follows the world."""
    expect(page.get_by_role("heading", level=1)).to_contain_text(ROOMS[room])
    expect(page.locator(".live")).to_have_text("live")


def pay(
    server: Served, amount: int, *, card: str = "tok_visa_credit", path: str = "/v3/payment"
) -> str:
    """The id of a payment of the merchant."""
    body = {
        "amount": amount,
        "terminal_id": server.facts["terminals"]["merchant"],
        "card_reader_data": {"paymentCardData": card},
    }
    return str(server.ask("POST", path, key="merchant", json=body).json()["transaction_id"])


SCENARIO = """name = "Mine"

[[rule]]
when = { operation = "sale" }
then = { outcome = "lost_card" }
"""


def retype(page: Page, text: str) -> None:
    """Write another text into the editor of a scenario, pasted: the editor indents by itself."""
    page.get_by_role("textbox", name="Scenario file").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)
