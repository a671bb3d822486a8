"""Operators see a world at a glance: what needs them, what happened and why, and what comes."""

import pytest

from sandbox.control.overview import DUE_MAX, FEED_MAX, NEEDS_OF_A_KIND_MAX
from tests.support.open_requests import desk_opens
from tests.support.open_requests import sale as sale_of


def needs(sandbox):
    return [(one["kind"], one["id"]) for one in sandbox.look("overview")["needs"]]


@pytest.mark.proves("assumed D35-action")
def test_payments_are_counted_and_not_the_records_of_actions(sandbox):
    sandbox.choose(record_of_an_action="own")
    sale = sandbox.paid()
    sandbox.act(sale, "refund", amount=300)
    sandbox.act(sale, "refund", amount=200)
    sandbox.paid()

    assert sandbox.look("overview")["statuses"] == {"captured": 2}


def test_a_new_world_needs_no_attention_and_says_which_scenario_runs(sandbox):
    seen = sandbox.look("overview")

    assert (seen["needs"], seen["feed"], seen["statuses"], seen["endpoints"]) == ([], [], {}, [])
    assert seen["now"] == "2026-03-01T12:00:00.000Z"
    agenda = sandbox.look("agenda")
    assert (seen["due"], seen["due_total"]) == (agenda["agenda"][:DUE_MAX], agenda["total"])
    assert seen["scenario"] is None
    running = sandbox.manage("PUT", "/scenario", {"name": "approve_all"}).json()
    assert sandbox.look("overview")["scenario"] == running


def test_the_feed_shows_who_decided_and_why_a_request_was_refused(sandbox):
    hook = sandbox.add_endpoint()["id"]
    sale = sandbox.paid(1250, outcome="insufficient_funds")
    sandbox.post("/v3/payment", {"amount": 5})
    sandbox.ask("GET", "/v1/accounts", headers=[])

    seen = sandbox.look("overview")

    nobody, refused, declined = seen["feed"]
    assert declined["payment"] == {
        "id": sale["transaction_id"],
        "status": "declined",
        "total": 1250,
        "currency": "USD",
        "merchant": sale["merchant_name"],
        "brand": sale["card_brand"],
        "last4": sale["card"][-4:],
    }
    assert (declined["outcome"], declined["decided_by"]) == ("insufficient_funds", "header")
    assert declined["why"] is None
    assert declined["sent"]
    for event in declined["sent"]:
        assert [mark["endpoint_id"] for mark in event["marks"]] == [hook]
    (endpoint,) = seen["endpoints"]
    assert (endpoint["id"], len(endpoint["last"])) == (hook, len(declined["sent"]))
    assert "secret" not in endpoint
    assert (refused["status"], refused["payment"], refused["decided_by"]) == (400, None, None)
    assert refused["why"]
    assert refused["clause"]
    assert (nobody["status"], nobody["key"], nobody["sent"]) == (401, None, [])
    assert seen["statuses"] == {"declined": 1}
    assert seen["requests_total"] == 3


def test_the_feed_has_the_newest_requests_only(sandbox):
    for _ in range(FEED_MAX + 2):
        sandbox.get("/v1/accounts")

    seen = sandbox.look("overview")

    assert [one["id"] for one in seen["feed"]] == [
        f"req_{number:010d}" for number in range(FEED_MAX + 2, 2, -1)
    ]
    assert seen["requests_total"] == FEED_MAX + 2


def test_an_unanswered_surcharge_needs_attention(sandbox):
    tx = sandbox.prompted(2000)

    (need,) = sandbox.look("overview")["needs"]

    assert (need["kind"], need["id"]) == ("surcharge", tx["transaction_id"])
    assert (need["amount"], need["currency"]) == (tx["total_amount"], "USD")


def test_a_batch_needs_attention_until_its_returned_records_are_in_a_batch(sandbox):
    sandbox.set_switch("batch.settlement", "manual")
    kept, back = sandbox.paid(2500), sandbox.paid(700)
    first = kept["batch_id"]
    sandbox.close_batch(first)
    sandbox.answer_batch(first, "partially_accepted", rejected=[back["transaction_id"]])

    (need,) = sandbox.look("overview")["needs"]
    assert (need["kind"], need["id"], need["amount"]) == ("batch", first, 700)
    assert need["says"].startswith("has 1 returned record")

    second = sandbox.paid()["batch_id"]
    sandbox.edit_batch(second, added_transactions=[back["transaction_id"]])
    assert needs(sandbox) == []

    sandbox.close_batch(second)
    sandbox.answer_batch(second, "rejected", reason="hash_mismatch")
    assert needs(sandbox) == [("batch", second)]


def test_a_batch_needs_attention_however_many_newer_ones_do_not(sandbox):
    sandbox.set_switch("batch.settlement", "manual")
    results = [{"answer": "rejected", "reason": "hash_mismatch"}]
    results += [{"answer": "partially_accepted", "rejected": 1}] * NEEDS_OF_A_KIND_MAX
    batches = []
    for result in results:
        tx = sandbox.paid()
        batches.append(tx["batch_id"])
        sandbox.close_batch(batches[-1])
        sandbox.answer_batch(batches[-1], **result).expect(200)
        if result != results[0]:
            sandbox.acted(tx, "reverse")

    assert needs(sandbox) == [("batch", batches[0])]


def test_a_failing_key_and_a_disabled_endpoint_need_attention(sandbox):
    assert needs(sandbox) == []
    sandbox.get("/v1/accounts", by="revoked")

    (key,) = sandbox.look("overview")["needs"]

    assert (key["kind"], key["id"]) == ("key", sandbox.key_id("revoked"))
    assert "it is revoked (spec 3.1-revoke)" in key["says"]
    # A key that was revoked after its last request is not used any more.
    sandbox.paid(by="merchant")
    sandbox.change_key(sandbox.key_id("merchant"), status="revoked").expect(200)
    hook = sandbox.add_endpoint()["id"]
    assert len(needs(sandbox)) == 1
    sandbox.change_endpoint(hook, disabled=True)
    (endpoint,) = (one for one in sandbox.look("overview")["needs"] if one != key)
    assert (endpoint["kind"], endpoint["id"]) == ("endpoint", hook)
    assert endpoint["says"].startswith("is disabled: ")


def test_an_awaited_card_needs_attention(sandbox, requests):
    desk_opens(sandbox)
    task = requests.open(sale_of(sandbox, amount=1500))

    (need,) = sandbox.look("overview")["needs"]
    requests.tap(need["id"], cancel="user")
    requests.end(task)
    after = sandbox.look("overview")

    assert (need["kind"], need["amount"], need["currency"]) == ("tap", 1500, "USD")
    assert (after["needs"], after["statuses"]) == ([], {"canceled": 1})
