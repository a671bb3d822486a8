"""Readings of blocked accounts: the answer, the operations and the accounts that a block stops."""

from functools import partial

import pytest

from tests.support.payments import ACTIONS

NEW = {"sale", "auth"}
PAYMENTS = {*NEW, *ACTIONS, "refund by id", "open a batch", "close a batch"}
CHANGES = {*PAYMENTS, "edit a batch", "terminal", "location", "key"}
STOPPED = {"payments": PAYMENTS, "new_payments": NEW, "changes": CHANGES}


def _requests(sandbox):
    """What can be asked for the merchant, by name; made ready before the block."""
    merchant = sandbox.account_id("merchant")
    second = sandbox.a_terminal("merchant", mid="886000007777", tid="00007777")["terminal_id"]
    batch = sandbox.opened_batch(at=second)
    ready = {action: sandbox.ready_for(action) for action in ACTIONS}
    ready["confirm"] = sandbox.prompted()["transaction_id"]
    by_id = {"transaction_id": sandbox.sold()["transaction_id"]}
    free = sandbox.a_terminal("merchant", mid="886000008888", tid="00008888")["terminal_id"]
    key = {"name": "till", "permissions": ["payments:read"], "account_id": merchant}
    place = {"name": "new", "account_id": merchant}
    return {
        **{kind: partial(sandbox.pay, operation=kind) for kind in NEW},
        **{name: partial(sandbox.operate, id, name) for name, id in ready.items()},
        "refund by id": lambda: sandbox.post("/v3/refund", by_id),
        "edit a batch": lambda: sandbox.edit_batch(batch["id"], processor_batch_id="042"),
        "open a batch": lambda: sandbox.open_batch(at=free),
        "close a batch": lambda: sandbox.close_batch(batch["id"]),
        "terminal": lambda: sandbox.put(f"/v2/terminals/{second}", {"name": "other"}),
        "location": lambda: sandbox.post("/v1/locations", place),
        "key": lambda: sandbox.post("/v5/apikeys", key),
        "read": lambda: sandbox.get(f"/v1/transactions/{by_id['transaction_id']}"),
        "account": lambda: sandbox.put(f"/v1/accounts/{merchant}", {"name": "other"}),
        "unblock": lambda: sandbox.post(f"/v1/accounts/{merchant}/unblock"),
    }


@pytest.mark.proves("assumed D35-block-stops, 4.7-blocked-account, 4.7-blocked-key, Q26")
@pytest.mark.parametrize("blocked", ["merchant", "partner"])
@pytest.mark.parametrize("value", ["payments", "new_payments", "changes"])
def test_a_block_stops_the_operations_of_the_reading(sandbox, value, blocked):
    sandbox.choose(block_stops=value)
    requests = _requests(sandbox)
    sandbox.set_status("account", blocked)

    why = sandbox.journal(sandbox.pay())["decisions"][-1]["reason"]
    answered = {name: asked().status for name, asked in requests.items()}

    assert {name for name, status in answered.items() if status == 423} == STOPPED[value]
    assert {status for status in answered.values() if status != 423} <= {200, 201}
    assert f"account {sandbox.account_id(blocked)} " in why


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
def test_a_blocked_request_has_the_answer_of_the_reading(sandbox, value, status):
    sandbox.choose(block_answer=value)
    requests = _requests(sandbox)
    fails = NEW if value == "invalid_terminal" else set()
    sandbox.set_status("account", "merchant")

    with sandbox.unchanged():
        for name in sorted(PAYMENTS - fails):
            answer = requests[name]()
            assert answer.error() == (status, "account_blocked"), name
    for name in fails:
        answer = requests[name]()
        tx = answer.expect(200)
        assert (tx["status"], tx["status_reason"]) == ("error", "invalid_terminal")
        assert "assumed D35-block-answer" in str(sandbox.journal(answer)["decisions"])
        assert sandbox.read(tx) == tx
    lift = sandbox.put(_of(sandbox), {"status": "active"}, by="merchant")
    assert lift.error() == (status, "account_blocked")
    assert sandbox.put(_of(sandbox), {"status": "active"}).status == 200
    assert sandbox.pay().json()["status"] == "captured"


def _of(sandbox):
    return f"/v1/accounts/{sandbox.account_id('merchant')}"


@pytest.mark.proves("assumed D35-block-reaches")
def test_a_block_reaches_the_account_itself_alone(sandbox):
    sandbox.choose(block_reaches="itself")
    requests = _requests(sandbox)
    sandbox.set_status("account", "partner")

    for name in PAYMENTS:
        assert requests[name]().status in (200, 201), name
    sandbox.set_status("account", "merchant")
    assert sandbox.pay().status == 423
