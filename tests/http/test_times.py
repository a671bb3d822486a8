"""How long a connection may take for what, and what a client leaves behind that hangs up.

Each test of a time shortens the one that it is about.
"""

import contextlib
import json
import time
from functools import partial

import pytest

from sandbox.server import run
from tests.driving import until
from tests.http.talking import HEALTH, JSON, Client, Serving, head_of, serving

SHORT_S = 0.3


def begun(sandbox: Serving, size: int) -> bytes:
    """The head of a request with a usable key, whose body is to come."""
    return head_of("POST /v5/apikeys", JSON, f"content-length: {size}", key=sandbox.key())


@pytest.mark.proves("assumed D25-times")
def test_a_connection_whose_head_does_not_end_is_closed():
    """Neither empty lines nor a head drop by drop keep it open."""
    with serving(head_s=SHORT_S) as sandbox, contextlib.ExitStack() as stack:
        heads = (b"", b"G", HEALTH[:-2], HEALTH + b"GET / HT")
        clients = [stack.enter_context(Client(sandbox.port)) for _ in heads]
        for client, head in zip(clients, heads, strict=True):
            client.send(head)
        assert clients[-1].answer().status == 200
        for client in clients:
            assert client.is_closed()
        for head, drop in ((HEALTH, b"\r\n"), (HEALTH[:-2], b"a: x\r\n")):
            with Client(sandbox.port) as client:
                client.send(head)
                until(partial(client.is_broken_by, drop))


@pytest.mark.proves("assumed D25-times")
def test_a_body_that_stalls_is_given_up_and_one_that_keeps_coming_is_not():
    refused = head_of("POST /v5/apikeys", "content-length: 100") + b"{"
    with serving(body_s=SHORT_S) as sandbox, contextlib.ExitStack() as stack:
        stopped, unneeded, slow = (stack.enter_context(Client(sandbox.port)) for _ in range(3))
        stopped.send(begun(sandbox, 100), b"{")
        assert unneeded.ask(refused).status == 401
        slow.send(begun(sandbox, 15_001))
        for _ in range(15):
            slow.send(b" " * 1_000)
            time.sleep(SHORT_S / 6)
        assert slow.ask(b"x").status == 400
        assert stopped.is_closed()
        assert unneeded.is_closed()
        # The request whose body did not come was never carried out.
        journal = sandbox.sandbox.worlds.default.journal.entries()
        assert [one.status for one in journal] == [401, 400]


@pytest.mark.proves("assumed D25-times")
def test_an_idle_connection_is_closed_without_an_answer():
    with serving(idle_s=2 * SHORT_S) as sandbox, Client(sandbox.port) as client:
        for _ in range(5):
            assert client.ask(HEALTH).status == 200
            time.sleep(2 * SHORT_S / 3)
        assert client.is_closed()
    assert run.IDLE_S > 120, "a proxy that keeps idle connections for longer loses requests"


def test_a_server_of_many_that_stops_answers_what_came_on_an_idle_connection():
    async def leave() -> None:
        client.send(HEALTH)

    with contextlib.ExitStack() as later:
        with serving(leave=leave) as sandbox:
            client = later.enter_context(Client(sandbox.port))
            assert client.ask(HEALTH).headers.get("connection") is None
        assert client.answer().headers["connection"] == "close"


def test_an_answer_may_take_longer_than_all_of_these():
    times = dict.fromkeys(("head_s", "body_s", "idle_s"), SHORT_S)
    wait = f"/_sandbox/worlds/default/wait?event_type=transaction.sale&timeout_s={2 * SHORT_S}"
    with serving(**times) as sandbox, Client(sandbox.port) as client:
        assert client.ask(HEALTH).status == 200
        answer = client.ask(head_of(f"GET {wait}"))
        assert json.loads(answer.body)["error"] == "nothing_came"
        assert json.loads(client.ask(HEALTH).body)["status"] == "ok"


WORLD = "/_sandbox/worlds/default"
STREAM = head_of(f"GET {WORLD}/stream")
WAIT = head_of(f"GET {WORLD}/wait?timeout_s=300")


def test_a_stream_or_a_wait_ends_with_its_connection():
    with serving() as sandbox:
        world = sandbox.sandbox.worlds.default

        def under_way() -> int:
            return len(world.subscriptions) + world.subscriptions.waits

        for asked in (STREAM, WAIT):
            for behind in (b"", HEALTH[:-2], b"\x00"):
                with Client(sandbox.port) as client:
                    client.send(asked)
                    until(lambda: under_way() == 1)
                    client.send(behind)
                    # What is behind has come in by the time another connection is answered.
                    with Client(sandbox.port) as other:
                        assert other.ask(HEALTH).status == 200
                until(lambda: under_way() == 0)


def test_a_complete_body_is_not_late_because_another_request_is_answered_first():
    wait = WAIT.replace(b"timeout_s=300", b"timeout_s=0.6")
    switches = b'{"triggers.enabled": false}'
    head = head_of(f"PUT {WORLD}/switches", f"content-length: {len(switches)}")
    with serving(body_s=0.2) as sandbox, Client(sandbox.port) as client:
        client.send(wait + head)
        until(lambda: sandbox.sandbox.worlds.default.subscriptions.waits == 1)
        client.send(switches)

        assert [client.answer().status for _ in range(2)] == [408, 200]
