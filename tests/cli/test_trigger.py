"""`sandbox endpoint`, `trigger` and `resend`: endpoints, and messages that are sent for real."""

import json
import re

from sandbox.domain.events import EVENTS
from tests.cli.asking import offered, told
from tests.webhooks.receiving import receiving


def test_an_endpoint_is_added_disabled_enabled_rotated_and_deleted(shell):
    assert shell("endpoint list") == f"{shell.world} has no endpoint\n"
    added = shell("endpoint add 9000/hook --id ep_till --events 'batch.o*' --account merchant")
    (endpoint,) = shell.json("endpoint list")["endpoints"]
    listed = shell("endpoint list").splitlines()[1].split("  ")
    for line, said, reason in (
        ("endpoint disable ep_till", "ep_till is disabled\n", "disabled by hand"),
        ("endpoint enable ep_till", "ep_till is enabled\n", None),
    ):
        assert shell(line) == said
        assert shell.look("endpoints/ep_till")["disabled_reason"] == reason
    rotated = shell("endpoint rotate ep_till --grace-s 60").strip()
    after = shell.look("endpoints/ep_till")
    offers = offered("sandbox endpoint delete ep_", **shell.env)

    assert added.split()[3:] == ["ep_till", "http://127.0.0.1:9000/hook", endpoint["secret"]]
    assert endpoint["account_id"] == shell.view["accounts"]["merchant"]
    assert listed == ["ep_till", "http://127.0.0.1:9000/hook", "enabled", "batch.opened"]
    assert (after["secret"], after["old_secrets"][0]["secret"]) == (rotated, endpoint["secret"])
    assert offers == ["ep_till"]
    assert shell("endpoint delete ep_till") == "ep_till is deleted\n"
    shell.refuses("endpoint enable ep_till", 1, "the world has no endpoint with this id")


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
