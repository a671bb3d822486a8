"""Readings of blocked accounts: the answer, the operations and the accounts that a block stops."""

import pytest

from tests.directory.making import a_terminal, account_id, shown
from tests.readings.choosing import choose
from tests.support.payments import (
    OPERATIONS,
    act,
    ask,
    close_batch,
    edit_batch,
    held,
    open_batch,
    opened_batch,
    pay,
    prompted,
    read,
    set_status,
    sold,
)

SUITS = {
    "capture": held,
    "incremental_auth": held,
    "reverse": held,
    "tip_adjust": sold,
    "refund": sold,
    "confirm": prompted,
}
"""The payment that each action suits."""

NEW = {"sale", "auth"}
PAYMENTS = {*NEW, *SUITS, "refund by id", "open a batch", "close a batch"}
CHANGES = {*PAYMENTS, "edit a batch", "terminal", "location", "key"}
STOPPED = {"payments": PAYMENTS, "new_payments": NEW, "changes": CHANGES}


def _requests(sandbox):
    """What can be asked for the merchant, by name; made ready before the block."""
    merchant = account_id(sandbox, "merchant")
    second = a_terminal(sandbox, "merchant", mid="886000007777", tid="00007777")["terminal_id"]
    batch = opened_batch(sandbox, at=second)
    paid = {action: begin(sandbox) for action, begin in SUITS.items()}
    by_id = {"transaction_id": sold(sandbox)["transaction_id"]}
    free = a_terminal(sandbox, "merchant", mid="886000008888", tid="00008888")["terminal_id"]
    key = {"name": "till", "permissions": ["payments:read"], "account_id": merchant}
    place = {"name": "new", "account_id": merchant}
    return {
        **{kind: lambda kind=kind: pay(sandbox, operation=kind) for kind in NEW},
        **{
            action: lambda verb=OPERATIONS[action], tx=tx: act(sandbox, tx, verb[0], **verb[1])
            for action, tx in paid.items()
        },
        "refund by id": lambda: ask(sandbox, "POST", "/v3/refund", by_id),
        "edit a batch": lambda: edit_batch(sandbox, batch["id"], processor_batch_id="042"),
        "open a batch": lambda: open_batch(sandbox, at=free),
        "close a batch": lambda: close_batch(sandbox, batch["id"]),
        "terminal": lambda: ask(sandbox, "PUT", f"/v2/terminals/{second}", {"name": "other"}),
        "location": lambda: ask(sandbox, "POST", "/v1/locations", place),
        "key": lambda: ask(sandbox, "POST", "/v5/apikeys", key),
        "read": lambda: ask(sandbox, "GET", f"/v1/transactions/{by_id['transaction_id']}"),
        "account": lambda: ask(sandbox, "PUT", f"/v1/accounts/{merchant}", {"name": "other"}),
        "unblock": lambda: ask(sandbox, "POST", f"/v1/accounts/{merchant}/unblock"),
    }


@pytest.mark.proves("assumed D35-block-stops, 4.7-blocked-account, 4.7-blocked-key, Q26")
@pytest.mark.parametrize("blocked", ["merchant", "partner"])
@pytest.mark.parametrize("value", ["payments", "new_payments", "changes"])
def test_a_block_stops_the_operations_of_the_reading(sandbox, value, blocked):
    choose(sandbox, block_stops=value)
    requests = _requests(sandbox)
    set_status(sandbox, "account", blocked)

    answered = {name: asked().status for name, asked in requests.items()}

    assert {name for name, status in answered.items() if status == 423} == STOPPED[value]
    assert {status for status in answered.values() if status != 423} <= {200, 201}


@pytest.mark.proves("assumed D35-block-answer")
@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("locked", 423),
        ("forbidden", 403),
        ("unauthorized", 401),
        ("bad_request", 400),
        ("invalid_terminal", 423),
    ],
)
def test_what_a_block_stops_has_the_answer_of_the_reading(sandbox, value, status):
    choose(sandbox, block_answer=value)
    requests = _requests(sandbox)
    fails = NEW if value == "invalid_terminal" else set()
    set_status(sandbox, "account", "merchant")
    before = sandbox.state()

    for name in sorted(PAYMENTS - fails):
        answer = requests[name]()
        assert (answer.status, answer.json()["error"]) == (status, "account_blocked"), name
    assert sandbox.state() == before
    for name in fails:
        tx = shown(requests[name]())
        assert (tx["status"], tx["status_reason"]) == ("error", "invalid_terminal")
        assert read(sandbox, tx) == tx
    lift = ask(sandbox, "PUT", _of(sandbox), {"status": "active"}, by="merchant")
    assert (lift.status, lift.json()["error"]) == (status, "account_blocked")
    assert ask(sandbox, "PUT", _of(sandbox), {"status": "active"}).status == 200
    assert pay(sandbox).json()["status"] == "captured"


def _of(sandbox):
    return f"/v1/accounts/{account_id(sandbox, 'merchant')}"


@pytest.mark.proves("assumed D35-block-reaches")
@pytest.mark.parametrize(("value", "status"), [("descendants", 423), ("itself", 200)])
def test_a_block_reaches_all_below_the_account_or_itself_alone(sandbox, value, status):
    choose(sandbox, block_reaches=value)
    requests = _requests(sandbox)
    set_status(sandbox, "account", "partner")

    for name in PAYMENTS:
        answered = requests[name]().status
        assert (name, answered) == (name, 423 if status == 423 else answered)
        assert answered in (status, 201)

    if status == 423:
        why = sandbox.journal(pay(sandbox))["decisions"][-1]["reason"]
        assert f"account {account_id(sandbox, 'partner')} " in why
    set_status(sandbox, "account", "partner", "active")
    assert pay(sandbox).status == 200
    set_status(sandbox, "account", "merchant")
    assert pay(sandbox).status == 423
