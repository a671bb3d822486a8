"""Scenarios in the console: their examples are proved, and played, in a real browser."""

from playwright.sync_api import expect

from tests.whole.console.consoles import retype
from tests.whole.console.watching import faults

STORY = """name = "Mine"

[[rule]]
when = { operation = "sale" }
then = { outcome = "insufficient_funds", times = 1 }

[[example]]
name = "declined once"
send = { operation = "sale" }
expect = { status_reason = "insufficient_funds" }

[[example]]
name = "hopeful"
send = { operation = "sale" }
expect = { status = "declined" }
"""


def test_a_file_is_proved_with_its_mistakes_under_their_lines_before_it_runs(page, desk):
    desk.open("scenarios?edit=new")
    retype(page, STORY)
    prove = page.get_by_role("button", name="Prove", exact=True)
    prove.click()

    proof = page.get_by_role("region", name="Proof")
    expect(proof.get_by_role("status")).to_have_text("1 of 2 failed.")
    expect(proof.get_by_role("listitem").first).to_contain_text("passed")
    mistake = page.locator(".mistake")
    expect(mistake).to_contain_text("status: expected 'declined', got 'captured'")
    before = mistake.evaluate("(one) => one.previousElementSibling.textContent")
    assert before == "[[example]]"
    assert faults(page) == []
    # Nothing happened here, and another text is another matter.
    assert desk.ask("GET", "payments")["total"] == 0
    retype(page, STORY.replace('status = "declined"', 'status = "captured"'))
    expect(mistake).to_have_count(0)
    expect(proof).to_have_count(0)
    prove.click()
    expect(proof.get_by_role("status")).to_have_text("All 2 passed.")


def test_examples_of_the_running_scenario_are_played_in_the_world(page, desk):
    desk.ask("PUT", "scenario", {"toml": STORY})
    desk.open("scenarios")
    stop = page.get_by_role("button", name="Stop")
    stop.focus()
    desk.pay(1000)
    rule = page.get_by_role("row").filter(has_text="used up")
    expect(rule.locator(".ct", has_text="applied 1")).to_have_count(1)
    expect(rule.get_by_role("link", name="req_0000000001")).to_be_visible()
    expect(stop).to_be_focused()
    desk.ask("PUT", "scenario", {"toml": STORY})
    page.get_by_role("button", name="Play up to here: hopeful").click()

    came = page.get_by_role("region", name="What was played")
    expect(came.get_by_role("status")).to_contain_text("differs from what the scenario expects")
    first, second = came.locator("tbody tr").all()
    expect(first).to_contain_text("insufficient_funds")
    expect(second).to_contain_text("status: expected 'declined', got 'captured'")
    expect(second).to_contain_text("POST /v3/payment")
    assert faults(page) == []
    assert desk.ask("GET", "payments")["total"] == 3
    second.get_by_role("link", name="captured").click()
    expect(page.get_by_role("region", name="Payment")).to_contain_text("captured")
