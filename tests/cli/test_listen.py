"""`sandbox listen`: webhooks traced as they happen, with their answers."""

import json
import re
import signal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx2
import pytest

from tests.cli.asking import Shell, following
from tests.driving import serving
from tests.webhooks.receiving import Answer, receiving

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SALES = "--events transaction.sale"


def endpoints(shell: Shell) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = shell.look("endpoints")["endpoints"]
    return listed


def test_each_event_and_each_answer_is_shown_as_it_happens(shell):
    with receiving() as receiver, shell.following(f"listen {receiver.url}") as listening:
        ready = listening.line()
        secret = re.search(r"whsec_\S+", listening.line())
        shell.paid()
        event = listening.until("-->", "transaction.sale")
        answer = listening.until("<--", "transaction.sale")
        ended = listening.stop()
        got = receiver.wait_for(3)

    assert ready.startswith("Ready! ep_")
    assert f"every event of the world {shell.world} to {receiver.url}" in ready
    assert re.fullmatch(r"12:00:00\.000  -->  transaction\.sale  captured  msg_\w+", event)
    assert re.fullmatch(
        rf"12:00:00\.000  <--  200 POST {receiver.url}  \d+ ms  transaction\.sale msg_\w+", answer
    )
    assert (ended, endpoints(shell)) == ((0, ""), [])
    assert secret is not None
    got[0].verify(secret[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, None])
def test_stopped_in_any_way_it_deletes_its_endpoint_unless_that_is_kept(shell, number):
    with shell.following("listen 9000" + (" --keep" if number is None else "")) as listening:
        listening.until("^C to quit")
        before = endpoints(shell)
        ended = listening.stop(number or signal.SIGINT)

    assert [one["url"] for one in before] == ["http://127.0.0.1:9000/"]
    assert ended == (0, "")
    assert endpoints(shell) == (before if number is None else [])


def test_a_failed_attempt_is_shown_with_its_answer_and_its_next_retry_if_any(shell):
    behaviour = Answer(500, body=b"the \x1b[31mdatabase is away")
    with (
        receiving(behaviour) as receiver,
        shell.following(f"listen {receiver.url} {SALES}") as listening,
    ):
        listening.until("^C to quit")
        shell.paid()
        lines = [listening.line() for _ in range(4)]
        receiver.behave(410)
        shell.paid()
        disabled = listening.until("disabled")

    assert lines[0].startswith("12:00:00.000  -->  transaction.sale")
    assert lines[1].startswith("12:00:00.000  <--  500 POST")
    assert lines[2].endswith(r"answered 500: the \x1b[31mdatabase is away")
    assert re.fullmatch(r" +retry at 12:00:0[56]\.\d{3}", lines[3])
    assert "410" in disabled


def test_only_the_events_and_the_endpoint_asked_for_are_shown_as_json_too(shell):
    with receiving() as receiver, receiving() as other:
        shell.add_endpoint(url=other.url)
        options = f"--json --description mine --secret {SECRET}"
        events = "--events 'transaction.sale, transaction.re*'"
        with shell.following(f"listen {receiver.url} {options} {events}") as listening:
            ready = json.loads(listening.line())
            shell.paid()
            message, attempt = (json.loads(listening.line()) for _ in range(2))

    id = ready["endpoint"]["id"]
    assert ready["kind"] == "ready"
    assert (ready["endpoint"]["description"], ready["endpoint"]["secret"]) == ("mine", SECRET)
    assert (message["kind"], message["event_type"]) == ("message", "transaction.sale")
    assert message["body"]["status"] == "captured"
    assert (attempt["kind"], attempt["message_id"]) == ("attempt", message["id"])
    assert (attempt["endpoint_id"], attempt["delivery_status"]) == (id, "delivered")


# --- the endpoint ------------------------------------------------------------------------------


def test_a_printed_secret_belongs_to_an_endpoint_that_is_followed_later(shell):
    secret = shell("listen 9001/hook --print-secret").strip()
    as_json = shell.json("listen 9001/hook --print-secret")
    with shell.following("listen 9001/hook") as listening:
        ready, shown = listening.line(), listening.line()
        listening.stop()
    with shell.following("listen 9001/hook --events batch.opened") as listening:
        listening.until("^C to quit")
        both = len(endpoints(shell))
        _, err = listening.stop()

    assert "(already registered)" in ready
    assert secret in shown
    assert both == 2, "an endpoint with other settings is left alone"
    assert "also sends there" in err
    assert endpoints(shell) == [as_json]
    assert as_json["secret"] == secret


def test_a_partial_url_is_enough(shell):
    for target, url in (
        ("9000", "http://127.0.0.1:9000/"),
        (":9001/hook", "http://127.0.0.1:9001/hook"),
        ("9000/a/b?c=d", "http://127.0.0.1:9000/a/b?c=d"),
        ("localhost:9000", "http://localhost:9000/"),
        ("[::1]:9000/hook", "http://[::1]:9000/hook"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("https://127.0.0.1/hook", "https://127.0.0.1/hook"),
    ):
        shell(f"listen {target} --print-secret")

        assert endpoints(shell)[-1]["url"] == url, target


class Unready(BaseHTTPRequestHandler):
    """A balancer without a server."""

    def do_GET(self) -> None:
        self.send_error(503)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_broken_connection_is_made_again_and_what_was_missed_is_shown(tmp_path):
    store = ("--store", str(tmp_path / "state.db"))
    with receiving() as receiver, serving(*store) as first:
        port = first.url.rpartition(":")[2]
        line = ("listen", receiver.url, *SALES.split())
        with following(*line, SANDBOX_URL=first.url) as listening:
            listening.until("^C to quit")
            first.process.terminate()
            broken = listening.complaint()
            first.process.wait(10)
            with HTTPServer(("127.0.0.1", int(port)), Unready) as balancer:
                balancer.handle_request()
            with serving(*store, "--port", port) as second:
                shell = Shell(second)
                shell.paid(amount=1234)
                lines = [listening.until("-->", "captured"), listening.until("<--", "200")]
                connected = listening.complaint()
                shell.paid(amount=1235)
                lines += [listening.until("-->"), listening.until("<--")]
                code, _ = listening.stop()
                left = endpoints(shell)

    assert "the connection broke" in broken
    assert "reconnected" in connected
    assert len({line.rpartition("msg_")[2] for line in lines}) == 2
    assert (code, left) == (0, [])


def test_a_restarted_server_gets_the_same_endpoint_again_and_nothing_is_shown_twice():
    with serving() as first:
        port = first.url.rpartition(":")[2]
        before = Shell(first)
        before.paid()
        with (
            before.following(f"listen 9000 --secret {SECRET}") as listening,
            before.following("tail --no-reasons") as tail,
        ):
            listening.until("^C to quit")
            lines = [tail.until("POST /v3/payment")]
            (endpoint,) = endpoints(before)
            first.process.terminate()
            first.process.wait(10)
            with serving("--port", port) as second:
                after = Shell(second)
                after.paid()
                lines.append(tail.until("POST /v3/payment"))
                while "reconnected" not in tail.complaint():
                    pass
                while "registered again" not in listening.complaint():
                    pass
                after.paid()
                lines.append(tail.until("POST /v3/payment"))
                (again,) = endpoints(after)
                code, _ = listening.stop()

    assert [line[-4:] for line in lines] == ["0001", "0001", "0002"]
    assert (again["id"], again["secret"], code) == (endpoint["id"], SECRET, 0)


def test_it_ends_with_its_world(shell):
    with shell.following("listen 9000") as listening:
        listening.until("^C to quit")
        shell.manage("DELETE", "")
        broken, gone = listening.complaint(), listening.complaint()
        code = listening.process.wait(10)

    assert "the connection broke" in broken
    assert f"there is no world '{shell.world}'" in gone
    assert code == 2


# --- without a URL ------------------------------------------------------------------------------


@pytest.mark.proves("assumed D49")
def test_without_a_url_it_receives_and_verifies_the_webhooks_itself(shell):
    with shell.following(f"listen {SALES}") as listening:
        ready = listening.line()
        listening.until("^C to quit")
        paid = shell.paid()
        line = listening.until("transaction.sale")
        (endpoint,) = endpoints(shell)
        shell("switch webhooks.timestamp world")
        shell.paid()
        at_world_time = listening.until("transaction.sale")
        shell.manage("PUT", "/scenario", {"name": "forged_webhooks"})
        shell.paid()
        forged = listening.until("transaction.sale")
        ended = listening.stop()

    assert "sends transaction.sale of the world" in ready
    assert endpoint["url"] in ready
    assert endpoint["url"].startswith("http://127.0.0.1:")
    assert re.fullmatch(
        rf"12:00:00\.000  transaction\.sale  captured  approved  {paid['transaction_id']}  "
        r"signature ok  msg_\w+",
        line,
    )
    assert "signature ok" in at_world_time
    assert "signature wrong" in forged
    assert ended == (0, "")
    assert endpoints(shell) == []


def test_a_webhook_with_a_wrong_signature_is_refused_and_reported(shell):
    with shell.following("listen --json") as listening:
        url = json.loads(listening.until('"ready"'))["endpoint"]["url"]
        shell.manage("PUT", "/scenario", {"name": "forged_webhooks"})
        shell.paid()
        shown = [json.loads(listening.until('"webhook"')) for _ in range(3)]
        headers = {"webhook-id": "m", "webhook-timestamp": "9" * 5_000, "webhook-signature": "v1,x"}
        assert httpx2.post(url, headers=headers).status_code == 401

    wrong = [one for one in shown if not one["is_genuine"]]
    assert {one["status_code"] for one in wrong} == {401}
    assert {re.sub(r"\d+ s old", "N s old", one["problem"]) for one in wrong} <= {
        "no signature that was sent is that of these bytes with this secret",
        "the timestamp is N s old, and receivers allow 300 s",
    }
