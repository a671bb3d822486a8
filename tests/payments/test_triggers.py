"""Amounts that choose an outcome: the nine-thousand blocks. Source: assumed 6.2, D3, D14."""

import pytest

from sandbox.app import build
from sandbox.platform.responses import ConnectionClosed
from sandbox.settings import Settings
from tests.driving import InProcess
from tests.payments.outcome_rows import (
    DROPS,
    HOST_CODES,
    HTTP_FAULTS,
    LATER,
    NOT_FOR_INITIATIONS,
    ROWS,
    SETTLEMENTS,
    TECHNICAL,
)
from tests.support.payments import (
    all_transactions,
    chosen,
    error,
    event_types,
    operate,
    paid_id,
    pay,
    ready_for,
    set_switches,
)

ORDINARY = "approved; source=default; rule=default"
ARMING = (900201, 900213, 900401)


def by_amount(amount, key):
    return f"{key}; source=amount; rule=amount:{amount}"


BLOCKS = {
    "host codes": (900000, HOST_CODES),
    "technical and human outcomes": (900100, TECHNICAL),
    "approved for now": (900200, dict.fromkeys(LATER, "approved")),
    "approved until it settles": (900400, dict.fromkeys(SETTLEMENTS, "approved")),
}


@pytest.mark.proves("assumed 6.1, 6.2, 6.2-later, 6.2-settlement")
@pytest.mark.parametrize("block", BLOCKS)
def test_each_amount_of_a_block_chooses_its_outcome_or_none(sandbox, block):
    first, keys = BLOCKS[block]
    amounts = range(first, first + 100)

    answered = {amount: chosen(pay(sandbox, amount)) for amount in amounts}

    assert answered == {
        amount: by_amount(amount, keys[amount]) if amount in keys else ORDINARY
        for amount in amounts
    }


@pytest.mark.proves("assumed 6.2")
def test_the_fourth_block_is_transport_faults(sandbox):
    block = [amount for amount in range(900300, 900400) if amount not in DROPS]

    answers = {amount: pay(sandbox, amount) for amount in block}

    assert {amount: (one.status, chosen(one)) for amount, one in answers.items()} == {
        amount: (HTTP_FAULTS[amount][0], by_amount(amount, HTTP_FAULTS[amount][1]))
        if amount in HTTP_FAULTS
        else (200, ORDINARY)
        for amount in block
    }
    assert all_transactions(sandbox) == len(block) - len(HTTP_FAULTS)


@pytest.mark.parametrize(("amount", "recorded"), [(900308, 0), (900309, 1)])
def test_two_amounts_of_it_close_the_connection(sandbox, amount, recorded):
    with pytest.raises(ConnectionClosed, match=DROPS[amount]):
        pay(sandbox, amount)

    assert all_transactions(sandbox) == recorded


@pytest.mark.proves("assumed 6.1")
def test_amounts_outside_the_blocks_are_ordinary_and_those_of_follow_ups_are_noted(sandbox):
    for amount in (1, 5, 51, 405, 1051, 90005, 890051, 899999, 900500, 900551, 9000051):
        answer = pay(sandbox, amount)
        assert (answer.json()["status"], chosen(answer)) == ("captured", ORDINARY), amount
        assert sandbox.journal(answer)["near_misses"] == []
    for amount, key in NOT_FOR_INITIATIONS.items():
        (near,) = sandbox.journal(pay(sandbox, amount))["near_misses"]
        assert near.startswith(f"amount amount:{amount}: {key} is for ")
    for amount in (900005, 900054, 900096, 900103):
        answer = pay(sandbox, amount, operation="auth")
        key = (HOST_CODES | TECHNICAL)[amount]
        assert chosen(answer) == by_amount(amount, key)
        assert answer.json()["status_reason"] == ROWS[key].status_reason


# --- the amounts of follow-ups ----------------------------------------------------------------

CHOSEN = [
    ("capture", 900006, "general_error", "error", "payment_failed"),
    ("capture", 900076, "no_matching_original", "error", "payment_failed"),
    ("capture", 900101, "processor_timeout", "error", "processor_timeout"),
    ("incremental_auth", 900051, "insufficient_funds", "declined", "incremental_auth_declined"),
    ("incremental_auth", 900091, "issuer_unavailable", "error", "payment_failed"),
    ("refund", 900005, "do_not_honor", "declined", "declined"),
    ("refund", 900014, "invalid_card_number", "declined", "invalid_card"),
    ("reverse", 900021, "unable_to_back_out", "error", "payment_failed"),
    ("reverse", 900079, "already_reversed", "error", "payment_failed"),
    ("tip_adjust", 900096, "system_malfunction", "error", "payment_failed"),
    ("confirm", 900005, "do_not_honor", "declined", "declined"),
]
IGNORED = [
    (
        "capture",
        900055,
        "amount amount:900055: incorrect_pin is for auth, incremental_auth, sale, not for capture",
    ),
    (
        "capture",
        900109,
        "amount amount:900109: user_canceled is for auth, confirm, sale, not for capture",
    ),
    ("refund", 900021, "amount amount:900021: unable_to_back_out is for reverse, not for refund"),
    *(
        ("refund", amount, f"amount:{amount}: only an initiation arms a payment")
        for amount in ARMING
    ),
]


@pytest.mark.proves("assumed 6.2-amount")
def test_the_amount_of_a_follow_up_chooses_its_outcome(sandbox):
    for operation, amount, key, status, reason in CHOSEN:
        # A confirmation's amount is the total with the surcharge: a little more than the sale.
        id = ready_for(sandbox, operation, 880_000 if operation == "confirm" else 2_000_000)

        answer = operate(sandbox, id, operation, amount=amount)

        assert (answer.json()["status"], answer.json()["status_reason"]) == (status, reason)
        assert chosen(answer) == by_amount(amount, key)


def test_an_amount_whose_outcome_is_for_something_else_is_ignored_and_noted(sandbox):
    for operation, amount, why in IGNORED:
        id = ready_for(sandbox, operation, 2_000_000)

        answer = operate(sandbox, id, operation, amount=amount)

        assert (answer.json()["status_reason"], chosen(answer)) == ("approved", ORDINARY)
        assert sandbox.journal(answer)["near_misses"] == [why]
        if amount in ARMING:
            assert chosen(operate(sandbox, id, operation, amount=1)) == ORDINARY


@pytest.mark.proves("assumed 6.2-amount")
@pytest.mark.parametrize("operation", ["capture", "refund", "reverse"])
def test_without_an_amount_of_its_own_a_follow_up_tests_nothing(sandbox, operation):
    id = ready_for(sandbox, operation, 900006, outcome="approved")

    answer = operate(sandbox, id, operation)

    assert (answer.json()["status_reason"], chosen(answer)) == ("approved", ORDINARY)


@pytest.mark.proves("assumed 6.2-amount")
@pytest.mark.parametrize(
    ("amount", "total", "expected"),
    [(831409, 900000, ORDINARY), (900051, 974305, by_amount(900051, "insufficient_funds"))],
)
def test_the_amount_is_that_of_the_request_before_a_configured_tax(
    sandbox, amount, total, expected
):
    answer = pay(sandbox, amount, at="tax_merchant")

    # 8.25 % are added to what was asked for (assumed 2.8-tax).
    assert (answer.json()["total_amount"], chosen(answer)) == (total, expected)


# --- armed for later --------------------------------------------------------------------------


@pytest.mark.proves("assumed 6.2-later")
@pytest.mark.parametrize("amount", LATER)
def test_the_named_operation_fails_once_and_then_no_more(sandbox, amount):
    operation, key = LATER[amount]
    id = ready_for(sandbox, operation, amount)

    first = operate(sandbox, id, operation)
    second = operate(sandbox, id, operation)

    assert chosen(first) == by_amount(amount, key)
    if operation == "confirm":
        # It ended the sale: there is nothing left to confirm (assumed F2).
        assert (first.json()["status_reason"], second.status) == (ROWS[key].status_reason, 400)
        return
    if key == "invalid_tip_adjustment":
        assert error(first) == (400, key)
    else:
        assert first.json()["status"] == ROWS[key].status
        assert first.json()["status_reason"] == ROWS[key].status_reason
    assert (second.status, second.json()["status_reason"]) == (200, "approved")
    assert chosen(second) == ORDINARY


def test_what_is_armed_waits_for_its_operation_on_its_payment(sandbox):
    id, other = (ready_for(sandbox, "capture", amount) for amount in (900201, 1000))

    answers = [
        operate(sandbox, id, "incremental_auth"),
        operate(sandbox, other, "capture"),
        operate(sandbox, id, "capture", outcome="general_error"),
        operate(sandbox, id, "capture"),
    ]

    assert [chosen(answer) for answer in answers] == [
        *(ORDINARY, ORDINARY, "general_error; source=header; rule=header"),
        by_amount(900201, "capture_declined"),
    ]


# --- switched off -----------------------------------------------------------------------------


@pytest.mark.proves("assumed 6.2")
def test_switched_off_an_amount_is_ordinary_arms_nothing_and_is_noted(sandbox):
    set_switches(sandbox, {"triggers.enabled": False})

    for amount in (900005, 900051, 900101, 900114, 900201, 900303, 900308, 900401):
        answer = pay(sandbox, amount)

        assert (answer.json()["status"], chosen(answer)) == ("captured", ORDINARY)
        near = [f"amount:{amount}: triggers.enabled is off"]
        assert sandbox.journal(answer)["near_misses"] == near
    forced = pay(sandbox, 900005, outcome="lost_card")
    assert chosen(forced) == "lost_card; source=header; rule=header"
    id = ready_for(sandbox, "capture", 900201)
    set_switches(sandbox, {"triggers.enabled": True})
    assert chosen(operate(sandbox, id, "capture")) == ORDINARY


# --- how answers explain themselves -----------------------------------------------------------


@pytest.mark.proves("assumed D3, D14")
def test_the_journal_names_the_outcome_as_the_answer_does(sandbox):
    answer = pay(sandbox, 900051)

    entry = sandbox.journal(answer)
    assert entry["outcome"] == {
        "key": "insufficient_funds",
        "source": "amount",
        "rule": "amount:900051",
    }
    decided = [one for one in entry["decisions"] if one["step"] == "outcome"]
    assert [(one["verdict"], one["clause"]) for one in decided] == [
        ("insufficient_funds", "assumed D4")
    ]


@pytest.mark.proves("assumed D3")
def test_an_answer_without_an_outcome_names_none_and_a_setting_removes_every_header(sandbox):
    id = paid_id(sandbox)

    refused = operate(sandbox, id, "capture")
    looked_up = sandbox.ask("GET", f"/v1/transactions/{id}", key="partner")

    # Decided by rule, before anybody asked the processor (assumed F32).
    assert (refused.status, chosen(refused), chosen(looked_up)) == (400, None, None)
    assert event_types(sandbox, refused) == ["transaction.capture"]
    answer = pay(InProcess(build(Settings(explain_headers=False))), 900051)
    assert answer.json()["status_reason"] == "insufficient_funds"
    assert set(answer.headers) == {"content-type", "content-length"}
