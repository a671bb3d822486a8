"""`sandbox listen`: webhooks traced as they happen, with their answers."""

import json
import re
import signal

import pytest

from tests.cli.asking import ask, assert_refused, following, pay, told
from tests.driving import Served, serving
from tests.webhooks.receiving import Answer, receiving

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def endpoints(server: Served, world: str) -> list[dict[str, object]]:
    listed: list[dict[str, object]] = server.control("GET", f"/worlds/{world}/endpoints").json()[
        "endpoints"
    ]
    return listed


@pytest.fixture
def listen(served, world):
    """Runs the command for the world, followed by a test."""
    return lambda *arguments: following("listen", *arguments, "--world", world["id"], server=served)


def test_each_event_and_each_answer_is_shown_as_it_happens(served, world, listen):
    with receiving() as receiver, listen(receiver.url) as listening:
        ready = listening.line()
        secret = re.search(r"whsec_\S+", listening.line())
        paid = pay(served, world)
        event = listening.until("-->", "transaction.sale")
        answer = listening.until("<--", "transaction.sale")
        code, err = listening.stop()
        got = receiver.wait_for(3)

    assert ready.startswith("Ready! ep_")
    assert f"every event of the world {world['id']} to {receiver.url}" in ready
    assert re.fullmatch(r"12:00:00\.000  -->  transaction\.sale  captured  msg_\w+", event)
    assert re.fullmatch(
        rf"12:00:00\.000  <--  200 POST {receiver.url}  \d+ ms  transaction\.sale msg_\w+", answer
    )
    assert (code, err) == (0, "")
    assert paid["status"] == "captured"
    assert secret is not None
    got[0].verify(secret[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopped_in_any_way_it_deletes_its_endpoint(served, world, listen, number):
    with listen("9000") as listening:
        listening.until("^C to quit")
        before = endpoints(served, world["id"])
        code, err = listening.stop(number)

    assert [one["url"] for one in before] == ["http://127.0.0.1:9000/"]
    assert (code, err) == (0, "")
    assert endpoints(served, world["id"]) == []


def test_kept_it_stays(served, world, listen):
    with listen("9000", "--keep") as listening:
        listening.until("^C to quit")
        listening.stop()

    assert len(endpoints(served, world["id"])) == 1


def test_a_failure_is_shown_with_what_the_receiver_said_and_when_it_is_tried_again(
    served, world, listen
):
    behaviour = Answer(500, body=b"the \x1b[31mdatabase is away")
    with (
        receiving(behaviour) as receiver,
        listen(receiver.url, "--events", "transaction.sale") as listening,
    ):
        listening.until("^C to quit")
        pay(served, world)
        lines = [listening.line() for _ in range(4)]

    assert lines[0].startswith("12:00:00.000  -->  transaction.sale")
    assert lines[1].startswith("12:00:00.000  <--  500 POST")
    assert lines[2].endswith(r"answered 500: the \x1b[31mdatabase is away")
    assert re.fullmatch(r" +tried again at 12:00:0[56]\.\d{3}", lines[3])


def test_an_endpoint_that_is_disabled_is_said_to_be(served, world, listen):
    with (
        receiving(410) as receiver,
        listen(receiver.url, "--events", "transaction.sale") as listening,
    ):
        listening.until("^C to quit")
        pay(served, world)
        line = listening.until("disabled")

    assert "410" in line


def test_only_the_events_asked_for_are_shown(served, world, listen):
    with (
        receiving() as receiver,
        listen(receiver.url, "--events", "batch.opened, transaction.refund") as listening,
    ):
        listening.until("^C to quit")
        pay(served, world)
        first = listening.line()
        listening.until("<--")

    assert "batch.opened" in first


def test_json_is_an_object_a_line(served, world, listen):
    with (
        receiving() as receiver,
        listen(
            receiver.url,
            "--json",
            "--events",
            "transaction.sale",
            "--description",
            "mine",
            "--secret",
            SECRET,
        ) as listening,
    ):
        ready = json.loads(listening.line())
        pay(served, world)
        message, attempt = (json.loads(listening.line()) for _ in range(2))

    assert ready["kind"] == "ready"
    assert (ready["endpoint"]["description"], ready["endpoint"]["secret"]) == ("mine", SECRET)
    assert (message["kind"], message["event_type"]) == ("message", "transaction.sale")
    assert message["body"]["status"] == "captured"
    assert (attempt["kind"], attempt["message_id"]) == ("attempt", message["id"])
    assert (attempt["status_code"], attempt["delivery_status"]) == (200, "delivered")


def test_attempts_at_other_endpoints_are_not_shown(served, world, listen):
    with receiving() as receiver, receiving() as other:
        path = f"/worlds/{world['id']}/endpoints"
        served.control("POST", path, json={"url": other.url})
        with listen(receiver.url, "--json") as listening:
            mine = json.loads(listening.line())["endpoint"]["id"]
            pay(served, world)
            attempts = []
            while len(attempts) < 3:
                line = json.loads(listening.line())
                attempts += [line["endpoint_id"]] if line["kind"] == "attempt" else []

    assert attempts == [mine] * 3


# --- the endpoint ------------------------------------------------------------------------------


def test_a_printed_secret_belongs_to_an_endpoint_that_is_followed_later(served, world, listen):
    at = ("--world", world["id"])
    secret = told("listen", "9001/hook", "--print-secret", *at, server=served)
    with listen("9001/hook") as listening:
        ready, shown = listening.line(), listening.line()
        code, _ = listening.stop()

    assert re.fullmatch(r"whsec_\S+\n", secret)
    assert "(it was there)" in ready
    assert secret.strip() in shown
    assert code == 0
    assert [one["secret"] for one in endpoints(served, world["id"])] == [secret.strip()]


def test_an_endpoint_with_other_settings_is_left_alone(served, world, listen):
    at = ("--world", world["id"])
    told("listen", "9001", "--print-secret", *at, server=served)
    with listen("9001", "--events", "batch.opened") as listening:
        listening.until("^C to quit")
        both = len(endpoints(served, world["id"]))
        _, err = listening.stop()

    assert both == 2
    assert "sends there too" in err
    assert len(endpoints(served, world["id"])) == 1


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("9000", "http://127.0.0.1:9000/"),
        (":9000/hook", "http://127.0.0.1:9000/hook"),
        ("9000/a/b?c=d", "http://127.0.0.1:9000/a/b?c=d"),
        ("localhost:9000", "http://localhost:9000/"),
        ("[::1]:9000/hook", "http://[::1]:9000/hook"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("https://127.0.0.1/hook", "https://127.0.0.1/hook"),
    ],
)
def test_as_much_of_a_url_as_says_where_is_enough(served, world, target, url):
    told("listen", target, "--print-secret", "--world", world["id"], server=served)

    assert [one["url"] for one in endpoints(served, world["id"])] == [url]


def test_a_broken_connection_is_made_again_and_what_was_missed_is_shown(tmp_path):
    store = ("--store", str(tmp_path / "state.db"))
    with receiving() as receiver, serving(*store) as first:
        port = first.url.rpartition(":")[2]
        with following(
            "listen", receiver.url, "--events", "transaction.sale", server=first
        ) as listening:
            listening.until("^C to quit")
            first.process.terminate()
            broken = listening.complaint()
            first.process.wait(10)
            with serving(*store, "--port", port) as second:
                world = second.control("GET", "/worlds/default").json()
                pay(second, world, amount=1234)
                lines = [listening.until("-->", "captured"), listening.until("<--", "200")]
                connected = listening.complaint()
                pay(second, world, amount=1235)
                lines += [listening.until("-->"), listening.until("<--")]
                code, _ = listening.stop()
                left = endpoints(second, "default")

    assert "the connection broke" in broken
    assert "reconnected" in connected
    assert len({line.rpartition("msg_")[2] for line in lines}) == 2
    assert (code, left) == (0, [])


def test_a_restarted_server_gets_the_same_endpoint_again():
    with serving() as first:
        port = first.url.rpartition(":")[2]
        with following("listen", "9000", "--secret", SECRET, server=first) as listening:
            listening.until("^C to quit")
            (before,) = endpoints(first, "default")
            first.process.terminate()
            first.process.wait(10)
            with serving("--port", port) as second:
                while "registered again" not in listening.complaint():
                    pass
                (after,) = endpoints(second, "default")
                code, _ = listening.stop()

    assert (after["id"], after["secret"]) == (before["id"], SECRET)
    assert code == 0


def test_it_ends_with_its_world(served, world, listen):
    with listen("9000") as listening:
        listening.until("^C to quit")
        served.control("DELETE", f"/worlds/{world['id']}")
        broken, gone = listening.complaint(), listening.complaint()
        code = listening.process.wait(10)

    assert "the connection broke" in broken
    assert f"there is no world '{world['id']}'" in gone
    assert code == 2


def test_a_token_is_wanted_of_who_follows_too():
    with serving("--token", "s3cret-of-the-day") as server:
        refused = [ask("listen", "9000", server=server)]
        refused += [ask("tail", "--token", "wrong", server=server)]
        with following(
            "listen", "9000", "--token", "s3cret-of-the-day", server=server
        ) as listening:
            listening.until("^C to quit")
            code, err = listening.stop()

    for done in refused:
        assert_refused(done, 1, "--token", "SANDBOX_TOKEN")
    assert (code, err) == (0, "")


# --- without a URL ------------------------------------------------------------------------------


def test_without_a_url_it_receives_and_verifies_the_webhooks_itself(served, world, listen):
    options = ("--world", world["id"], "--events", "transaction.sale")
    with listen(*options) as listening:
        ready = listening.line()
        listening.until("^C to quit")
        paid = pay(served, world)
        line = listening.until("transaction.sale")
        (endpoint,) = endpoints(served, world["id"])
        code, err = listening.stop()

    assert "sends transaction.sale of the world" in ready
    assert endpoint["url"] in ready
    assert str(endpoint["url"]).startswith("http://127.0.0.1:")
    assert re.fullmatch(
        rf"12:00:00\.000  transaction\.sale  captured  approved  {paid['transaction_id']}  "
        r"signature ok  msg_\w+",
        line,
    )
    assert (code, err) == (0, "")
    assert endpoints(served, world["id"]) == []


def test_a_webhook_with_a_wrong_signature_is_refused_and_said(served, world, listen):
    with listen("--json") as listening:
        listening.until('"ready"')
        control = f"/worlds/{world['id']}/scenario"
        forged = served.control("PUT", control, json={"name": "forged_webhooks"})
        assert forged.status_code == 200
        pay(served, world)
        shown = [json.loads(listening.until('"webhook"')) for _ in range(3)]
        listening.stop()

    wrong = [one for one in shown if not one["is_genuine"]]
    assert wrong
    assert {one["status_code"] for one in wrong} == {401}
    assert {re.sub(r"\d+ s old", "N s old", one["problem"]) for one in wrong} <= {
        "no signature that was sent is that of these bytes with this secret",
        "the timestamp is N s old, and receivers allow 300 s",
    }
