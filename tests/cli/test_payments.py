"""`sandbox pay`, what acts on payments, and `next` and `tap`, which say how they end."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from sandbox.cli.arguments import units_of
from sandbox.domain.currencies import in_units
from tests.cli.asking import Shell, ask, shell_in
from tests.driving import until
from tests.support.open_requests import desk_opens


@pytest.fixture(scope="module")
def till(served) -> Shell:
    return shell_in(served, "verbs")


def test_a_payment_is_one_line_with_its_id_status_amount_card_and_next_step(till):
    line = till("pay 10.5 --card tok_amex")
    paid = till.json("pay 10 --event-id e-1")

    id, status, reason, amount, currency, *card = line.split()
    assert (len(id), status, reason) == (36, "captured:", "approved")
    assert [amount, currency, *card[:2]] == ["10.50", "USD", "Amex", "371449*****8431"]
    assert f"  next: sandbox batch close {paid['batch_id'][:8]}\n" in line
    assert (paid["total_amount"], paid["event_id"]) == (1000, "e-1")


def test_the_next_step_names_the_server_and_the_world_if_the_command_line_did(till):
    held = till(f"pay 25 --hold --as second_merchant --world {till.world}")
    there = ["--world", till.world, "--url", till.server.url]
    elsewhere = ask("pay", "10", *there).stdout
    closed = ask("batch", "close", "--world", till.world, server=till.server).stdout

    assert held.endswith(f"next: sandbox capture {held[:8]} --world {till.world}\n")
    assert "next: sandbox batch close " in elsewhere
    assert elsewhere.endswith(f" --url {till.server.url} --world {till.world}\n")
    assert closed.endswith(f"next: sandbox batch list --world {till.world}\n")
    options = f"--url {till.server.url} --world {till.world}"
    assert f"; `sandbox resend last {options}` sends" in ask("resend", *there).stderr
    assert (
        f"; `sandbox listen URL {options}` registers"
        in ask("trigger", "batch.accepted", *there).stderr
    )
    assert f"; `sandbox batch list {options}` lists" in ask("batch", "report", "0", *there).stderr


def test_a_payment_shows_what_is_special_about_it(till):
    prepaid, terminal = "pay 80 --card tok_mc_prepaid", till.view["terminals"]["tax_merchant"]
    for line, words in {
        prepaid: ["30.00 still to pay", "next: sandbox pay 30.00"],
        f"{prepaid} --as partner": [" --as partner\n"],
        f"{prepaid} --as partner --terminal tax_merchant": [f" --terminal {terminal}\n"],
        "pay 10 --outcome user_canceled": ["  canceled: user_canceled  10.00 USD\n"],
        "pay 10 --tip 2": ["12.00 USD (tip 2.00)"],
        "pay 10 --outcome pending_forever": ["pending  10.00", "next: sandbox answer "],
        "pay 9000.51": ["declined: insufficient_funds", "chosen by the amount 900051", "tail"],
        "pay 10 --outcome lost_card": ["lost_card, chosen by the header"],
        "pay 10 --as partner --terminal tax_merchant": ["USD (tax 0."],
    }.items():
        shown = till(line)
        assert [word for word in words if word not in shown] == [], line


def test_a_hold_is_raised_captured_refunded_and_named_by_the_beginning_of_its_id(till):
    held = till("pay 25 --hold --as second_merchant")
    id = held.split()[0]
    raised = till("increment last 5")
    captured = till(f"capture {id[:9]} 28.5")
    refunded = till(f"refund {id} 2")
    whole = till.json("refund last")
    refused = till.invoke("refund last --json")

    assert f"next: sandbox capture {id[:8]}" in held
    assert "authorized: approved  30.00 USD" in raised
    assert "captured: approved  28.50 USD" in captured
    assert "(refunded 2.00)" in refunded
    assert (whole["transaction_id"], whole["refunded"], whole["status"]) == (id, 2850, "refunded")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["error"] in refused.stderr


def test_a_tip_is_an_amount_or_a_percentage_and_a_payment_is_reversed(till):
    till("pay 20")

    assert "23.00 USD (tip 3.00)" in till("tip last 3")
    assert "22.00 USD (tip 2.00)" in till("tip last 10%")
    assert "reversed 1.00" in till("reverse last 1")


def test_an_attempt_that_timed_out_is_answered_late(till):
    id = till("pay 20 --outcome processor_timeout").split()[0]

    paid = till(f"answer {id[:9]}")
    till("refund last 5 --outcome processor_timeout")
    refunded = till("answer last")
    till("refund last 6 --outcome processor_timeout")
    declined = till.json("answer last do_not_honor")

    assert paid == f"{id}  sale: captured (approved)  20.00 USD\n"
    assert refunded == f"{id}  refund: captured (approved)  20.00 USD (refunded 5.00)\n"
    assert (declined["payment"]["refunded"], declined["unanswered"]) == (500, [])


def test_a_surcharge_is_confirmed_by_a_member_that_acts_through_its_parent(till):
    for answer, status in (("yes", "captured:"), ("no", "canceled:")):
        asked = till("pay 20 --as surcharge_merchant").split()
        done = till(f"confirm last {answer}").split()

        assert asked[1].startswith("surcharge_pending")
        assert done[:2] == [asked[0], status]


def test_amounts_are_units_of_their_currency():
    for text, currency, minor, back in (
        ("10", None, 1000, "10.00"),
        ("10.5", "USD", 1050, "10.50"),
        ("007", "USD", 700, "7.00"),
        ("1500", "JPY", 1500, "1500"),
        ("1.234", "KWD", 1234, "1.234"),
    ):
        assert (units_of(text, currency, "AMOUNT"), in_units(minor, currency)) == (minor, back)


@pytest.mark.proves("assumed D35-decline")
def test_a_decline_is_a_result_whatever_its_http_status(served):
    rule = {"name": "low; b", "when": {"amount": 900_051}, "then": {"outcome": "lost_card"}}
    readings, scenario = {"decline_status": "http_402"}, {"name": "mine", "rule": [rule]}
    till = shell_in(served, "declines", readings=readings, scenario=scenario)

    declined = till("pay 9000.51")
    till("pay 10")
    till("next refund_declined --operation refund")
    refund = till("refund last")

    assert "lost_card, chosen by the scenario low; b  " in declined
    assert "refund_declined, chosen by the queue" in refund
    till.refuses("capture last", 1, "400", "cannot be captured")


@pytest.mark.proves("assumed D30")
def test_amounts_are_read_and_shown_in_the_currency_of_the_terminal(served):
    till = shell_in(served, "yen")
    terminal = till.a_terminal(currency_code="JPY")["terminal_id"]

    paid = till(f"pay 1500 --terminal {terminal}")
    id = paid.split()[0]
    refunded = till(f"refund {id} 100 --as merchant")
    closed = till(f"batch close --terminal {terminal}")
    _, row = till("batch list").splitlines()
    _, *rows, _ = till("batch report last").splitlines()

    assert "1500 JPY" in paid
    assert "1500 JPY (refunded 100)" in refunded
    assert "captured 1500  refunded 100" in closed
    assert row.split()[2:5] == ["2", "1500", "100"]
    assert [one.split()[2] for one in rows] == ["1500", "100"]
    till.refuses(f"pay 10.50 --terminal {terminal}", 2, "JPY has no decimals")


# --- next and tap -------------------------------------------------------------------------------


def test_the_next_matching_attempt_gets_the_queued_outcome_unless_it_is_cleared(shell):
    shown = shell("next partial_approval --operation sale --approved-amount 400")
    paid = shell.paid()
    empty = shell("next")
    shell("next --fault http_503 --delay-ms 5")
    waiting = shell.json("next lost_card")["queue"]

    assert shown.splitlines()[1].split() == ["partial_approval", "-", "sale", "-", "400", "0"]
    assert paid["status_reason"] == "partial_approval"
    assert paid["additional_details"]["captured_amount"] == 400
    assert empty.startswith("the queue is empty")
    entries = [(entry["outcome"], entry["fault"], entry["delay_ms"]) for entry in waiting]
    assert entries == [(None, "http_503", 5), ("lost_card", None, 0)]
    assert shell.json("next --clear") == {"queue": [], "total": 0}


def test_a_payment_that_waits_is_listed_and_tapped_or_called_off_by_its_id(shell):
    desk_opens(shell)
    with ThreadPoolExecutor(1) as cashier:
        paying = cashier.submit(shell.paid)
        until(lambda: shell.look("taps")["total"])
        headers, waiting = shell("tap").splitlines()
        done = shell("tap --card tok_amex")
        paid = paying.result(10)
        paying = cashier.submit(shell.paid)
        (other,) = until(lambda: shell.json("tap")["taps"])
        ended = shell.json(f"tap {other['transaction_id']} --cancel user")
        canceled = paying.result(10)

    assert headers.split()[:3] == ["transaction", "id", "operation"]
    assert waiting.split()[:4] == [paid["transaction_id"], "sale", "10.00", "USD"]
    assert done == f"{paid['transaction_id']}  captured: approved\n"
    assert paid["card_brand"] == "Amex"
    assert ended["transaction_id"] == other["transaction_id"]
    assert ended["status"] == canceled["status"] == "canceled"
