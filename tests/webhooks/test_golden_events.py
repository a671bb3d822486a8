"""The golden bodies of the events, and the samples that are sent of them, and to whom."""

import json
from typing import Any

import pytest

from sandbox import library
from sandbox.domain.events import EVENTS
from tests.driving import InProcess

NEW_ACCOUNT = "account.created"
"""The one that cannot be about an account which was there before."""


def golden(event_type: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(library.sample(event_type))
    return body


def send(sandbox: InProcess, event_type: str, **changes: Any) -> dict[str, Any]:
    """The message of a sample."""
    sent: dict[str, Any] = sandbox.look(f"messages/{sandbox.emit(event_type, **changes)}")
    return sent


def listen(sandbox: InProcess, *owners: str) -> None:
    """An endpoint of each of these accounts of the cast, which is its id too."""
    for owner in owners:
        sandbox.add_endpoint(id=owner, account_id=sandbox.account_id(owner))


def audience(sent: dict[str, Any]) -> list[str]:
    return [one["endpoint_id"] for one in sent["deliveries"]]


# --- samples ----------------------------------------------------------------------------------

SUBJECTS = {"transaction": "transaction_id", "terminal": "terminal_id"}


@pytest.mark.proves("assumed 8.3-audience")
def test_every_sample_has_the_golden_body_and_is_for_the_accounts_above(sandbox):
    merchant = sandbox.account_id("merchant")
    listen(sandbox, "merchant", "second_merchant", "partner", "other_partner", "psp")

    for event_type in EVENTS:
        sent = send(sandbox, event_type)
        assert (sent["event_type"], sent["body"]) == (event_type, golden(event_type))
        subject = SUBJECTS.get(event_type.partition(".")[0], "id")
        assert sent["subject"] == sent["body"][subject], event_type
        assert sent["request_id"] is None
        is_new = event_type == NEW_ACCOUNT
        assert (sent["account_id"] == merchant) is not is_new, event_type
        above = ["partner", "psp"]
        assert audience(sent) == (above if is_new else ["merchant", *above]), event_type


def test_a_sample_is_for_the_account_and_about_the_resource_that_it_is_changed_to(sandbox):
    listen(sandbox, "merchant", "second_merchant", "partner", "psp")
    sandbox.add_endpoint(id="everything")

    blocked = send(sandbox, "terminal.blocked", account_id=sandbox.account_id("second_merchant"))
    refund = send(sandbox, "transaction.refund", transaction_id="tx-of-mine")
    opened = send(sandbox, "batch.opened", account_id=None)
    found = sandbox.look("messages", subject="tx-of-mine")
    odd = send(sandbox, "transaction.sale", status=5, merchant_name=["mine"])
    *_, row = sandbox.look("messages", shape="row")["messages"]

    assert (row["id"], row["status"], row["merchant"]) == (odd["id"], None, None)
    assert audience(blocked) == ["second_merchant", "partner", "psp", "everything"]
    assert [one["id"] for one in found["messages"]] == [refund["id"]]
    # Without an account it falls back on its own id, and a new one without any above is for all.
    assert opened["account_id"] == opened["body"]["id"]
    for above in (None, "psp", [], [{"id": "psp"}]):
        created = send(sandbox, NEW_ACCOUNT, parent_account_ids=above)
        assert audience(created) == ["everything"], above


def test_samples_of_another_world_name_its_cast_and_nothing_of_this_one(sandbox):
    other = sandbox.add_world("other", seed=7)
    listen(sandbox, "merchant")
    listen(other, "merchant", "second_merchant")
    messages = {event_type: send(other, event_type) for event_type in EVENTS}
    changed = send(other, "batch.opened", terminal_id="mine")
    here, there = (sandbox.look(f"/worlds/{id}") for id in ("default", "other"))

    ids = {id for kind in ("accounts", "terminals", "locations") for id in here[kind].values()}
    merchant = there["accounts"]["merchant"]
    for event_type, sent in messages.items():
        body = sent["body"]
        assert [id for id in ids if id in json.dumps(body)] == [], event_type
        assert set(body) == set(golden(event_type)), event_type
        is_new = event_type == NEW_ACCOUNT
        assert (body.get("account_id", body.get("id")) == merchant) is not is_new, event_type
        assert audience(sent) == ([] if is_new else ["merchant"]), event_type
    sale = messages["transaction.sale"]["body"]
    assert sale["tid"] == there["terminals"]["merchant"]
    assert sale["location_id"] == there["locations"]["merchant"]
    assert sale["parent_account_ids"] == [there["accounts"]["psp"], there["accounts"]["partner"]]
    # A change is kept as it is.
    assert changed["body"]["terminal_id"] == "mine"
