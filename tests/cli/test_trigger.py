"""`sandbox trigger` and `resend`: samples of events, and messages once more, sent for real."""

import json
import re

from sandbox.domain.events import EVENTS
from tests.cli.asking import told
from tests.webhooks.receiving import receiving


def test_a_sample_arrives_with_its_changes_and_its_result_is_printed(shell):
    with receiving() as receiver:
        secret = shell.add_endpoint(url=receiver.url)["secret"]
        changes = "--set status=declined --set total_amount=500 --set psp=null"
        printed = shell(f"trigger transaction.sale {changes}")
        (got,) = receiver.wait_for()
        message = shell.json("trigger account.created")

    id, result = printed.splitlines()
    assert id == got.id
    assert re.fullmatch(rf"  delivered, 200 in \d+ ms  {receiver.url}", result)
    body = got.json()
    assert (body["status"], body["total_amount"], body["psp"]) == ("declined", 500, None)
    got.verify(secret)
    assert message == shell.look(f"messages/{message['id']}")
    assert [one["status"] for one in message["deliveries"]] == ["delivered"]


def test_a_missing_endpoint_is_reported_but_no_failure(shell):
    done = shell.invoke("trigger batch.accepted")

    assert done.exit_code == 0
    assert re.fullmatch(r"msg_\w+\n", done.stdout)
    assert "no enabled endpoint of the world takes" in done.stderr


def test_the_events_that_there_are_can_be_listed_without_a_server():
    table = told("trigger", "--list").splitlines()
    listed = json.loads(told("trigger", "--list", "--json"))

    assert [line.split()[0] for line in table[1:]] == list(EVENTS)
    assert [one["event"] for one in listed] == list(EVENTS)


def test_a_refusal_of_a_receiver_is_a_failure_and_the_webhook_is_resent_unchanged(shell):
    shell.refuses("resend", 1, "no webhook of", "`sandbox resend last`")
    shell.refuses("resend last", 1, "has no message yet")
    shell.refuses("resend msg_zz", 2, "begins with 'msg_zz'", "`last` or `failed`")
    with receiving([503, 503, 204]) as receiver:
        endpoint = shell.add_endpoint(url=receiver.url)
        refused = shell.invoke("trigger batch.accepted")
        failed = shell.invoke("resend")
        accepted = shell(f"resend last --endpoint {endpoint['id']}")
        whole = shell.json("resend last")

    event, id, result = accepted.splitlines()
    assert (refused.exit_code, failed.exit_code) == (1, 1)
    assert "pending: answered 503" in refused.stdout
    assert "retry at 2026-03-01T12:00:0" in refused.stdout
    assert "answered 503" in failed.stdout
    assert event.startswith("batch.accepted of ")
    assert id == whole["id"] == refused.stdout.splitlines()[0]
    assert result.startswith("  delivered, 204 in ")


def test_a_message_is_found_by_its_id_behind_a_thousand_newer_ones(shell):
    oldest = shell.json("trigger batch.accepted")["id"]
    saved = shell.manage("GET", "/snapshot").json()
    for table in ("messages", "records"):
        text = json.dumps(saved[table]["0"])
        ids = {str(n): f"msg_{n:027}" for n in range(1, 1_001)}
        saved[table] |= {n: json.loads(text.replace(oldest, id)) for n, id in ids.items()}
    shell.manage("PUT", "/snapshot", saved).expect(200)

    assert shell.invoke(f"resend {oldest[:12]}").stdout.splitlines()[1:] == [oldest]
