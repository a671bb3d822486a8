"""`sandbox trigger`: samples of events, sent for real."""

import json
import re

import pytest

from sandbox.domain.events import EVENTS
from tests.cli.asking import ask, assert_refused, told
from tests.webhooks.receiving import receiving


@pytest.fixture
def world(world):
    return world["id"]


def listen_to(served, world, url):
    return served.control("POST", f"/worlds/{world}/endpoints", json={"url": url}).json()


def test_a_sample_arrives_with_its_changes_and_its_result_is_printed(served, world):
    with receiving() as receiver:
        secret = listen_to(served, world, receiver.url)["secret"]
        printed = told(
            *("trigger", "transaction.sale", "--world", world),
            *("--set", "status=declined", "--set", "total_amount=500", "--set", "psp=null"),
            server=served,
        )
        (got,) = receiver.wait_for()

    id, result = printed.splitlines()
    assert id == got.id
    assert re.fullmatch(rf"  delivered, 200 in \d+ ms  {receiver.url}", result)
    body = got.json()
    assert (body["status"], body["total_amount"], body["psp"]) == ("declined", 500, None)
    got.verify(secret)


def test_a_missing_listener_is_reported_and_not_a_failure(served, world):
    done = ask("trigger", "batch.accepted", "--world", world, server=served)

    assert done.exit_code == 0
    assert re.fullmatch(r"msg_\w+\n", done.stdout)
    assert "no endpoint of the world subscribes" in done.stderr


def test_a_receiver_that_refuses_is_a_failure_that_tells_when_it_is_tried_again(served, world):
    with receiving(503) as receiver:
        listen_to(served, world, receiver.url)
        done = ask("trigger", "batch.accepted", "--world", world, server=served)

    assert done.exit_code == 1
    assert "pending: answered 503" in done.stdout
    assert "tried again at 2026-03-01T12:00:0" in done.stdout


def test_json_is_the_message_with_its_deliveries(served, world):
    with receiving() as receiver:
        listen_to(served, world, receiver.url)
        printed = told("trigger", "account.created", "--json", "--world", world, server=served)

    message = json.loads(printed)
    assert message == served.control("GET", f"/worlds/{world}/messages/{message['id']}").json()
    assert [one["status"] for one in message["deliveries"]] == ["delivered"]


def test_the_events_that_there_are_can_be_listed_without_a_server():
    table = told("trigger", "--list").splitlines()
    listed = json.loads(told("trigger", "--list", "--json"))

    assert [line.split()[0] for line in table[1:]] == list(EVENTS)
    assert [one["event"] for one in listed] == list(EVENTS)


def test_a_webhook_that_failed_is_sent_once_more_with_the_same_id(served, world):
    at = ("--world", world)
    with receiving([503, 503, 503, 503, 204]) as receiver:
        endpoint = listen_to(served, world, receiver.url)
        told("pay", "10", *at, server=served)
        receiver.wait_for(3)
        failed = ask("resend", *at, server=served)
        accepted = told("resend", "last", "--endpoint", endpoint["id"], *at, server=served)
        whole = json.loads(told("resend", "last", "--json", *at, server=served))

    event, id, result = accepted.splitlines()
    assert failed.exit_code == 1
    assert "answered 503" in failed.stdout
    assert event.startswith("transaction.sale of ")
    assert id == whole["id"]
    assert result.startswith("  delivered, 204 in ")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 1, ["no webhook of", "`sandbox resend last`"]),
        (["last"], 1, ["has no message yet"]),
        (["msg_zz"], 2, ["begins with 'msg_zz'", "`last` or `failed`"]),
    ],
    ids=str,
)
def test_what_cannot_be_sent_again_is_refused(served, world, arguments, code, words):
    assert_refused(ask("resend", *arguments, "--world", world, server=served), code, *words)
