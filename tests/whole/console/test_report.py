"""The report of a test run in a real browser: opened as a file, without a server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.testing.pytesting import run_pytest
from tests.whole.console.consoles import ROOMS
from tests.whole.console.watching import faults

TESTS = """
import pytest

@pytest.fixture
def paid(sandbox):
    sandbox.endpoint("http://127.0.0.1:9/hook", description="ours")
    body = {"amount": 4200, "terminal_id": sandbox.terminal()}
    id = sandbox.client().post("/v3/payment", json=body).json()["transaction_id"]
    sandbox.webhooks.settle()
    return id

@pytest.mark.sandbox(clock="2026-03-01T12:00:00Z")
def test_the_partner_refunds(sandbox, paid):
    stranger = sandbox.client("other_merchant")
    answer = stranger.post("/v3/payment", json={"amount": 1, "terminal_id": sandbox.terminal()})
    assert answer.status_code == 200

@pytest.mark.sandbox(clock="2026-03-01T12:00:00Z")
def test_the_amount_is_right(sandbox, paid):
    assert "<img src=x onerror=alert(1)>" == paid
"""
FIRST = "test_report.py::test_the_partner_refunds"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run in which two tests failed."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "test_report.py").write_text(TESTS)
    run = run_pytest(folder, "--sandbox-report=out", "test_report.py")
    assert run.code == 1, run.output
    return folder / "out" / "report.html"


@pytest.fixture
def page(page: Page, report: Path) -> Iterator[Page]:
    """A page that asks for the report and nothing else."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
    page.goto(report.as_uri())
    yield page
    assert {url for url in asked if not url.startswith("data:")} == {report.as_uri()}


def go(page: Page, room: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=room.title()).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(room.title())


def test_a_developer_finds_out_without_a_server_why_ci_was_refused(page):
    page.get_by_role("link", name=FIRST).click()

    refused = page.locator("a.row", has_text="404").first
    refused.click()
    detail = page.get_by_role("region", name="Request")
    expect(detail).to_contain_text("outside the caller's hierarchy")
    expect(detail.locator(".steps li.no .cl")).to_have_text(re.compile("spec|assumed"))

    page.get_by_role("link", name="Open in the lens").click()
    lens = page.get_by_role("region", name="Key")
    expect(lens).to_contain_text("It would be refused")
    lens.get_by_role("link", name="merchant", exact=True).click()
    expect(page.get_by_role("region", name="Key")).to_contain_text("It would be carried out")

    page.get_by_role("region", name="Key").locator(".steps .cl").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Clauses")
    expect(page.locator("dl.clauses dt")).to_have_count(1)


def test_each_room_has_what_the_capture_holds_or_says_what_it_needs(page):
    page.get_by_role("link", name=FIRST).click()
    expect(page.locator(".captured")).to_contain_text("can be read, but not changed")

    go(page, "payments")
    page.locator("a.row", has_text="$42.00").click()
    payment = page.get_by_role("region", name="Payment")
    expect(payment.get_by_role("button", name="Refund")).to_have_count(0)

    go(page, "batches")
    page.get_by_role("list", name="Batches").locator("a.row").click()
    batch = page.get_by_role("region", name="Batch")
    expect(batch).to_contain_text("capture of")
    expect(batch.get_by_role("button", name="Close it")).to_have_count(0)
    expect(batch).not_to_contain_text("Have batches wait")

    go(page, "webhooks")
    page.get_by_role("list", name="Messages").locator("a.row").first.click()
    message = page.get_by_role("region", name="Message")
    expect(message).to_contain_text("genuine")

    go(page, "time")
    expect(page.locator(".clockh")).to_contain_text("12:00:00")
    page.get_by_role("main").get_by_role("button", name="the key expires").first.click()
    expect(page.locator(".pv")).to_contain_text("spec 3.1-expiry")
    expect(page.locator(".pv")).not_to_contain_text("Advance")
    expect(page.locator("body")).not_to_contain_text("does not have this")
    go(page, "coverage")
    expect(page.locator("main")).to_contain_text("payments.create 2")
    expect(page.locator("main")).not_to_contain_text("All worlds")
    for room in ("terminal", "scenarios"):
        go(page, room)
        expect(page.locator("main")).to_contain_text("needs a running sandbox")


def test_axe_finds_nothing_in_any_room_of_a_report(page):
    # What a test failed with is text.
    expect(page.locator("main")).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("main img").count() == 0
    found = []
    for room in (*(one for one in ROOMS if one not in ("api", "worlds")), "captures"):
        go(page, room)
        found += [f"{room}: {one}" for one in faults(page)]

    assert found == []
