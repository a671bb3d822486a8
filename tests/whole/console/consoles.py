"""The console in a browser of a test: its rooms, and how one gets there."""

from typing import Final

from playwright.sync_api import Page

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
