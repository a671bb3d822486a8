"""`sandbox pay` and what acts on payments: real payments, taken and changed from a shell."""

import json

import pytest

from sandbox.cli.arguments import minor_units
from sandbox.domain.currencies import in_units
from tests.cli.asking import add_world, ask, told


@pytest.fixture(scope="module")
def at(served):
    return ("--world", add_world(served, "verbs")["id"])


def id_in(line: str) -> str:
    return line.split()[0]


def test_a_payment_is_one_line_with_its_id_status_amount_card_and_next_step(served, at):
    line = told("pay", "10.5", "--card", "tok_amex", *at, server=served)
    paid = json.loads(told("pay", "10", "--event-id", "e-1", "--json", *at, server=served))

    id, status, reason, amount, currency, *card = line.split()
    assert (len(id), status, reason) == (36, "captured:", "approved")
    assert [amount, currency, *card[:2]] == ["10.50", "USD", "Amex", "371449*****8431"]
    assert f"  next: sandbox batch close {paid['batch_id'][:8]}\n" in line
    assert (paid["total_amount"], paid["event_id"]) == (1000, "e-1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["80", "--card", "tok_mc_prepaid"], ["30.00 still to pay", "next: sandbox pay 30.00"]),
        (["10", "--tip", "2"], ["12.00 USD (tip 2.00)"]),
        (["9000.51"], ["declined: insufficient_funds", "chosen by the amount 900051", "tail"]),
        (["10", "--outcome", "lost_card"], ["lost_card, chosen by the header"]),
        (["10", "--as", "partner", "--terminal", "tax_merchant"], ["USD (tax 0."]),
    ],
    ids=str,
)
def test_a_payment_shows_what_is_special_about_it(served, at, arguments, words):
    line = told("pay", *arguments, *at, server=served)

    assert [word for word in words if word not in line] == []


def test_a_hold_is_raised_captured_refunded_and_named_by_the_beginning_of_its_id(served, at):
    held = told("pay", "25", "--hold", "--as", "second_merchant", *at, server=served)
    id = id_in(held)
    raised = told("increment", "last", "5", *at, server=served)
    captured = told("capture", id[:9], "28.5", *at, server=served)
    refunded = told("refund", id, "2", *at, server=served)
    whole = json.loads(told("refund", "last", "--json", *at, server=served))

    assert f"next: sandbox capture {id[:8]}" in held
    assert "authorized: approved  30.00 USD" in raised
    assert "captured: approved  28.50 USD" in captured
    assert "(refunded 2.00)" in refunded
    assert (whole["transaction_id"], whole["refunded"], whole["status"]) == (id, 2850, "refunded")


def test_a_tip_is_an_amount_or_a_percentage_and_a_payment_is_reversed(served, at):
    told("pay", "20", *at, server=served)

    fixed = told("tip", "last", "3", *at, server=served)
    rated = told("tip", "last", "10%", *at, server=served)
    reversed_in_part = told("reverse", "last", "1", *at, server=served)

    assert "23.00 USD (tip 3.00)" in fixed
    assert "22.00 USD (tip 2.00)" in rated
    assert "reversed 1.00" in reversed_in_part


def test_an_attempt_that_timed_out_is_answered_late(served, at):
    id = id_in(told("pay", "20", "--outcome", "processor_timeout", *at, server=served))

    paid = told("answer", id[:9], *at, server=served)
    told("refund", "last", "5", "--outcome", "processor_timeout", *at, server=served)
    refunded = told("answer", "last", *at, server=served)
    told("refund", "last", "6", "--outcome", "processor_timeout", *at, server=served)
    declined = json.loads(told("answer", "last", "do_not_honor", "--json", *at, server=served))

    assert paid == f"{id}  sale: captured (approved)  20.00 USD\n"
    assert refunded == f"{id}  refund: captured (approved)  20.00 USD (refunded 5.00)\n"
    assert (declined["payment"]["refunded"], declined["unanswered"]) == (500, [])


@pytest.mark.parametrize(("answer", "status"), [("yes", "captured"), ("no", "canceled")])
def test_a_surcharge_is_confirmed_by_a_member_that_acts_through_its_parent(
    served, at, answer, status
):
    asked = told("pay", "20", "--as", "surcharge_merchant", *at, server=served)
    done = told("confirm", "last", answer, *at, server=served)

    assert "surcharge_pending" in asked
    assert done.split()[1].rstrip(":") == status
    assert id_in(done) == id_in(asked)


def test_a_refusal_as_json_is_the_platform_s_answer_and_its_reason(served, at):
    told("pay", "10", *at, server=served)
    told("refund", "last", *at, server=served)
    done = ask("refund", "last", "--json", *at, server=served)

    assert done.exit_code == 1
    assert json.loads(done.stdout)["error"] in done.stderr


@pytest.mark.parametrize(
    ("text", "currency", "minor", "back"),
    [
        ("10", None, 1000, "10.00"),
        ("10.5", "USD", 1050, "10.50"),
        ("007", "USD", 700, "7.00"),
        ("1500", "JPY", 1500, "1500"),
        ("1.234", "KWD", 1234, "1.234"),
    ],
)
def test_amounts_are_units_of_their_currency(text, currency, minor, back):
    assert minor_units(text, currency) == minor
    assert in_units(minor, currency) == back
