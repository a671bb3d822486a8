"""The console in a browser of a test: its rooms, and how one gets there."""

from typing import Final

from playwright.sync_api import Page

ROOMS: Final = {
    "overview": "o",
    "terminal": "t",
    "scenarios": "s",
    "time": "",
    "payments": "p",
    "batches": "b",
    "webhooks": "w",
    "journal": "j",
    "access": "a",
    "coverage": "v",
    "clauses": "c",
    "api": "i",
    "worlds": "l",
}
"""Rooms, and the letter that goes there after `g`; the time is opened over the others."""


def heading_of(room: str) -> str:
    return "API" if room == "api" else room.title()


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
